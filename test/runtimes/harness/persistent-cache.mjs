// A cache that outlives the page, in a browser: the page fills it, is loaded again, and reads the same. The
// server counts the requests.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { checker, equal } from '../check.mjs'
import { scratch } from './app.mjs'
import { serveRanges } from './ranges.mjs'
import { root } from './tools.mjs'

const DATA = join(root, 'demo/data/tas_rectilinear_grid_2D.nc')
/** Elements of a frame. */
const FRAME = 96 * 192
/** Less than two frames of float32. */
const SMALL = 100_000

/** Runs in the page: opens the file with a cache, and reads two frames. */
async function readFrames({ origin, options }) {
  const [{ openDataset }, { PersistentCache }] = await Promise.all([
    import(`${origin}/hyperslab/dist/dataset.js`),
    import(`${origin}/hyperslab/dist/store.js`),
  ])
  const cache = new PersistentCache(options)
  const ds = await openDataset(`${origin}/data/tas.nc`, { cache })
  let sum = 0
  let length = 0
  for (const time of [0, 11]) {
    const values = await ds.get('tas').isel({ time }).values()
    sum += values.reduce((total, each) => total + each, 0)
    length += values.length
  }
  await ds.close()
  await cache.flush()
  let stored = 0
  for (const name of (await caches.keys()).filter((each) => each.includes(options.name ?? ''))) {
    const entries = await caches.open(name)
    for (const key of await entries.keys()) stored += (await (await entries.match(key)).arrayBuffer()).byteLength
  }
  const { hits, bytes, evictions, failure } = cache.stats().stored
  return { mean: sum / length, length, hits, bytes, evictions, failure: failure?.message ?? null, stored }
}

/** @returns what was checked, as `{ name, error? }` */
export async function runPersistentCache(browser, app) {
  const folder = scratch(app, `persistent-${browser.version}`)
  const data = join(folder, 'data')
  mkdirSync(data)
  const original = readFileSync(DATA)
  writeFileSync(join(data, 'tas.nc'), original)
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>cache</title><link rel="icon" href="data:," />')
  const site = await serveRanges({ hyperslab: join(app.folder, 'node_modules/hyperslab'), page: folder, data })
  const page = await browser.page()
  const { check, results } = checker(() => false)
  /** Loads the page and reads. @returns what the page found, and the methods of the requests for the file */
  const visit = async (options) => {
    site.asked.length = 0
    await page.goto(`${site.origin}/page/index.html`)
    const found = await page.evaluate(readFrames, { origin: site.origin, options })
    return { ...found, methods: site.asked.filter(({ path }) => path === '/data/tas.nc').map(({ method }) => method) }
  }
  try {
    let first
    let changed
    await check('PersistentCache: the first page fills the storage of the browser', async () => {
      first = await visit({})
      equal([first.length, first.hits, first.failure, first.stored > 4 * FRAME], [2 * FRAME, 0, null, true])
    })
    await check('PersistentCache: the next page asks for the version alone, and reads the same without requests', async () => {
      const next = await visit({})
      equal([next.mean, next.hits > 0, next.failure], [first.mean, true, null])
      equal(next.methods, ['HEAD'])
    })
    await check('PersistentCache: a file with another ETag is fetched again', async () => {
      // Elements of the last frame become 0. The server derives the ETag from the size.
      writeFileSync(join(data, 'tas.nc'), Buffer.concat([original.subarray(0, -4000), Buffer.alloc(4004)]))
      changed = await visit({})
      equal([changed.mean < first.mean, changed.methods.includes('GET')], [true, true])
    })
    await check('PersistentCache: the storage holds at most maxBytes', async () => {
      const bound = await visit({ name: 'small', maxBytes: SMALL })
      equal(
        [bound.mean, bound.stored <= SMALL, bound.bytes <= SMALL, bound.bytes > 0, bound.failure],
        [changed.mean, true, true, true, null],
      )
    })
    return results
  } finally {
    site.close()
    page.close().catch(() => undefined)
  }
}
