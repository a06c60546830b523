import { expect, test } from 'vitest'
import { DiskArray } from '../../src/array/disk-array.ts'
import { inMemory } from '../../src/array/lazy/generate.ts'
import { tensorOf } from '../../src/core/tensor.ts'
import { Dataset } from '../../src/dataset/dataset.ts'
import { openDataset } from '../../src/dataset/open/open-dataset.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import type { Store } from '../../src/store/store.ts'

const DAYS = 1096
const days = Array.from({ length: DAYS }, (_, i) => new Date(Date.UTC(2000, 0, 1 + i)))

/** Daily fields with bounds and a coordinate without a dimension of its name. */
function daily(): Dataset {
  const array = (shape: readonly number[]): DiskArray =>
    new DiskArray(
      inMemory(
        tensorOf(
          'float64',
          shape,
          Float64Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => i),
        ),
      ),
    ) as DiskArray
  return new Dataset(
    { tas: { dims: ['time', 'x'], data: array([DAYS, 2]) } },
    {
      coords: {
        time: { dims: ['time'], data: days, attrs: { bounds: 'time_bnds' } },
        time_bnds: { dims: ['time', 'bnds'], data: array([DAYS, 2]) },
        run: { dims: ['time'], data: array([DAYS]) },
      },
    },
  ) // biome-ignore format: arrays
}

/** A store that notes the keys that are read. */
function noting(store: MemoryStore): { store: Store; keys: string[] } {
  const keys: string[] = []
  const noted = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...args: readonly unknown[]) => {
        if (/^(get|stat)/.test(String(name))) keys.push(String(args[0]))
        return Reflect.apply(value, target, args)
      }
    },
  })
  return { store: noted, keys }
}

const chunksOf = async (store: MemoryStore, path: string, name: string): Promise<readonly number[]> => {
  await using ds = await openDataset({ store, path })
  return ds.get(name).encoding['chunks'] as readonly number[]
}

test.each(['x.zarr', 'x.af'])('chunks of data do not cut coordinates: %s', async (path) => {
  const store = new MemoryStore()
  const ds = daily()
  await ds.write({ store, path }, { chunks: { time: 1 } })
  expect(await chunksOf(store, path, 'tas')).toEqual([1, 2])
  expect(await chunksOf(store, path, 'time')).toEqual([DAYS])
  expect(await chunksOf(store, path, 'run')).toEqual([DAYS])
  expect(await chunksOf(store, path, 'time_bnds')).toEqual([DAYS, 2])
  const noted = noting(store)
  await using opened = await openDataset({ store: noted.store, path })
  expect((await opened.get('time').dates()).map(Number)).toEqual(days.map(Number))
  // The metadata, and one object for the labels.
  expect(new Set(noted.keys).size).toBeLessThanOrEqual(6)
})

test('the encoding of a coordinate decides its chunks, and shards of data leave it alone', async () => {
  const store = new MemoryStore()
  const ds = daily()
  await ds.write({ store, path: 'x.zarr' }, { chunks: { time: 1 }, shards: { time: 100 }, encoding: { time: { chunks: [500] } } })
  expect(await chunksOf(store, 'x.zarr', 'time')).toEqual([500])
  expect(await chunksOf(store, 'x.zarr', 'run')).toEqual([DAYS])
  expect(await store.list('x.zarr/run/c/')).toEqual(['x.zarr/run/c/0'])
  await using opened = await openDataset({ store, path: 'x.zarr' })
  expect(await opened.get('tas').values()).toEqual(await ds.get('tas').values())
  expect(await opened.get('run').values()).toEqual(await ds.get('run').values())
})

test('labels of more than 4 MiB have chunks of 4 MiB', async () => {
  const store = new MemoryStore()
  const length = 600_000
  const x = Float64Array.from({ length }, (_, i) => i)
  await new Dataset({}, { coords: { x } }).write({ store, path: 'x.zarr' }, { chunks: { x: 1000 } })
  expect(await chunksOf(store, 'x.zarr', 'x')).toEqual([2 ** 19])
})
