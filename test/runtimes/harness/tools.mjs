// Tools that the run needs and `npm install` does not install. Each is installed once, in its own folder
// below build/runtimes: side by side they would shadow this Node and one another's dependencies.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { arch, platform } from 'node:process'
import { pathToFileURL } from 'node:url'
import { execute, Missing } from './processes.mjs'

export const root = new URL('../../..', import.meta.url).pathname
/** Survives between runs; may be moved to where a CI keeps such things. */
export const cache = process.env.RUNTIMES_CACHE ?? join(root, 'build/runtimes')

/**
 * Dependencies of the map, as its package pins them. This package comes from the build that is to be
 * published.
 */
const { hyperslab: _, ...map } = JSON.parse(readFileSync(join(root, 'examples/map/package.json'), 'utf8')).dependencies

/**
 * Exact versions, all seen to work on Node 20. Node and Bun come as packages of one platform each, so that no
 * install script has to run.
 */
export const TOOLS = {
  node22: { [`node-${platform}-${arch}`]: '22.23.3' },
  node24: { [`node-${platform}-${arch}`]: '24.21.0' },
  deno: { deno: '2.9.6' },
  bun: { [`@oven/bun-${platform}-${arch === 'arm64' ? 'aarch64' : arch}`]: '1.4.5' },
  bundlers: {
    esbuild: '0.28.2',
    rollup: '4.68.7',
    '@rollup/plugin-node-resolve': '16.0.3',
    webpack: '5.112.2',
    vite: '8.3.8',
  },
  chromium: { 'playwright-core': '1.65.1' },
  firefox: { 'puppeteer-core': '25.16.0' },
  // The last miniflare whose engines admit Node 20; esbuild bundles as wrangler does.
  workerd: { miniflare: '4.20260426.0', esbuild: '0.28.2' },
  map,
  package: { publint: '0.3.25', '@arethetypeswrong/cli': '0.18.5' },
}

/** Installs a tool unless it is there. @throws Missing when the registry does not give it */
export async function install(name) {
  const folder = folderOf(name)
  if (existsSync(folder)) return
  const unfinished = `${folder}.${process.pid}`
  mkdirSync(unfinished, { recursive: true })
  try {
    writeFileSync(join(unfinished, 'package.json'), JSON.stringify({ private: true, dependencies: TOOLS[name] }))
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error', '--legacy-peer-deps']
    const { code, stderr } = await execute('npm', ['install', ...flags], { cwd: unfinished, seconds: 240 })
    if (code !== 0) throw new Missing(`npm cannot install ${JSON.stringify(TOOLS[name])}: ${stderr.trim().slice(0, 300)}`)
    renameSync(unfinished, folder)
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
}

/** A file of an installed tool. */
export const fileOf = (name, path) => join(folderOf(name), 'node_modules', path)

/** A module of an installed tool. */
export const load = (name, specifier) =>
  import(pathToFileURL(createRequire(join(folderOf(name), 'package.json')).resolve(specifier)).href)

/** The version of a package of an installed tool, as installed. */
export const versionOf = (name, packageName) =>
  JSON.parse(readFileSync(fileOf(name, `${packageName}/package.json`), 'utf8')).version

/** Another pin is another folder. */
function folderOf(name) {
  const pins = Object.entries(TOOLS[name]).map(([dependency, version]) => `${dependency.replace(/.*\//, '')}-${version}`)
  return join(cache, 'tools', `${name}_${pins.join('_')}`)
}
