// Other packages for comparison. They are not dependencies of this package; the pinned versions are installed
// into build/bench-peers on first use.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** Pinned packages by the name of the package that a suite loads. */
const PEERS = {
  zarrita: { zarrita: '0.7.5', numcodecs: '0.3.2' },
  numcodecs: { numcodecs: '0.3.2' },
  'lz4-napi': { 'lz4-napi': '2.10.0' },
  'lz4-wasm-nodejs': { 'lz4-wasm-nodejs': '0.9.2' },
  lz4js: { lz4js: '0.2.0' },
  netcdfjs: { netcdfjs: '4.0.0' },
  geotiff: { geotiff: '3.0.5' },
  h5wasm: { h5wasm: '0.10.3' },
}

const cache = fileURLToPath(new URL('../build/bench-peers', import.meta.url))

/**
 * Loads a module of a peer, by default its main one. If it is missing and cannot be installed, prints a line
 * and returns undefined.
 */
export async function loadPeer(name, specifier = name) {
  const folder = peerFolder(name)
  if (folder === undefined) return undefined
  const { load } = await import(pathToFileURL(join(folder, 'load.mjs')).href)
  return load(specifier)
}

/** Returns the folder of a peer, installed if needed. */
export function peerFolder(name) {
  // Another pin is installed into another folder.
  const pins = Object.entries(PEERS[name]).map(([dependency, version]) => `${dependency.replace('/', '+')}-${version}`)
  const folder = join(cache, pins.join('_'))
  const error = existsSync(folder) ? undefined : install(folder, PEERS[name])
  if (error === undefined) return folder
  console.log(`peer not installed: ${name} (${error})`)
  return undefined
}

export const peerLabel = (name) => `${name} ${PEERS[name][name]}`

/** Installs packages; returns the error, if there is one. */
function install(folder, dependencies) {
  const unfinished = `${folder}.${process.pid}`
  mkdirSync(unfinished, { recursive: true })
  try {
    writeFileSync(join(unfinished, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }))
    // Resolves packages from their own folder by the rules of imports: `require.resolve` does not find
    // packages with import conditions only.
    writeFileSync(join(unfinished, 'load.mjs'), 'export const load = (specifier) => import(specifier)\n')
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error']
    const options = { cwd: unfinished, encoding: 'utf8', timeout: 240_000 }
    const { status, stderr, error } = spawnSync('npm', ['install', ...flags], options)
    if (status !== 0) return (error?.message ?? stderr).trim().split('\n').at(-1)
    renameSync(unfinished, folder)
    return undefined
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
}
