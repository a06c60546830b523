// The first day of a new user, from the archive that would be published, in an empty folder: install, every
// subcommand, six lines of TypeScript, a page, a Deno script, a Worker, an export opened in Python, and the
// examples as their READMEs say. Fails if a step fails or prints a warning. Words after the command select
// steps, such as `examples`.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { JOB, RUNS } from '../test/cli/runs.mjs'
import { provideBrowser, startBrowser } from '../test/runtimes/harness/browsers.mjs'
import { PROCESSES } from '../test/runtimes/harness/process-runtimes.mjs'
import { execute, within } from '../test/runtimes/harness/processes.mjs'
import { serveRanges } from '../test/runtimes/harness/ranges.mjs'
import { install, load, root } from '../test/runtimes/harness/tools.mjs'
import { pythonEnvironment } from './python.mjs'

const DATA = join(root, 'demo/data/tas_rectilinear_grid_2D.nc')
/** Mean of all elements of the file, as computed by numpy. */
const MEAN = 278.723

/** The same by area: each cell counts as the cosine of its latitude. */
const MEAN_BY_AREA = 287.5554

/** Means of the elements of the first and the last month, as computed by numpy. */
const MEANS = { 0: '276.72', 11: '276.98' }

/** Warning of npm about settings of the machine. */
const OWN_SETTINGS = /^npm warn Unknown (user|project|global|env|builtin) config .*\n/gm

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'hyperslab-first-day-')))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
const write = (name, text) => writeFileSync(join(folder, name), text)

/** Warning of npm about packages of an example that ask for a newer Node than this one. */
const OWN_NODE = /^npm warn EBADENGINE .*\n/gm

/** Runs a program, which must print no warnings. @returns its output */
async function quietly(program, args, options = {}) {
  const { code, stdout, stderr } = await execute(program, args, { cwd: folder, seconds: 240, ...options })
  const complaints = stderr.replace(OWN_SETTINGS, '').replace(OWN_NODE, '')
  assert.deepEqual({ code, complaints }, { code: 0, complaints: '' }, `${program} ${args.join(' ')}\n${stdout}`)
  assert.doesNotMatch(stdout, /\bwarn(ing)?\b/i)
  return stdout
}

const isMean = (text) => assert.ok(Math.abs(Number(text) - MEAN) < 1e-3, `a mean of ${text} in place of ${MEAN}`)

/** The archive that would be published. */
let archive

/** Runs the installed command. */
const hyperslab = (args, options = {}) =>
  execute(join(folder, 'node_modules/.bin/hyperslab'), args, { cwd: folder, seconds: 60, ...options })

/** Starts a Redis of its own. @returns its URL, and what ends it */
async function startRedis() {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address()
  probe.close()
  const settings = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--maxmemory-policy', 'noeviction']
  const child = spawn('redis-server', settings, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
  await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.stdout.on('data', (text) => /Ready to accept connections/.test(text) && resolve())
  })
  return { url: `redis://127.0.0.1:${port}`, end: () => child.kill() }
}

/** Runs a command that serves until it is interrupted. @returns what it prints */
async function serve(args) {
  const child = spawn(process.execPath, [join(folder, 'node_modules/hyperslab/dist/cli.js'), ...args], { cwd: folder })
  const [printed] = await within(30, args.join(' '), once(child.stdout, 'data'))
  child.kill('SIGINT')
  const [code] = await once(child, 'close')
  assert.equal(code, 0, args.join(' '))
  return String(printed)
}

/** Does one run of the table that the tests use, too. */
async function run({ command, args, prints, fails, exitCode, kind }, words) {
  const all = [...command.split(' '), ...words(args)]
  if (kind === 'served') return assert.match(await serve(all), prints)
  const { code, stdout, stderr } = await hyperslab(all)
  const title = `hyperslab ${all.join(' ')}: ${stderr}`
  assert.equal(code, fails === undefined ? 0 : exitCode, title)
  if (fails !== undefined) assert.match(stderr, fails, title)
  else assert.equal(stderr, '', title)
  if (prints !== undefined) assert.match(stdout, prints, title)
}

/** Copies an example, installs the archive in it as its README says, and returns its folder. */
async function installExample(name) {
  const place = join(folder, `example-${name}`)
  cpSync(join(root, 'examples', name), place, { recursive: true, filter: (path) => !/node_modules|dist$/.test(path) })
  await quietly('npm', ['install', '--ignore-scripts', '--no-fund', '--no-audit', archive], { cwd: place })
  return place
}

