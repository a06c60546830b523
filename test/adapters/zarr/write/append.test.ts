import { describe, expect, test, vi } from 'vitest'
import { CLAIM_NAME } from '../../../../src/adapters/zarr/write/claim.ts'
import { newController } from '../../../../src/core/signal.ts'
import { createZarr, openZarr } from '../../../../src/runtime/zarr.ts'
import { MemoryStore } from '../../../../src/store/memory.ts'
import type { Store } from '../../../../src/store/store.ts'
import { FaultStore } from '../../../../src/testing/index.ts'
import { type Layout, prepared, rows, tryAppend, writable } from './appenders.ts'

// A killed process is succeeded after the lease.
vi.mock('../../../../src/adapters/zarr/write/lease.ts', () => ({ CLAIM_LEASE_MS: 40 }))

const LAYOUTS: Readonly<Record<string, Layout>> = {
  'chunks that both share': { version: 3, chunks: [4, 2] },
  'versions that follow from the bytes': { version: 3, chunks: [4, 2], isDigest: true },
  'chunks of one row': { version: 3, chunks: [1, 3] },
  'shards that both share': { version: 3, chunks: [2, 3], shards: [4, 3] },
  'version 2': { version: 2, chunks: [4, 3] },
}
const FAULTS = {
  'stopped for longer than the lease': 'stop',
  'refused by its store': 'error',
  'without the answers to its requests': 'lost',
  'with requests that arrive late': 'late',
  killed: 'crash',
} as const

describe.each(Object.keys(LAYOUTS))('of processes that append, with %s', (name) => {
  test.each(Object.keys(FAULTS))('a process that is %s at any operation loses no row of the others', async (kind) => {
    const fault = FAULTS[kind as keyof typeof FAULTS]
    for (const counts of [
      [2, 2, 2],
      [5, 1, 6],
    ] as const) {
      let count = 0
      for (let isOver = false; !isOver; count += 10) {
        const trials = Array.from({ length: 10 }, (_, i) => tryAppend({ layout: LAYOUTS[name]!, at: count + i, fault, counts }))
        isOver = (await Promise.all(trials)).includes(false)
      }
      expect(count).toBeGreaterThan(10)
    }
  })
})

test('processes that append to one array at the same time lose nothing', async () => {
  const store = await prepared({ version: 3, chunks: [4, 2] })
  const acknowledged: number[] = []
  const one = async (who: number): Promise<void> => {
    const array = await writable(store)
    for (let i = 0; i < 5; i++) {
      const value = 100 + 10 * who + i
      await array.append(0, rows(value, 1 + (i % 2)))
      for (let count = 0; count < 1 + (i % 2); count++) acknowledged.push(value)
    }
  }
  await Promise.all([0, 1, 2, 3].map(one))
  const read = await writable(store)
  const heads = [...(await read.toTensor()).data].filter((_, i) => i % 3 === 0).slice(5)
  expect(heads.sort()).toEqual(acknowledged.sort())
  expect((await store.list('a.zarr/x/')).filter((key) => key.endsWith(CLAIM_NAME))).toEqual([])
})

test('a process that appends for longer than the lease keeps its claim', async () => {
  const inner = await prepared({ version: 3, chunks: [1, 3] })
  const slow = new FaultStore(inner, {
    faults: ({ kind, key }) => (kind === 'publish' && key.includes('/c/') ? { kind: 'delay', ms: 150 } : undefined),
  })
  const [a, b] = [await writable(slow), await writable(inner)]
  const first = a.append(0, rows(2, 1))
  await new Promise((resolve) => setTimeout(resolve, 20))
  await Promise.all([first, b.append(0, rows(3, 1))])
  expect(await b.get([[5, 6], 0])).toMatchObject({ data: Int16Array.of(2, 3) })
})

test('resizing and appending exclude each other', async () => {
  const store = await prepared({ version: 3, chunks: [4, 2] })
  const [a, b] = [await writable(store), await writable(store)]
  await Promise.all([a.append(0, rows(2, 3)), b.resize([5, 3]), a.append(0, rows(4, 2)), b.resize({ 1: 3 })])
  const read = await writable(store)
  const { shape, data } = await read.toTensor()
  expect([...data]).toHaveLength(shape[0]! * 3)
  expect([...data].filter((value) => value === -1)).toEqual([])
})

test('waiting for another process ends with the reason of the signal', async () => {
  const inner = await prepared({ version: 3, chunks: [4, 2] })
  let go: () => void = () => undefined
  const gate = new Promise<void>((resolve) => {
    go = resolve
  })
  const held = new FaultStore(inner, {
    faults: async ({ kind, key }) => {
      if (kind === 'publish' && key.includes('/c/')) await gate
      return undefined
    },
  })
  const [a, b] = [await writable(held), await writable(inner)]
  const first = a.append(0, rows(2, 1))
  await new Promise((resolve) => setTimeout(resolve, 20))
  const [controller, reason] = [newController(), { stop: true }]
  setTimeout(() => controller.abort(reason), 60)
  await expect(b.append(0, rows(3, 1), { signal: controller.signal })).rejects.toBe(reason)
  go()
  await first
  expect((await writable(inner)).shape).toEqual([6, 3])
})

test('a store without conditional writes refuses to append and to resize', async () => {
  const store = await prepared({ version: 3, chunks: [4, 2] })
  const plain: Store = new Proxy(store, {
    get: (target, name) => {
      if (name === 'conditionalWrites') return undefined
      const member = target[name as keyof MemoryStore] as unknown
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
  const x = await writable(plain)
  const refused = { tag: 'UnsupportedError', message: expect.stringContaining('another writer could do so unnoticed') }
  await expect(x.append(0, rows(2, 1))).rejects.toMatchObject(refused)
  await expect(x.resize([9, 3])).rejects.toMatchObject(refused)
  expect([x.shape, (await writable(store)).shape]).toEqual([[5, 3], [5, 3]]) // biome-ignore format: one line
})

test('where claims cannot be removed on condition, the array goes with them', async () => {
  const store = await prepared({ version: 3, chunks: [4, 2] })
  store.conditionalWrites = async () => ({ replace: true, remove: false })
  const x = await writable(store)
  await x.append(0, rows(2, 1))
  await x.append(0, rows(3, 1))
  expect(await (await writable(store)).get([[5, 6], 0])).toMatchObject({ data: Int16Array.of(2, 3) })
  const group = await openZarr({ store, path: 'a.zarr' }, { kind: 'group', mode: 'r+' })
  await group.delete('x')
  expect(await store.list('a.zarr/')).toEqual(['a.zarr/zarr.json'])
})

test('values that do not fit are refused before anything is written', async () => {
  const store = new MemoryStore()
  const group = await createZarr({ store, path: 'a.zarr' })
  const x = await group.createArray('x', { dtype: 'int16', shape: [2, 3], chunks: [2, 3] })
  const before = await store.list('a.zarr/')
  const log = new FaultStore(store)
  const logged = await writable(log)
  log.log.length = 0
  await expect(logged.append(0, [1])).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
  expect(log.log.filter((line) => /^(put|publish|delete)/.test(line))).toEqual([])
  expect(await store.list('a.zarr/')).toEqual(before)
  expect(x.shape).toEqual([2, 3])
})
