// The programs of the pages as every bundler builds them.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { execute } from './processes.mjs'
import { versionOf } from './tools.mjs'

export const BUNDLERS = { esbuild: 'esbuild', rollup: 'Rollup', webpack: 'webpack', vite: 'Vite' }

const made = new WeakMap()

/**
 * Builds everything, once a run.
 * @returns for each bundler its `version`, its `folder` or `error`, and what `slice` alone weighs
 */
export function bundle(app) {
  if (!made.has(app)) made.set(app, bundleAll(app))
  return made.get(app)
}

async function bundleAll(app) {
  const bundles = {}
  for (const name of Object.keys(BUNDLERS)) {
    const folder = join(app.folder, 'bundled', name)
    const script = new URL('bundle.mjs', import.meta.url).pathname
    const { code, stdout, stderr } = await execute(process.execPath, [script, name, app.folder, folder], {
      cwd: app.folder,
      seconds: 120,
    })
    const error = code === 0 ? undefined : `${name} ended with ${code}\n${stderr || stdout}`
    const sliceBytes = error === undefined ? gzipSync(readFileSync(join(folder, 'slice.js')), { level: 9 }).length : undefined
    bundles[name] = { version: versionOf('bundlers', name), folder, error, sliceBytes }
  }
  return bundles
}