/** Note of the graphics driver about its speed. Chromium logs it for pages that read drawn pixels. */
const DRIVER_NOTE = /GL Driver Message \(OpenGL, Performance/

/** Builds an example with a page, and runs `look` on the page in Chromium, which must log nothing. */
async function look(name, search, work) {
  const place = await installExample(name)
  await quietly('npm', ['run', 'build', '--silent'], { cwd: place })
  copyFileSync(DATA, join(place, 'dist/tas.nc'))
  await install('chromium')
  await provideBrowser('chromium', { ci: /^(1|true)$/i.test(process.env.CI ?? '') })
  const server = await serveRanges({ [name]: join(place, 'dist'), data: folder })
  const browser = await within(40, 'Chromium starts', startBrowser('chromium'))
  const complaints = []
  try {
    const page = await browser.page()
    page.on('console', (message) => DRIVER_NOTE.test(message.text()) || complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(error.message))
    await page.goto(`${server.origin}/${name}/index.html${search}`)
    await work(page, server)
  } finally {
    browser.close()
    server.close()
  }
  assert.deepEqual(complaints, [])
}

/** Returns whether points of a page are red, `hot`, or blue, `cold`. */
async function coloursOf(page, points) {
  const picture = (await page.screenshot()).toString('base64')
  return page.evaluate(
    async ({ picture, points }) => {
      const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${picture}`)).blob())
      const context = new OffscreenCanvas(image.width, image.height).getContext('2d', { willReadFrequently: true })
      context.drawImage(image, 0, 0)
      const names = points.map(([x, y]) => {
        const [red, , blue] = context.getImageData(x, y, 1, 1).data
        return red === blue ? 'neither' : red > blue ? 'hot' : 'cold'
      })
      return names.join(' ')
    },
    { picture, points },
  )
}

/**
 * Options of Miniflare for a bundle. It would otherwise search the bundle for modules, and refuse imports of
 * names that are computed, such as that of an optional package.
 */
const asWorker = (contents) => ({
  modules: [{ type: 'ESModule', path: 'worker.mjs', contents }],
  compatibilityDate: '2026-04-01',
})

const STEPS = {
  async 'an empty folder, installed'() {
    const [{ filename }] = JSON.parse(
      await quietly('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], { cwd: root }),
    )
    archive = join(folder, filename)
    write('package.json', JSON.stringify({ name: 'stranger', version: '1.0.0', private: true, type: 'module' }))
    await quietly('npm', ['install', '--no-fund', '--no-audit', `./${filename}`])
    copyFileSync(DATA, join(folder, 'tas.nc'))
  },
  async 'every subcommand'() {
    assert.match(await quietly('npx', ['--no-install', 'hyperslab', '--version']), /^\d/)
    await quietly('npm', ['install', '--ignore-scripts', '--no-fund', '--no-audit', 'bullmq', 'ioredis'])
    const redis = await startRedis()
    try {
      const words = (args, job) => args.map((arg) => (arg === 'QUEUE' ? redis.url : arg === 'JOB' ? job : arg))
      let isDone = false
      const reduced = hyperslab(words(JOB)).finally(() => {
        isDone = true
      })
      while (!isDone)
        await hyperslab(words(['work', '--queue', 'QUEUE', '--prefix', 'runs', '--until-idle', '--concurrency', '1']))
      const { stdout, stderr } = await reduced
      isMean(stdout)
      const { id } = JSON.parse(stderr.trim().split('\n').at(-1))
      for (const each of RUNS) await run(each, (args) => words(args, id))
    } finally {
      redis.end()
    }
  },
  async 'six lines of TypeScript under strict'() {
    write(
      'mean.ts',
      `import { openDataset } from 'hyperslab/dataset'
await using ds = await openDataset('tas.nc')
const july: number = (await ds.get('tas').sel({ time: '2005-07' }).mean().values() as Float64Array)[0] ?? Number.NaN
const all = await ds.get('tas').mean().values()
if (!(july > 280)) throw new Error('not July')
console.log(String(all[0]))
`,
    )
    const compilerOptions = {
      strict: true,
      target: 'es2022',
      module: 'nodenext',
      lib: ['es2023', 'dom', 'esnext.disposable'],
      types: [],
    }
    write('tsconfig.json', JSON.stringify({ compilerOptions, files: ['mean.ts'] }))
    await quietly(process.execPath, [join(root, 'node_modules/typescript/bin/tsc')])
    isMean(await quietly(process.execPath, ['mean.js']))
  },
  async 'a page that Vite builds'() {
    await install('bundlers')
    await install('chromium')
    await provideBrowser('chromium', { ci: /^(1|true)$/i.test(process.env.CI ?? '') })
    mkdirSync(join(folder, 'public'))
    copyFileSync(DATA, join(folder, 'public/tas.nc'))
    write(
      'index.html',
      '<!doctype html><title>mean</title><link rel="icon" href="data:," /><script type="module" src="/page.js"></script>',
    )
    write(
      'page.js',
      `import { openDataset } from 'hyperslab/dataset'
const ds = await openDataset(new URL('tas.nc', location.href).href)
document.title = String((await ds.get('tas').mean().values())[0])
`,
    )
    const vite = await load('bundlers', 'vite')
    const warnings = []
    const logger = { ...vite.createLogger('warn'), warn: (text) => warnings.push(text), warnOnce: (text) => warnings.push(text) }
    await vite.build({ root: folder, configFile: false, customLogger: logger, build: { target: 'esnext' } })
    const server = await vite.preview({
      root: folder,
      configFile: false,
      customLogger: logger,
      preview: { port: 0, host: '127.0.0.1' },
    })
    const browser = await within(40, 'Chromium starts', startBrowser('chromium'))
    try {
      const page = await browser.page()
      page.on('console', (message) => warnings.push(message.text()))
      page.on('pageerror', (error) => warnings.push(error.message))
      await page.goto(server.resolvedUrls.local[0])
      await page.waitForFunction(() => /^\d/.test(globalThis.document.title), undefined, { timeout: 30_000 })
      isMean(await page.title())
    } finally {
      browser.close()
      await server.close()
    }
    assert.deepEqual(warnings, [])
  },
  async 'a Deno script'() {
    await install('deno')
    write(
      'mean.mjs',
      `import { openDataset } from 'hyperslab/dataset'
const ds = await openDataset('tas.af')
console.log(String((await ds.get('tas').mean().values())[0]))
await ds.close()
`,
    )
    isMean(await quietly(PROCESSES.deno.program(), ['run', '--no-prompt', '--quiet', `--allow-read=${folder}`, 'mean.mjs']))
  },
  async 'a Worker'() {
    await install('workerd')
    write(
      'worker.mjs',
      `import { openNetcdf } from 'hyperslab/netcdf'
export default {
  async fetch(request) {
    const file = await openNetcdf(await request.arrayBuffer())
    return new Response(String(await file.variable('tas').mean()))
  },
}
`,
    )
    const { build } = await load('workerd', 'esbuild')
    const { outputFiles, warnings } = await build({
      entryPoints: [join(folder, 'worker.mjs')],
      bundle: true,
      format: 'esm',
      target: 'es2022',
      write: false,
      logLevel: 'silent',
      external: ['node:*'],
    })
    assert.deepEqual(warnings, [])
    const { Miniflare } = await load('workerd', 'miniflare')
    const worker = new Miniflare(asWorker(outputFiles[0].text))
    try {
      const response = await worker.dispatchFetch('http://worker/', { method: 'POST', body: readFileSync(DATA) })
      isMean(await response.text())
    } finally {
      await worker.dispose()
    }
  },
  async 'examples/map, installed and built'() {
    const place = await installExample('map')
    await quietly('npm', ['run', 'build', '--silent'], { cwd: place })
    for (const file of ['index.html', 'map.mjs', 'map.css']) assert.ok(readFileSync(join(place, 'dist', file)).length > 0, file)
  },
  async 'examples/edge, installed and asked for a mean by area'() {
    const place = await installExample('edge')
    const { build } = await load('workerd', 'esbuild')
    const { outputFiles, warnings } = await build({
      ...{ entryPoints: [join(place, 'worker.mjs')], bundle: true, format: 'esm', target: 'es2022' },
      ...{ write: false, logLevel: 'silent', external: ['node:*'] },
    })
    assert.deepEqual(warnings, [])
    const { Miniflare } = await load('workerd', 'miniflare')
    const worker = new Miniflare({
      ...asWorker(outputFiles[0].text),
      ...{ r2Buckets: ['BUCKET'], bindings: { CONTAINER: 'climate.af' } },
    })
    try {
      const bucket = await worker.getR2Bucket('BUCKET')
      await bucket.put('climate.af', Uint8Array.from(readFileSync(join(folder, 'copy.af'))))
      const response = await worker.dispatchFetch('http://worker/mean?array=tas&lat=-90:90&lon=0:360&per=whole')
      const { mean } = await response.json()
      assert.ok(Math.abs(mean - MEAN_BY_AREA) < 0.01, `a mean by area of ${mean} in place of ${MEAN_BY_AREA}`)
    } finally {
      await worker.dispose()
    }
  },
  async 'examples/react, whose slider aborts reads'() {
    const { code } = await hyperslab(['export', 'tas.nc', 'steps.zarr', '--chunks', 'time=1'])
    assert.equal(code, 0)
    await look('react', '?url=/data/steps.zarr', async (page, server) => {
      const shown = (step, mean) =>
        page.waitForFunction((text) => document.querySelector('#mean')?.textContent === text, `step ${step}: ${mean}`, {
          timeout: 30_000,
        })
      await shown(0, MEANS[0])
      const release = server.hold(0)
      for (let step = 1; step <= 11; step++) {
        await page.press('input', 'ArrowRight')
        await page.waitForFunction((value) => document.querySelector('input').value === value, String(step))
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      release()
      await shown(11, MEANS[11])
      const ends = server.asked.filter(({ path }) => path.includes('/tas/c/')).map(({ end }) => end)
      assert.ok(ends.includes('given up'), `no request was given up: ${ends}`)
    })
  },
  async 'examples/plot, which draws a map and a series'() {
    await look('plot', '', async (page) => {
      const points = () =>
        document.querySelector('#series [aria-label=line] path')?.getAttribute('d').match(/[ML]/g).length === 12
      await page.waitForFunction(points, undefined, { timeout: 30_000 })
      const series = () => page.evaluate(() => document.querySelector('#series').textContent)
      assert.match(await series(), /52\.5° N, 13\.4° E/)
      // The image has as many pixels as the grid.
      const size = await page.evaluate(async () => {
        const href = document.querySelector('#map g[aria-label=raster] image').getAttribute('href')
        const image = await createImageBitmap(await (await fetch(href)).blob())
        return [image.width, image.height]
      })
      assert.deepEqual(size, [192, 96])
      await page.click('#map svg:last-of-type', { position: { x: 450, y: 240 } })
      await page.waitForFunction(() => !document.querySelector('#series').textContent.includes('52.5'))
    })
  },
  async 'examples/deck, which draws a globe'() {
    await look('deck', '', async (page) => {
      /** Waits until the globe is as hot and as cold as expected, at its middle and near the north pole. */
      const shown = async (date, expected) => {
        await page.waitForFunction((text) => document.querySelector('output').value === text, date, { timeout: 30_000 })
        let seen
        for (let attempt = 0; attempt < 40 && seen !== expected; attempt++) {
          await new Promise((resolve) => setTimeout(resolve, 250))
          seen = await coloursOf(page, [
            [640, 800],
            [640, 585],
          ])
        }
        assert.equal(seen, expected, date)
      }
      await shown('2005-01-16', 'hot cold')
      await page.focus('input')
      for (let step = 1; step <= 6; step++) await page.press('input', 'ArrowRight')
      await shown('2005-07-16', 'hot hot')
    })
  },
  async 'examples/deno, whose cells print what the notebook has'() {
    await install('deno')
    const place = await installExample('deno')
    copyFileSync(DATA, join(place, 'tas.nc'))
    const { cells } = JSON.parse(readFileSync(join(place, 'temperatures.ipynb'), 'utf8'))
    const programs = cells.filter(({ cell_type }) => cell_type === 'code')
    // Cells share their names, as in one module.
    writeFileSync(join(place, 'cells.ts'), programs.map(({ source }) => source.join('')).join('\n'))
    const printed = programs.flatMap(({ outputs }) => outputs.flatMap(({ text }) => text)).join('')
    const args = ['run', '--no-prompt', '--quiet', `--allow-read=${folder}`, 'cells.ts']
    assert.equal(await quietly(PROCESSES.deno.program(), args, { cwd: place }), printed)
  },
  async 'an export, opened in Python'() {
    const { env, failure } = pythonEnvironment(['numpy==2.4.6', 'zarr==3.1.6', 'xarray==2026.9.0'])
    if (failure !== undefined) throw new Error(failure)
    const program = "import xarray\nprint(float(xarray.open_zarr('tas.zarr').tas.astype('float64').mean()))"
    isMean(await quietly('python3', ['-W', 'error', '-c', program], { env }))
  },
}

/** Words that select steps by their names. The first step always runs. */
const words = process.argv.slice(2)

for (const [i, [name, step]] of Object.entries(STEPS).entries()) {
  if (i > 0 && words.length > 0 && !words.some((word) => name.includes(word))) continue
  const start = performance.now()
  await step()
  console.log(`${name}: ${((performance.now() - start) / 1000).toFixed(1)} s`)
}
