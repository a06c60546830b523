// The origin private file system: the suite, the conformance of the store, and writers that race, in one
// thread and in several.
import * as hyperslab from 'hyperslab'
import { openGeotiff } from 'hyperslab/geotiff'
import { openHdf5 } from 'hyperslab/hdf5'
import { ChunkGrid, plan, resolveSelection } from 'hyperslab/plan'
import { raceWriters, storeConformance } from 'hyperslab/testing'
import { createZarr, openZarr } from 'hyperslab/zarr'
import { checker, equal } from '../check.mjs'
import { runSuite } from '../suite.mjs'
import { runRaces } from './races.mjs'

const { create, isHyperslabError, OpfsStore, open } = hyperslab

const WORKERS = 4

/** Runs of page and worker, and of checks within one, share the file system of the origin. */
const scope = `run-${Math.random().toString(36).slice(2)}`
let folders = 0
const folder = () => `${scope}/${folders++}`

/** All of it or, where the address names seeds, the races with these. */
export function runOpfs() {
  const query = new URLSearchParams(location.search)
  if (!query.has('from')) return runAll()
  const number = (name) => Number(query.get(name))
  return races({ from: number('from'), to: number('to'), atOnce: number('atOnce') })
}

async function runAll() {
  const place = { name: 'OPFS', at: (path) => ({ store: new OpfsStore(), path: `${scope}/suite/${path}` }) }
  const results = await runSuite(
    { ...hyperslab, ChunkGrid, plan, resolveSelection, createZarr, openGeotiff, openHdf5, openZarr },
    [place],
  )
  const { check, rejects, results: own } = checker(isHyperslabError)
  const make = async () => ({ store: new OpfsStore(), prefix: `${folder()}/` })
  for (const { name, run } of storeConformance(make)) await check(`OPFS store: ${name}`, run)
  await checkStore((name, run) => check(`OPFS store: ${name}`, run), rejects)
  await checkRaces(check)
  await checkSchedules(check)
  const root = await navigator.storage.getDirectory()
  await check('OPFS: nothing is left behind', async () =>
    equal(
      (await namesIn(root)).filter((name) => name !== scope),
      [],
    ),
  )
  await root.removeEntry(scope, { recursive: true })
  return [...results, ...own]
}

async function checkStore(check, rejects) {
  await check('versions written one right after the other differ, of equal size though they are', async () => {
    const [store, key] = [new OpfsStore(), `${folder()}/x`]
    const seen = []
    for (let i = 0; i < 12; i++) {
      // Replaced, removed and made anew, by turns.
      if (i % 3 === 2) await store.delete(key)
      await store.put(key, Uint8Array.of(i))
      const { etag } = await store.stat(key)
      equal(await store.getRange(key, 0, 1, { ifMatch: etag }), [i])
      seen.push(etag)
    }
    equal(new Set(seen).size, 12)
  })
  await check('a version that was replaced by another store is refused', async () => {
    const [store, key] = [new OpfsStore(), `${folder()}/x`]
    await store.put(key, Uint8Array.of(1, 2))
    const { etag } = await store.stat(key)
    equal(await store.getRange(key, 0, 2, { ifMatch: etag }), [1, 2])
    await new OpfsStore().put(key, Uint8Array.of(3, 4))
    await rejects('ConflictError', () => store.getRange(key, 0, 2, { ifMatch: etag }))
    equal(await store.getRange(key, 0, 2), [3, 4])
    await new OpfsStore().delete(key)
    equal(await store.getRange(key, 0, 2), undefined)
  })
  await check('one folder down it is the same file, under the same lock', async () => {
    const path = folder()
    const [above, below] = [new OpfsStore(), new OpfsStore(await directoryAt(path))]
    const stages = await Promise.all([above, below, above, below].map((store) => store.stage('x')))
    const keys = [`${path}/x`, 'x', `${path}/x`, 'x']
    const outcomes = await Promise.allSettled(
      stages.map((stage, i) => stage.publish(keys[i], Uint8Array.of(i), { ifAbsent: true })),
    )
    equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
    for (const stage of stages) await stage.discard()
    equal(await above.list(path), [`${path}/x`])
  })
  await check('keys below folders are listed, others not', async () => {
    const [store, path] = [new OpfsStore(), folder()]
    const keys = ['a/b/c.af', 'a/b.af', 'ab.af', 'b.af'].map((key) => `${path}/${key}`)
    for (const key of keys) await store.put(key, new Uint8Array(1))
    equal((await store.list(`${path}/a`)).sort(), keys.slice(0, 3).sort())
    equal((await store.list(`${path}/a/`)).sort(), keys.slice(0, 2).sort())
    equal([await store.stat(`${path}/a`), await store.stat(`${path}/b.af/x`)], [undefined, undefined])
    await store.delete(`${path}/a`)
    equal((await store.list(`${path}/`)).length, 4)
    await rejects('StoreError', () => store.put(`${path}/a`, new Uint8Array(1)))
    await rejects('StoreError', () => store.put(`${path}/b.af/x`, new Uint8Array(1)))
  })
  await check('a file that somebody holds is not replaced', async () => {
    const [store, path] = [new OpfsStore(), folder()]
    await store.put(`${path}/x`, Uint8Array.of(1))
    const handle = await (await directoryAt(path)).getFileHandle('x')
    const stream = await handle.createWritable()
    const error = await rejects('StoreError', () => store.delete(`${path}/x`))
    equal([error.details.file, /NoModificationAllowedError/.test(error.message)], [`opfs:${path}/x`, true])
    await stream.abort()
    equal(await store.getRange(`${path}/x`, 0, 1), [1])
  })
  await check('a file handle is opened, read only', async () => {
    const [store, path] = [new OpfsStore(), folder()]
    const file = await create({ store, path: `${path}/x.af` })
    await file.createArray('a', { dtype: 'int16', shape: [3] }).set(null, Int16Array.of(1, 2, 3))
    await file.compact()
    const handle = await (await directoryAt(path)).getFileHandle('x.af')
    const reader = await open(handle)
    equal((await reader.array('a').get()).data, [1, 2, 3])
    await rejects('ReadOnlyError', () => reader.array('a').set([0], 5))
    await file.array('a').set([0], 7)
    await file.compact()
    const later = await open(handle)
    equal((await later.array('a').get()).data, [7, 2, 3])
  })
}

