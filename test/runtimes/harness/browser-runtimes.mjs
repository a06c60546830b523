// The suite in pages and module workers: un-bundled under several headers, and as each bundler builds it.
import { browserLabel, startBrowser } from './browsers.mjs'
import { BUNDLERS, bundle } from './bundles.mjs'
import { runMapExample } from './map-example.mjs'
import { runPersistentCache } from './persistent-cache.mjs'
import { runPictures } from './pictures.mjs'
import { within } from './processes.mjs'
import { serve } from './site.mjs'
import { runViewer } from './viewer.mjs'
import { runLooks } from './viewer-looks.mjs'

const UNBUNDLED = [
  { variant: 'plain', name: 'un-bundled' },
  { variant: 'strict', name: 'un-bundled, strict CSP' },
  { variant: 'isolated', name: 'un-bundled, cross-origin isolated' },
  { variant: 'strict-isolated', name: 'un-bundled, strict CSP, cross-origin isolated' },
]

/** A page that takes longer than this, on a slow machine too, hangs. */
const PAGE_SECONDS = 40
/** Every change to a file waits for the disk. */
const OPFS_SECONDS = 60
const EXAMPLE_SECONDS = 40
const CACHE_SECONDS = 60
const PICTURES_SECONDS = 60
const VIEWER_SECONDS = 240
const LOOKS_SECONDS = 120
/** For all pages of one browser, so that hanging ones do not add up. */
const BROWSER_SECONDS = 240
/** For the viewer, the map, the cache and the pictures, too. */
export const BROWSER_LIMIT_SECONDS =
  BROWSER_SECONDS + VIEWER_SECONDS + LOOKS_SECONDS + EXAMPLE_SECONDS + CACHE_SECONDS + PICTURES_SECONDS + 10

/** Lists the pages to visit: a script below a variant of the site, and the requirements for its page. */
async function cellsFor(app) {
  const bundles = await bundle(app)
  const ways = [
    ...UNBUNDLED.map((way) => ({ ...way, page: 'programs/page.mjs', worker: 'programs/worker.mjs' })),
    ...Object.entries(BUNDLERS).map(([key, name]) => {
      const folder = `bundled/${key}`
      return { variant: 'plain', name, page: `${folder}/page.js`, worker: `${folder}/worker.js`, error: bundles[key].error }
    }),
    { variant: 'plain', name: 'OPFS', page: 'programs/opfs-page.mjs', worker: 'programs/opfs-worker.mjs', seconds: OPFS_SECONDS },
  ]
  const cells = ways.flatMap((way) => ['page', 'worker'].map((place) => ({ ...way, place, name: `${way.name}, ${place}` })))
  return [...cells, { variant: 'forbidden', name: 'CSP without WebAssembly', place: 'page', page: 'programs/no-wasm-page.mjs' }]
}

export async function runBrowser(name, app) {
  const cells = await cellsFor(app)
  const site = await serve(app.folder)
  let browser
  try {
    browser = await within(40, `${name} starts`, startBrowser(name))
    const deadline = Date.now() + BROWSER_SECONDS * 1000
    const done = []
    for (const [id, cell] of cells.entries())
      done.push({ name: cell.name, results: await visit(browser, site, String(id), cell, deadline) })
    done.push({ name: 'viewer', results: await visitOf('the viewer', VIEWER_SECONDS, runViewer(browser, app)) })
    done.push({
      name: 'looks of the viewer',
      results: await visitOf('looking at the viewer', LOOKS_SECONDS, runLooks(browser, app)),
    })
    done.push({ name: 'example map', results: await visitOf('the example map', EXAMPLE_SECONDS, runMapExample(browser, app)) })
    done.push({
      name: 'PersistentCache',
      results: await visitOf('the persistent cache', CACHE_SECONDS, runPersistentCache(browser, app)),
    })
    done.push({
      name: 'pictures',
      results: await visitOf('the pictures of TIFF', PICTURES_SECONDS, runPictures(browser, browserLabel(name), app)),
    })
    return { label: browserLabel(name), version: browser.version, cells: done, stores: 'memory, OPFS', built: await builtBy(app) }
  } finally {
    browser?.close()
    site.close()
  }
}

async function visitOf(name, seconds, results) {
  try {
    return await within(seconds, name, results)
  } catch (error) {
    return [{ name: 'runs', error: error.message }]
  }
}

async function builtBy(app) {
  const versions = Object.entries(await bundle(app)).map(([key, { version }]) => `${BUNDLERS[key]} ${version}`)
  return versions.join(', ')
}

async function visit(browser, site, id, cell, deadline) {
  if (cell.error !== undefined) return [{ name: 'builds', error: cell.error }]
  const seen = []
  let page
  const soon = (what, work) =>
    within(Math.max(0, Math.min(cell.seconds ?? PAGE_SECONDS, (deadline - Date.now()) / 1000)), what, work)
  try {
    page = await soon('a new page', browser.page())
    page.on('pageerror', (error) => seen.push(error.message))
    page.on('console', (message) => message.type() === 'error' && seen.push(message.text()))
    const query = new URLSearchParams({ id, in: cell.place, worker: `/${cell.variant}/${cell.worker}` })
    const report = site.report(id)
    await soon('the page loads', page.goto(`${site.origin}/${cell.variant}/page/${cell.page}?${query}`))
    const { results, facts, problem } = await soon('the suite', report)
    if (problem !== undefined) throw new Error(problem)
    return [...results, ...misleading(cell, facts)]
  } catch (error) {
    return [{ name: 'runs', error: [error.message, ...seen].join('\n') }]
  } finally {
    // Not awaited: a page that hangs does not close either.
    page?.close().catch(() => undefined)
  }
}

/** A page that is not what it should be has shown nothing. */
function misleading({ variant, place }, facts) {
  const expected = {
    isolated: variant.includes('isolated'),
    strict: /strict|forbidden/.test(variant),
    worker: place === 'worker',
  }
  return Object.keys(expected).map((fact) => ({
    name: `the page is as meant: ${fact} ${expected[fact]}`,
    error: facts[fact] === expected[fact] ? undefined : `it is ${facts[fact]}`,
  }))
}
