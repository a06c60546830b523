import { afterAll, beforeAll, expect, test } from 'vitest'
import { Dataset } from '../../src/dataset/dataset.ts'
import { openDataset } from '../../src/dataset/open/open-dataset.ts'
import { open, slice } from '../../src/runtime/index.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { RudeServer } from '../support/rude-server.ts'

let server: RudeServer
beforeAll(async () => {
  server = await RudeServer.start()
})
afterAll(() => server.stop())

const SHAPE = [6, 40, 50]
const NAMES = ['time', 'lat', 'lon']

/**
 * A container of chunks that are blocks of their own, which neither the end that opening reads nor one
 * request has.
 */
async function served(): Promise<string> {
  const store = new MemoryStore()
  const data = Float32Array.from({ length: 6 * 40 * 50 }, (_, i) => Math.sin(i) * 100)
  const coords = {
    time: Array.from({ length: 6 }, (_, day) => new Date(Date.UTC(2001, 0, 1 + day))),
    lat: Array.from({ length: 40 }, (_, i) => i),
    lon: Array.from({ length: 50 }, (_, i) => i),
  }
  const ds = new Dataset({ tas: { dims: NAMES, data: { data, shape: SHAPE } } }, { coords })
  await ds.write({ store, path: 'x.af' }, { encoding: { tas: { chunks: [1, 40, 50] } }, codec: 'none', blockBytes: 8000 })
  const { size } = (await store.stat('x.af'))!
  return server.put('x.af', (await store.getRange('x.af', 0, size))!)
}

/** The ranges that are asked for meanwhile. */
async function asked(work: () => Promise<unknown>): Promise<string[]> {
  const before = server.log.length
  await work()
  return server.log.slice(before).sort()
}

test('a point is read as `get` reads it, and labels are read once, when a dataset is opened', async () => {
  const url = await served()
  await using file = await open(url)
  const tas = file.array('tas', 'float32')
  const opening = await asked(async () => (await open(url)).close())
  const labels = await asked(() => Promise.all(NAMES.map((name) => file.array(name).get(null))))
  expect(labels.length).toBeGreaterThan(0)
  let ds!: Dataset
  expect(await asked(async () => (ds = await openDataset(url)))).toEqual([...opening, ...labels].sort())
  const series = await asked(() => tas.get([null, 7, 9]))
  expect(series.length).toBeGreaterThan(0)
  expect(await asked(() => ds.get('tas').sel({ lat: 7, lon: 9 }).get())).toEqual(series)
  const point = await asked(() => tas.get([2, 7, 9]))
  const day = { time: '2001-01-03', lat: 7, lon: 9 }
  expect(await asked(() => ds.get('tas').sel(day, { method: 'nearest' }).get())).toEqual(point)
  const region = await asked(() => tas.get([slice(1, 3), slice(0, 20), null]))
  expect(
    await asked(() =>
      ds
        .get('tas')
        .isel({ time: slice(1, 3), lat: slice(0, 20) })
        .get(),
    ),
  ).toEqual(region)
  await ds.close()
})
