// Cold start: milliseconds from the first statement of a script to the first result, including imports, in
// new processes of Node and new contexts of Chromium.
// Both sides are bundled and minified alike for the browser, and used as installed in Node.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { nodeResolve } from '@rollup/plugin-node-resolve'
import terser from '@rollup/plugin-terser'
import { rollup } from 'rollup'
import { provideBrowser, startBrowser } from '../../test/runtimes/harness/browsers.mjs'
import { Missing } from '../../test/runtimes/harness/processes.mjs'
import { install } from '../../test/runtimes/harness/tools.mjs'
import { inFolder, median, report, sized } from '../measure.mjs'
import { loadPeer, peerFolder, peerLabel } from '../peers.mjs'

const ROUNDS = sized(21, 1)
const at = (path) => fileURLToPath(new URL(path, import.meta.url))
const DIST = at('../../dist/index.js')

const sides = ['hyperslab']
if ((await loadPeer('zarrita')) !== undefined) sides.push('zarrita')
const packageOf = { hyperslab: DIST, zarrita: sides[1] && join(peerFolder('zarrita'), 'node_modules/zarrita/dist/src/index.js') }
const expected = [8, 9, 14, 15, 276]

/**
 * Prints medians and reports the median of the ratios, round by round. `times` has a list of ms for each
 * name, including `empty`.
 */
function compare(where, times) {
  if (times === undefined) return
  const all = Object.entries(times).map(([name, list]) => `${name} ${median(list).toFixed(1)} ms`)
  console.log(`${where}, medians of ${ROUNDS}: ${all.join(', ')}`)
  if (times.zarrita === undefined) return
  const ratio = median(times.hyperslab.map((ms, round) => ms / times.zarrita[round]))
  const name = `script to first result, ${where}`
  report({ suite: 'start', name, peer: peerLabel('zarrita'), ratio, goal: 'at most 1', met: ratio <= 1 })
}

function check(side, values) {
  if (JSON.stringify(values) !== JSON.stringify(expected)) throw new Error(`${side} gave ${values}, expected ${expected}`)
}

/** Measures in new processes; also their total time, and that of an empty process. */
async function inNode(folder) {
  const times = Object.fromEntries([EMPTY, ...sides, ...sides.map(processOf)].map((name) => [name, []]))
  const scripts = sides.map((side) => {
    const path = join(folder, `${side}.mjs`)
    const program = readFileSync(at(`../start/${side}.mjs`), 'utf8').replace(`'${side}'`, `'${pathToFileURL(packageOf[side])}'`)
    writeFileSync(join(folder, `run-${side}.mjs`), program)
    writeFileSync(path, `const start = performance.now()\nconst { run } = await import('./run-${side}.mjs')\n${PRINT}`)
    return path
  })
  for (let round = -1; round < ROUNDS; round++) {
    const taken = { [EMPTY]: start(['-e', '0']).ms }
    for (const [i, side] of sides.entries()) {
      const { ms, stdout } = start([scripts[i]])
      const result = JSON.parse(stdout)
      check(side, result.values)
      Object.assign(taken, { [side]: result.ms, [processOf(side)]: ms })
    }
    // The first round fills the disk caches.
    if (round >= 0) for (const [name, ms] of Object.entries(taken)) times[name].push(ms)
  }
  return times
}

const processOf = (side) => `process of ${side}`

const EMPTY = 'process of node -e 0'
const PRINT = `const values = await run()
console.log(JSON.stringify({ values, ms: performance.now() - start }))`

function start(args) {
  const before = performance.now()
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return { ms: performance.now() - before, stdout }
}

/** Measures new pages in contexts without caches. */
async function inChromium(folder) {
  try {
    await provideBrowser('chromium', { ci: process.env.CI === 'true' })
    await install('chromium')
  } catch (error) {
    if (!(error instanceof Missing)) throw error
    console.log(`SKIPPED: Chromium: ${error.message}`)
    return undefined
  }
  const files = new Map()
  for (const side of sides) for (const [name, code] of await bundle(side, folder)) files.set(`/${side}/${name}`, code)
  const site = await serve(files)
  const browser = await startBrowser('chromium')
  const times = Object.fromEntries(sides.map((side) => [side, []]))
  const loaded = {}
  try {
    for (let round = -1; round < ROUNDS; round++) {
      for (const side of sides) {
        site.asked.length = 0
        const page = await browser.page()
        await page.goto(`${site.origin}/${side}/`)
        const { ms, values, error } = await page.evaluate('globalThis.result')
        await page.context().close()
        if (error !== undefined) throw new Error(`${side} in Chromium: ${error}`)
        check(side, values)
        loaded[side] = site.asked.filter((path) => files.has(path))
        if (round >= 0) times[side].push(ms)
      }
    }
  } finally {
    browser.close()
    site.close()
  }
  for (const side of sides) {
    const code = loaded[side].map((path) => files.get(path)).join('')
    const kib = (bytes) => `${(bytes / 1024).toFixed(1)} KiB`
    console.log(
      `${side} loads ${kib(code.length)} in ${loaded[side].length} files, gzipped ${kib(gzipSync(code, { level: 9 }).length)}`,
    )
  }
  return times
}

async function bundle(side, folder) {
  const input = at(`../start/${side}.mjs`)
  const resolve = { name: 'sides', resolveId: (id) => (id === side ? { id: packageOf[side], moduleSideEffects: false } : null) }
  const plugins = [resolve, nodeResolve({ browser: true }), terser({ module: true })]
  const options = { treeshake: { moduleSideEffects: false }, onwarn: () => {} }
  // Avoids files that only re-export names.
  const built = await rollup({ input, plugins, preserveEntrySignatures: 'allow-extension', ...options })
  const { output } = await built.generate({ format: 'es', dir: folder, entryFileNames: 'run.js' })
  return output.filter(({ type }) => type === 'chunk').map(({ fileName, code }) => [fileName, code])
}

const PAGE = `<!doctype html><script type="module">
  globalThis.result = (async () => {
    const start = performance.now()
    try {
      const { run } = await import('./run.js')
      const values = await run()
      return { values, ms: performance.now() - start }
    } catch (error) {
      return { error: String(error) }
    }
  })()
</script>`

async function serve(files) {
  const asked = []
  const server = createServer(({ url }, response) => {
    asked.push(url)
    const code = files.get(url)
    const page = url.endsWith('/')
    response.writeHead(page || code !== undefined ? 200 : 404, { 'content-type': page ? 'text/html' : 'text/javascript' })
    response.end(page ? PAGE : code)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { origin: `http://127.0.0.1:${server.address().port}`, asked, close }
}

await inFolder(async (folder) => {
  await compare('Node', await inNode(folder))
  await compare('Chromium', await inChromium(folder))
})
