// An application that has the package installed, from the archive that would be published: what `files` and
// `exports` leave out is missing.
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execute } from './processes.mjs'
import { cache, root } from './tools.mjs'

/** Lays out the application. @returns its folder, the archive, and a fresh folder for files */
export async function layOutApp() {
  removeAbandoned()
  const folder = join(cache, `app-${process.pid}`)
  const installed = join(folder, 'node_modules/hyperslab')
  mkdirSync(installed, { recursive: true })
  const packed = await execute('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], { cwd: root })
  if (packed.code !== 0) throw new Error(`npm pack: ${packed.stderr}`)
  const [{ filename, size, unpackedSize }] = JSON.parse(packed.stdout)
  const archive = join(folder, filename)
  const unpacked = await execute('tar', ['-xzf', archive, '--strip-components=1', '-C', installed])
  if (unpacked.code !== 0) throw new Error(`tar: ${unpacked.stderr}`)

  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies: { hyperslab: '*' } }))
  for (const part of ['suite.mjs', 'hdf5-file.mjs', 'tiff-file.mjs', 'zarr-store.mjs', 'check.mjs', 'programs'])
    cpSync(join(root, 'test/runtimes', part), join(folder, part), { recursive: true })
  cpSync(join(root, 'examples'), join(folder, 'examples'), { recursive: true })
  return { folder, archive, size, unpackedSize, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** Removes the folders of killed runs. */
function removeAbandoned() {
  mkdirSync(cache, { recursive: true })
  for (const name of readdirSync(cache)) {
    const pid = /^app-(\d+)$/.exec(name)?.[1]
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(cache, name), { recursive: true, force: true })
  }
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** An empty folder for the files of one environment. */
export function scratch(app, name) {
  const folder = join(app.folder, 'scratch', name)
  mkdirSync(join(folder, 'again'), { recursive: true })
  return folder
}
