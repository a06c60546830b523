import { expect, test } from 'vitest'
import { Dataset, openDataset, openDatasets } from '../../src/runtime/dataset.ts'
import { openTree } from '../../src/runtime/index.ts'
import { LabelledTree } from '../../src/runtime/tree.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import type { Store } from '../../src/store/store.ts'

/** A store that answers reads in rounds: all that wait are answered together, soon after the last one. */
function inRounds(store: MemoryStore): { store: Store; rounds: string[][] } {
  const rounds: string[][] = []
  let waiting: (() => void)[] = []
  let timer: ReturnType<typeof setTimeout> | undefined
  let keys: string[] = []
  const settle = (): void => {
    rounds.push(keys)
    const [ready] = [waiting]
    waiting = []
    keys = []
    for (const resume of ready) resume()
  }
  const slow = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      if (!/^get/.test(String(name))) return value.bind(target)
      return async (...args: readonly unknown[]) => {
        keys.push(String(args[0]))
        clearTimeout(timer)
        timer = setTimeout(settle, 20)
        await new Promise<void>((resolve) => waiting.push(resolve))
        return Reflect.apply(value, target, args)
      }
    },
  })
  return { store: slow, rounds }
}

test('all chunks of all coordinates are requested in one round', async () => {
  const store = new MemoryStore()
  const numbers = Array.from({ length: 60 }, (_, i) => i)
  const coords = Object.fromEntries([...Array(24).keys()].map((i) => [`x${i}`, numbers.map((each) => each + i)]))
  const texts = { name: numbers.map((each) => `station ${each}`) }
  const encoding = Object.fromEntries(Object.keys(coords).map((name) => [name, { chunks: [10] }]))
  // Four chunks of texts are decoded together, because only decoding tells their size.
  Object.assign(encoding, { name: { chunks: [15] } })
  await new Dataset({}, { coords: { ...coords, ...texts } }).write({ store, path: 'x.zarr' }, { encoding })
  const { store: slow, rounds } = inRounds(store)
  await using ds = await openDataset({ store: slow, path: 'x.zarr' })
  expect(await ds.get('name').values()).toEqual(texts.name)
  const labels = rounds.filter((keys) => keys.some((key) => key.includes('/c/')))
  expect([labels.length, new Set(labels[0]).size]).toEqual([1, 24 * 6 + 4])
})

test('a tree whose labels are in small chunks warns of slow opening, and names the command that mends it', async () => {
  const store = new MemoryStore()
  const time = Array.from({ length: 100 }, (_, i) => i)
  const ds = new Dataset({ t: { dims: ['time'], data: time } }, { coords: { time } })
  const warnings = async (path: string) => {
    await using tree = new LabelledTree(await openTree({ store, path }))
    return (await tree.describe()).warnings
  }
  await ds.write({ store, path: 'slow.zarr' }, { encoding: { time: { chunks: [1] } } })
  expect(await warnings('slow.zarr')).toEqual([
    'memory:slow.zarr: opening takes 100 requests, because the labels of time are in small chunks; a copy opens faster: hyperslab export memory:slow.zarr new.zarr',
  ])
  await using slow = await openDataset({ store, path: 'slow.zarr' })
  await slow.write({ store, path: 'fast.zarr' })
  expect(await warnings('fast.zarr')).toEqual([])
})

test('a join of files is written with chunks of several files, and encoding decides otherwise', async () => {
  const store = new MemoryStore()
  for (let day = 0; day < 12; day++) {
    const data = { data: Float32Array.from({ length: 64 * 1024 }, (_, i) => i + day), shape: [1, 256, 256] }
    await new Dataset({ t: { dims: ['time', 'y', 'x'], data } }, { coords: { time: [day] } }).write({
      store,
      path: `d/${day + 10}.zarr`,
    })
  }
  await using ds = await openDatasets({ store, path: 'd/*.zarr' })
  const chunks = async (path: string) => {
    await using written = await openDataset({ store, path })
    expect(await written.get('t').isel({ time: 11, y: 0, x: 5 }).get()).toBe(16)
    return [written.get('t').encoding['chunks'], written.get('time').encoding['chunks']]
  }
  await ds.write({ store, path: 'joined.zarr' })
  expect(await chunks('joined.zarr')).toEqual([[12, 256, 256], [12]])
  await ds.write({ store, path: 'given.zarr' }, { encoding: { t: { chunks: [2, 256, 256] } } })
  expect(await chunks('given.zarr')).toEqual([[2, 256, 256], [12]])
})
