// Seeded races of writers, compactors and a reader, each on one container, on every kind of store that
// containers are written to.
// In memory and in files, a seed also determines the order of all operations. HYPERSLAB_STORE_SCHEDULES sets
// the number on each store, HYPERSLAB_STORES selects stores.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { layOutApp } from '../../test/runtimes/harness/app.mjs'
import { provideBrowser, startBrowser } from '../../test/runtimes/harness/browsers.mjs'
import { startWorker } from '../../test/runtimes/harness/edge-worker.mjs'
import { Missing } from '../../test/runtimes/harness/processes.mjs'
import { serve } from '../../test/runtimes/harness/site.mjs'
import { install } from '../../test/runtimes/harness/tools.mjs'
import { runRaces } from '../../test/runtimes/programs/races.mjs'
import { internals } from '../internals.mjs'
import { report, sized, smallest } from '../measure.mjs'

const SCHEDULES = Number(process.env.HYPERSLAB_STORE_SCHEDULES ?? sized(100, 2))
/** Number of races per request to a Worker or visit of a page. */
const BATCH = 25
/** Number of schedules between two lines of progress, if the output is not a terminal. */
const PROGRESS = 250
const FAULTS = { rate: 0.03, kinds: ['error', 'lost', 'late'] }

const { Ceph, FaultStore, FileStore, folderInMemory, haveCeph, isHyperslabError, MemoryStore, S3Store, Scheduler, seededFaults } =
  await internals(
    'core/errors',
    'store/fs/file',
    'store/memory',
    'store/s3/s3',
    'testing/index',
    '../test/support/ceph',
    '../test/support/folder',
    '../test/support/scheduler',
  )

/**
 * Runners of each store: `start` returns `{ run, stop }`; `run` takes seeds and returns results like
 * `runRaces`.
 */
const STORES = {
  memory: async () => ({ run: (seeds) => runRaces(seeds, (seed) => scheduled(seed, new MemoryStore())) }),
  'memory with faults': async () => ({ run: (seeds) => runRaces(seeds, faulty) }),
  file: startFiles,
  ceph: startCeph,
  r2: startR2,
  'opfs page': (app) => startOpfs(app, 'page'),
  'opfs worker': (app) => startOpfs(app, 'worker'),
}

function scheduled(seed, store, path = 'a.af') {
  const scheduler = new Scheduler(seed)
  return { storeFor: () => scheduler.over(store), path }
}

/**
 * Creates faults: requests that fail, whose answers are lost, or that are executed late. They differ for each
 * opening, because equal ones would repeat.
 */
function faulty(seed) {
  const { storeFor, path } = scheduled(seed, new MemoryStore())
  let opened = 0
  return {
    storeFor: (participant) =>
      participant < 0 ? storeFor() : new FaultStore(storeFor(), { faults: seededFaults(1000 * seed + opened++, FAULTS) }),
    path,
    transient: (error) => isHyperslabError(error, 'StoreError'),
  }
}

async function startFiles() {
  const folder = await folderInMemory('schedules')
  return {
    run: (seeds) => runRaces(seeds, (seed) => scheduled(seed, new FileStore(), join(folder, `${seed}.af`))),
    stop: () => rmSync(folder, { recursive: true }),
  }
}

async function startCeph() {
  if (!haveCeph()) throw new Missing('there is no Ceph here (apt-get install ceph-mon ceph-osd radosgw ceph-common)')
  const ceph = await Ceph.start()
  await ceph.makeBucket('data')
  const { endpoint, credentials } = ceph
  const storeFor = () => new S3Store({ bucket: 'data', endpoint, credentials, retryDelay: 1 })
  return {
    run: (seeds) => runRaces({ ...seeds, atOnce: 8 }, (seed) => ({ storeFor, path: `${seed}/a.af` })),
    stop: () => ceph.stop(),
  }
}

async function startR2(app) {
  await install('workerd')
  const miniflare = await startWorker(app.folder, 'edge-r2', { compatibilityDate: '2026-04-01' })
  const run = async (seeds) => (await miniflare.dispatchFetch(`http://worker/races?${new URLSearchParams(seeds)}`)).json()
  return { run, stop: () => miniflare.dispose() }
}

async function startOpfs(app, place) {
  await install('chromium')
  await provideBrowser('chromium', { ci: false })
  const [site, browser] = [await serve(app.folder), await startBrowser('chromium')]
  const run = async (seeds) => {
    const id = `${place}-${seeds.from}`
    const address = (program) => `/plain/${program}?${new URLSearchParams({ ...seeds, id, in: place, worker })}`
    const worker = `/plain/programs/opfs-worker.mjs?${new URLSearchParams(seeds)}`
    const page = await browser.page()
    const told = site.report(id)
    // Without a time limit, because a page takes half a minute to load on a busy machine.
    await page.goto(`${site.origin}${address('page/programs/opfs-page.mjs')}`, { timeout: 0 })
    const { results, problem } = await told
    await page.context().close()
    if (problem !== undefined) throw new Error(problem)
    return results
  }
  const stop = () => {
    browser.close()
    site.close()
  }
  return { run, stop }
}

/** Runs all races on one store and prints the results. */
async function race(name, app) {
  const { run, stop } = await STORES[name](app)
  const started = performance.now()
  const sum = { problems: [] }
  try {
    for (let from = 0; from < SCHEDULES; from += BATCH) {
      const { problems, ...counts } = await run({ from, to: Math.min(SCHEDULES, from + BATCH), atOnce: 4 })
      for (const [key, count] of Object.entries(counts)) sum[key] = (sum[key] ?? 0) + count
      sum.problems.push(...problems)
      const progress = `${name}: ${sum.tried} of ${SCHEDULES}, ${sum.failed} failed`
      if (process.stderr.isTTY) process.stderr.write(`${progress}\r`)
      else if (sum.tried % PROGRESS === 0) console.error(progress)
    }
  } finally {
    await stop?.()
  }
  const seconds = ((performance.now() - started) / 1000).toFixed(0)
  const { tried, failed, flushed, compacted, opened, conflicts, lost, half, unreadable, problems } = sum
  console.log(
    `${name}: ${tried} schedules tried, ${failed} failed (${lost} lost, ${half} half, ${unreadable} unreadable), in ${seconds} s; ` +
      `${flushed} flushes and ${compacted} compactions acknowledged, ${opened} times read, ${conflicts} conflicts`,
  )
  for (const problem of problems.slice(0, 5)) console.log(problem)
  // Without conflicts, there was no race; a run of two races may have none.
  const met = failed === 0 && tried === SCHEDULES && (conflicts > 0 || smallest)
  if (!met) process.exitCode = 1
  report({ suite: 'schedules', name: `failed of ${tried} on ${name}`, peer: 'none', speed: false, ratio: failed, goal: '0', met })
}

const names = process.env.HYPERSLAB_STORES?.split(',') ?? Object.keys(STORES)
for (const name of names) if (!(name in STORES)) throw new Error(`no store ${name}; there are ${Object.keys(STORES).join(', ')}`)
const app = await layOutApp()
try {
  for (const name of names) {
    try {
      await race(name, app)
    } catch (error) {
      if (!(error instanceof Missing)) throw error
      console.log(`skipped: ${name}: ${error.message}`)
    }
  }
} finally {
  app.remove()
}
// Connections that a browser still holds must not keep the process alive.
process.exit()
