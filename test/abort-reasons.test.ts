import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as cluster from '../src/runtime/cluster.ts'
import { openDataset } from '../src/runtime/dataset.ts'
import * as hyperslab from '../src/runtime/index.ts'
import { createZarr, importZarr, openZarr, verifyZarr } from '../src/runtime/zarr.ts'

const { create, HttpStore, HyperslabError, MemoryStore, open, S3Store } = hyperslab

/** Reasons that callers abort with. They include this package's own errors, to which layers add facts. */
const reasons = (): [string, unknown][] => [
  ...(['StoreError', 'CodecError', 'ConflictError', 'NotFoundError', 'AlreadyExistsError', 'UnsupportedError'] as const).map(
    (tag): [string, unknown] => [tag, new HyperslabError(tag, 'mine')],
  ),
  ['a frozen error', Object.freeze(new HyperslabError('FormatError', 'mine'))],
  ['an error that cannot be cloned', Object.assign(new Error('mine'), { call: () => 1 })],
  ['an object', { call: () => 1 }],
  ['a text', 'enough'],
  ['null', null],
]

/** A signal that aborts when it is looked at for the n-th time. */
function abortedAt(at: number, reason: unknown) {
  const controller = new AbortController()
  const looks = { count: 0 }
  const signal = new Proxy(controller.signal, {
    get: (target, key) => {
      if (key !== 'reason' && ++looks.count === at) controller.abort(reason)
      const value = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return { signal, looks }
}

type Place = { readonly container: hyperslab.Location; readonly zarr: hyperslab.Location; readonly file: string }
/** All calls take the same options: a signal. */
type Call = (options: { readonly signal: AbortSignal }, place: Place) => unknown

const x = async ({ container }: Place) => (await open(container)).array('x', 'float64')
const labelled = async ({ container }: Place) => (await openDataset(container)).get('x')
const target = (path: string) => ({ store: new MemoryStore(), path })
const empty = async (chunkShape?: number[]) =>
  (await create(target('q.af'))).createArray('x', {
    dtype: 'float64',
    shape: [20, 30],
    ...(chunkShape && { chunks: chunkShape }),
  })
const drained = async (parts: AsyncIterable<unknown>) => {
  for await (const _ of parts);
}
let number = 0

const CALLS: Record<string, Call> = {
  open: (o, { container }) => open(container, o),
  create: (o) => create(target('a.af'), o),
  verify: (o, { container }) => hyperslab.verify(container, o),
  get: async (o, place) => (await x(place)).get(null, o),
  'get of lists': async (o, place) => (await x(place)).get([[1, 5, 12], [2, 20]] as never, o), // biome-ignore format: one line
  blocks: async (o, place) => drained((await x(place)).blocks(o)),
  elements: async (o, place) => drained((await x(place)).elements(o)),
  values: async (o, place) => (await x(place)).values(o),
  sum: async (o, place) => (await x(place)).sum({ ...o, axis: 0, ignoreStats: true }),
  median: async (o, place) => (await x(place)).median({ ...o, axis: 0 }),
  unique: async (o, place) => (await x(place)).unique(o),
  histogram: async (o, place) => (await x(place)).histogram({ ...o, bins: 4 }),
  argMax: async (o, place) => (await x(place)).argMax(o),
  reduce: async (o, place) => (await x(place)).reduce((a, b) => a + b, 0, o),
  map: async (o, place) =>
    (await x(place))
      .map((each) => each + 1)
      .rechunk([20, 1])
      .get(null, o),
  groupBy: async (o, place) =>
    (await x(place)).groupBy(
      'time',
      Array.from({ length: 20 }, (_, i) => i % 3),
      'mean',
      o,
    ),
  equals: async (o, place) => (await x(place)).equals(await x(place), o),
  concat: async (o, place) => hyperslab.concat([await x(place), await x(place)], { axis: 0 }).get(null, o),
  coarsen: async (o, place) => hyperslab.coarsen(await x(place), { time: 2 }, 'mean').get(null, o),
  copyTo: async (o, place) => (await x(place)).copyTo(await empty(), o),
  rechunkTo: async (o, place) => (await x(place)).rechunkTo(await empty([20, 1]), o),
  append: async (o) => (await empty()).append(0, new Array(30).fill(1), o),
  where: async (o, place) => hyperslab.findWhere(await x(place), { min: 5 }, o).count(),
  openDataset: (o, { container }) => openDataset(container, o),
  'openDataset of Zarr': (o, { zarr }) => openDataset(zarr, o),
  'mean of a dataset': async (o, place) => (await labelled(place)).mean({ axis: 'time' }).get(o),
  'groups of a dataset': async (o, place) => (await labelled(place)).groupBy('time').mean().get(o),
  toCSV: async (o, place) => drained((await labelled(place)).toCSV(o)),
  'write of Zarr': async (o, { container }) => (await openDataset(container)).write(target('w.zarr'), o),
  'write of files': async (o, { container, file }) => (await openDataset(container)).write(`${file}-${number++}.zarr`, o),
  'write of a container': async (o, { container }) => (await openDataset(container)).write(target('w.af'), o),
  openZarr: (o, { zarr }) => openZarr(zarr, o),
  verifyZarr: (o, { zarr }) => verifyZarr(zarr, o),
  importZarr: (o, { zarr }) => importZarr(zarr, target('i.af'), o),
  'get of Zarr': async (o, { zarr }) => (await (await openZarr(zarr, { kind: 'group' })).array('x')).get(null, o),
  'changes of Zarr': async (o) => {
    const group = await createZarr(target('c.zarr'))
    const array = await group.createArray('x', { dtype: 'float64', shape: [6, 6], chunks: [4, 4] })
    await array.set(null, 1, o)
    await array.append(0, new Array(6).fill(2), o)
  },
  'a job': async (o, { file }) => {
    const source = { location: file, array: 'x' }
    const plan = await cluster.planJob({ method: 'mean', source, options: { axis: 0 } }, o)
    await cluster.local().run(plan, o)
  },
  'a copy as a job': async (o, { file }) => {
    const plan = await cluster.planJob({ method: 'copy', source: { dataset: file }, target: `${file}-${number++}.zarr` }, o)
    await cluster.local().run(plan, o)
  },
}

let folder: string
const places: Record<string, Place> = {}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hyperslab-reasons-'))
  const store = new MemoryStore()
  const file = join(folder, 'x.af')
  places['memory'] = { container: { store, path: 'x.af' }, zarr: { store, path: 'y.zarr' }, file }
  places['files'] = { container: file, zarr: join(folder, 'y.zarr'), file }
  for (const { container, zarr } of Object.values(places)) {
    const made = await create(container)
    const values = { dtype: 'float64', shape: [20, 30], chunks: [7, 8], dimensionNames: ['time', 'lon'] } as const
    await made.createArray('x', values).set(null, Float64Array.from({ length: 600 }, (_, i) => i) as never)
    const labels = { dtype: 'float64', shape: [20], dimensionNames: ['time'] } as const
    await made.createArray('time', labels).set(null, Float64Array.from({ length: 20 }, (_, i) => i) as never)
    await made.flush()
    await made.close()
    await (await openDataset(container)).write(zarr)
  }
})
afterAll(() => rm(folder, { recursive: true }))

const rejection = async (work: () => unknown): Promise<{ error: unknown } | undefined> => {
  try {
    await work()
  } catch (error) {
    return { error }
  }
}

describe.each(['memory', 'files'])('with arrays in %s', (where) => {
  test.each(Object.entries(CALLS))('%s rejects with the reason itself, wherever it is aborted', async (_, call) => {
    const place = places[where]!
    const whole = abortedAt(-1, undefined)
    await call({ signal: whole.signal }, place)
    const step = Math.max(1, Math.floor(whole.looks.count / 5))
    for (let at = 1; at <= whole.looks.count; at += step)
      for (const [name, reason] of reasons().filter((_, i) => (i + at) % 5 === 0)) {
        const found = await rejection(() => call({ signal: abortedAt(at, reason).signal }, place))
        // Work that is done when it is aborted may end as if it was not.
        if (found !== undefined || at === 1) expect(found?.error, `${name} at ${at} of ${whole.looks.count}`).toBe(reason)
      }
  })
})

test.each(Object.entries(CALLS))('%s rejects with the reason itself where it was aborted before', async (_, call) => {
  for (const [name, reason] of reasons())
    expect((await rejection(() => call({ signal: AbortSignal.abort(reason) }, places['files']!)))?.error, name).toBe(reason)
})

describe('requests', () => {
  /** A server that keeps everyone waiting: for an answer, for the rest of a body, or for another attempt. */
  const waiting = { answer: () => undefined, body: half, retry: busy } as const
  function half(response: ServerResponse): void {
    response.writeHead(206, { 'content-range': 'bytes 0-99/100', 'content-length': 100, etag: '"1"' })
    response.write('x'.repeat(10))
  }
  function busy(response: ServerResponse): void {
    response.writeHead(503, { 'retry-after': '30' })
    response.end()
  }

  test.each(Object.entries(waiting))('reject with the reason itself while they wait for the %s', async (_, answer) => {
    let asked: () => void = () => undefined
    const server = createServer((request, response) => {
      // The clients give up.
      request.on('error', () => undefined)
      answer(response)
      setTimeout(asked, 5)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a`
    const s3 = new S3Store({ bucket: 'b', endpoint: url.slice(0, -2), region: 'x', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } }) // biome-ignore format: one line
    const own = new HttpStore({ fetch: (...args) => fetch(...(args as Parameters<typeof fetch>)) as never })
    try {
      const calls: ((signal: AbortSignal) => unknown)[] = [
        (signal) => open(`${url}.af`, { signal }),
        (signal) => openZarr(`${url}.zarr`, { signal }),
        (signal) => openDataset(`${url}.nc`, { signal }),
        (signal) => new HttpStore().getRange(url, 0, 100, { signal }),
        (signal) => Promise.all([1, 2].map(() => own.getRange(url, 0, 100, { signal }))),
        (signal) => own.getTail(url, 100, { signal }),
        (signal) => s3.getRange('a', 0, 100, { signal }),
        (signal) => s3.put('a', new Uint8Array(10), { signal }),
        (signal) => s3.list!('a', { signal }),
      ]
      for (const [at, call] of calls.entries())
        for (const [name, reason] of reasons().filter((_, i) => (i + at) % 3 === 0)) {
          const controller = new AbortController()
          asked = () => controller.abort(reason)
          expect((await rejection(() => call(controller.signal)))?.error, `${name} of call ${at}`).toBe(reason)
        }
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })
})