/** One kind in a worker, the other in a page: they take the longest. */
async function checkRaces(check) {
  if (typeof document === 'undefined')
    return check('OPFS: twelve writers in one thread, nothing is lost', async () => {
      const conflicts = await raceWriters({ storeFor: () => new OpfsStore(), path: `${folder()}/a.af`, seed: 1 })
      equal(conflicts > 0, true)
    })
  await check('OPFS: twelve writers in four workers, nothing is lost', raceWorkers)
  await check('OPFS: what a worker that was ended has left is removed', async () => {
    const root = await navigator.storage.getDirectory()
    const writer = startWriter()
    await writer.do({ step: 'stage', path: 'x.af' })
    const stages = async () => (await namesIn(root)).filter((name) => name.startsWith('.hyperslab-stage-'))
    const left = await stages()
    // The file belongs to the worker as long as the worker lives.
    await new OpfsStore().put(`${folder()}/x`, new Uint8Array(1))
    equal([left.length, await stages()], [1, left])
    writer.end()
    for (let i = 0; (await stages()).length > 0; i++) {
      if (i === 50) throw new Error('it is still there')
      await new Promise((resolve) => setTimeout(resolve, 50))
      await new OpfsStore().put(`${folder()}/x`, new Uint8Array(1))
    }
  })
}

/** Other ones in a worker than in a page. */
async function checkSchedules(check) {
  const from = typeof document === 'undefined' ? 6 : 0
  await check('OPFS: writers, compactors and a reader race: nothing is lost', async () => {
    equal((await races({ from, to: from + 6, atOnce: 3 })).problems, [])
  })
}

async function races(seeds) {
  const parent = folder()
  const outcome = await runRaces(seeds, (seed) => ({ storeFor: () => new OpfsStore(), path: `${parent}/${seed}/a.af` }))
  await (await directoryAt(scope)).removeEntry(parent.slice(scope.length + 1), { recursive: true })
  return outcome
}

async function raceWorkers() {
  const writers = Array.from({ length: WORKERS }, startWriter)
  try {
    const path = `${folder()}/a.af`
    const creator = await create({ store: new OpfsStore(), path })
    const total = 3 * WORKERS
    creator.createArray('x', { dtype: 'uint8', shape: [total], chunks: [5] })
    await creator.flush()
    await Promise.all(writers.map((writer) => writer.do({ step: 'open', path })))
    let conflicts = 0
    for (let round = 0; round < 3; round++) {
      const indices = writers.map((_, i) => round * WORKERS + i)
      const counts = await Promise.all(writers.map((writer, i) => writer.do({ step: 'write', index: indices[i] })))
      conflicts += counts.reduce((sum, count) => sum + count)
    }
    const reader = await open({ store: new OpfsStore(), path })
    equal(
      (await reader.array('x').get()).data,
      Array.from({ length: total }, (_, i) => i + 1),
    )
    equal([reader.layers().length, conflicts > 0], [total + 1, true])
  } finally {
    for (const writer of writers) writer.end()
  }
}

/** A worker that does one step after the other. */
function startWriter() {
  const [, variant] = location.pathname.split('/')
  const worker = new Worker(`/${variant}/programs/opfs-writer.mjs`, { type: 'module' })
  const answer = () =>
    new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => (data.error === undefined ? resolve(data.result) : reject(new Error(data.error)))
      worker.onerror = (event) => reject(new Error(`the worker failed: ${event.message}`))
    })
  return {
    do(message) {
      const done = answer()
      worker.postMessage(message)
      return done
    },
    end: () => worker.terminate(),
  }
}

async function directoryAt(path) {
  let directory = await navigator.storage.getDirectory()
  for (const name of path.split('/')) directory = await directory.getDirectoryHandle(name, { create: true })
  return directory
}

async function namesIn(directory) {
  const names = []
  for await (const name of directory.keys()) names.push(name)
  return names
}
