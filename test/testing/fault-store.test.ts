import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ArrayFile } from '../../src/af/file.ts'
import { FileStore } from '../../src/store/fs/file.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import type { Store, WritableStore } from '../../src/store/store.ts'
import { type Fault, type FaultKind, FaultStore, seededFaults, storeConformance } from '../../src/testing/index.ts'
import { testAll } from '../support/conformance.ts'

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)

/** A store with `x` of bytes 1 2 3 4 that replaced 9 9 9 9, and its wrapper. */
async function prepared(): Promise<{ memory: MemoryStore; store: FaultStore<MemoryStore> }> {
  const memory = new MemoryStore()
  const store = new FaultStore(memory, { keepReplaced: true })
  await store.put('x', bytes(9, 9, 9, 9))
  await store.put('x', bytes(1, 2, 3, 4))
  store.log.length = 0
  return { memory, store }
}

const failure = expect.objectContaining({ tag: 'StoreError', message: expect.stringContaining('fault at') })

describe('a store without faults is the store it wraps', () => {
  testAll(storeConformance(async () => ({ store: new FaultStore(new MemoryStore()), prefix: 'data/' })))

  test('can do what the store it wraps can', () => {
    const readOnly: Store = { describe: String, stat: async () => undefined, getRange: async () => undefined }
    const able = (store: Partial<WritableStore>) =>
      (['list', 'put', 'delete', 'stage', 'getTail', 'getRanges', 'get'] as const).filter((name) => store[name])
    expect(able(new FaultStore(readOnly))).toEqual([])
    expect(able(new FaultStore(new MemoryStore()))).toEqual(able(new MemoryStore()))
    expect(able(new FaultStore({ ...readOnly, getTail: async () => undefined }))).toEqual(['getTail'])
    // Workers would read past it.
    expect(new FaultStore(new FileStore()).files?.localPath).toBeUndefined()
  })
})

describe('a fault of a write', () => {
  test.each<[Fault, number]>([
    ['error', 4],
    ['lost', 1],
    [{ kind: 'crash', done: true }, 1],
    ['crash', 4],
    ['short', 4],
  ])('%j: told that it failed, the object has %i bytes', async (fault, size) => {
    const { memory, store } = await prepared()
    store.faultAfter(0, fault)
    await expect(store.put('x', bytes(5))).rejects.toMatchObject({ tag: 'StoreError' })
    expect((await memory.stat('x'))!.size).toBe(size)
  })

  test('late: carried out before the n-th further operation, with the bytes given', async () => {
    const { memory, store } = await prepared()
    store.faultAfter(0, { kind: 'late', after: 2 })
    const given = bytes(5, 6)
    await expect(store.put('x', given)).rejects.toThrow('fault at put x')
    given.fill(0)
    expect((await store.stat('x'))!.size).toBe(4)
    expect((await store.stat('x'))!.size).toBe(2)
    expect(await memory.getRange('x', 0, 2)).toEqual(bytes(5, 6))
    expect(store.log).toEqual(['put x: late', 'stat x', 'stat x', 'put x: carried out late'])
  })

  test('late: or when asked, also after a crash; that it is refused then, nobody hears', async () => {
    const { memory, store } = await prepared()
    const stage = await store.stage('y')
    store.faultAfter(0, { kind: 'late', after: 100 })
    await expect(stage.publish('x', bytes(7), { ifAbsent: true })).rejects.toThrow('fault at publish x')
    store.faultAfter(0, { kind: 'late', after: 100 })
    await expect(store.delete('x')).rejects.toThrow('fault at delete x')
    store.crash()
    expect([store.waiting, (await memory.stat('x'))!.size]).toEqual([2, 4])
    await store.runLate()
    expect([store.waiting, await memory.stat('x')]).toEqual([0, undefined])
  })

  test('of publishing leaves the stage as it was, whatever happened to the object', async () => {
    for (const fault of ['error', 'lost', 'late'] as const) {
      const folder = await mkdtemp(join(tmpdir(), 'hyperslab-faults-'))
      try {
        const store = new FaultStore(new FileStore())
        const [x, y] = [join(folder, 'x'), join(folder, 'y')]
        const stage = await store.stage(x)
        await stage.append(bytes(1))
        store.faultAfter(0, fault)
        await expect(stage.publish(x, bytes(2), { ifAbsent: true }), fault).rejects.toEqual(failure)
        await stage.append(bytes(3))
        await store.runLate()
        await stage.publish(y, bytes(4), { ifAbsent: true })
        expect([fault, await store.getRange(x, 0, 2)]).toEqual([fault, fault === 'error' ? undefined : bytes(1, 2)])
        expect(await store.getRange(y, 0, 3)).toEqual(bytes(1, 3, 4))
        await stage.discard()
        expect([(await readdir(folder)).sort(), store.openStages]).toEqual([fault === 'error' ? ['y'] : ['x', 'y'], 0])
      } finally {
        await rm(folder, { recursive: true })
      }
    }
  })
})

describe('a fault of a read', () => {
  test.each<[FaultKind, Uint8Array]>([
    ['short', bytes(1, 2)],
    ['mixed', bytes(1, 2, 9, 9)],
    ['delay', bytes(1, 2, 3, 4)],
  ])('%s', async (kind, expected) => {
    const { store } = await prepared()
    store.faultAfter(1, kind)
    expect(await store.getRange('x', 0, 4)).toEqual(bytes(1, 2, 3, 4))
    expect(await store.getRange('x', 0, 4)).toEqual(expected)
    expect(await store.getRange('x', 0, 4)).toEqual(bytes(1, 2, 3, 4))
  })

  test('tears the pieces of several ranges and the tail', async () => {
    const { memory } = await prepared()
    const able = Object.assign(memory, {
      getTail: async () => ({ ...(await memory.stat('x'))!, bytes: bytes(3, 4) }),
      getRanges: async () => [bytes(1, 2, 3, 4), bytes(2, 3)],
    })
    const store = new FaultStore(able, { faults: ({ kind }) => (kind === 'tail' ? 'short' : 'mixed'), keepReplaced: true })
    const ranges = [
      { offset: 0, length: 4 },
      { offset: 1, length: 2 },
    ]
    expect((await store.getTail('x', 2))!.bytes).toEqual(bytes(3))
    expect(await store.getRanges('x', ranges)).toEqual([bytes(1, 2, 9, 9), bytes(2, 9)])
  })

  test('mixed, where nothing is kept, is refused', async () => {
    const store = new FaultStore(new MemoryStore())
    store.faultAfter(0, 'mixed')
    await expect(store.getRange('x', 0, 1)).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
  })

  test('lost and late ones are errors', async () => {
    const { store } = await prepared()
    for (const kind of ['lost', 'late'] as const) {
      store.faultAfter(0, kind)
      await expect(store.stat('x')).rejects.toEqual(failure)
    }
    expect([store.waiting, store.log]).toEqual([0, ['stat x: error', 'stat x: error']])
  })
})

test('after a crash nothing happens any more, also of what was under way, and stages stay behind', async () => {
  const { memory, store } = await prepared()
  const stage = await store.stage('x')
  store.faultAfter(0, { kind: 'delay', ms: 5 })
  const underWay = store.put('x', bytes())
  store.faultAfter(0, 'crash')
  await expect(stage.append(bytes(1))).rejects.toThrow('crashed before append x')
  await expect(underWay).rejects.toThrow('crashed before put x')
  for (const work of [store.stat('x'), store.list(''), stage.publish('x', bytes(), { ifAbsent: false })])
    await expect(work).rejects.toThrow('crashed')
  await stage.discard()
  expect([store.crashed, store.openStages, (await memory.stat('x'))!.size]).toEqual([true, 1, 4])
})

test('a script may hold operations up, and give its own errors', async () => {
  let go = (): void => undefined
  const held = new Promise<undefined>((resolve) => {
    go = () => resolve(undefined)
  })
  const error = new Error('no space')
  const faults = ({ number }: { number: number }) => (number === 0 ? held : ({ kind: 'error', error } as const))
  const store = new FaultStore(new MemoryStore(), { faults })
  const first = store.put('x', bytes(1))
  await expect(store.put('y', bytes(1))).rejects.toBe(error)
  expect(await Promise.race([first, 'held'])).toBe('held')
  go()
  await first
})

test('a seed gives the same faults again, of the kinds and about as often as wanted', async () => {
  const run = async (seed: number, kinds: FaultKind[]) => {
    const store = new FaultStore(new MemoryStore(), { faults: seededFaults(seed, { rate: 0.3, kinds }), keepReplaced: true })
    for (let i = 0; i < 300; i++) {
      await store.put(`x${i % 3}`, bytes(i)).catch(() => undefined)
      await store.getRange(`x${i % 3}`, 0, 1).catch(() => undefined)
    }
    return store.log.filter((entry) => !entry.includes('carried out'))
  }
  const all = await run(1, ['error', 'lost', 'late', 'short', 'mixed'])
  expect(await run(1, ['error', 'lost', 'late', 'short', 'mixed'])).toEqual(all)
  expect(await run(2, ['error', 'lost', 'late', 'short', 'mixed'])).not.toEqual(all)
  const count = (kind: string) => all.filter((entry) => entry.endsWith(`: ${kind}`)).length
  expect(all.filter((entry) => entry.includes(':')).length / all.length).toBeCloseTo(0.3, 1)
  for (const kind of ['error', 'lost', 'late', 'short', 'mixed']) expect(count(kind), kind).toBeGreaterThan(10)
  // Reads cannot be lost: they have no fault then.
  expect((await run(1, ['lost'])).filter((entry) => entry.startsWith('get') && entry.includes(':'))).toEqual([])
})

test('misspelt options, kinds and details are refused', async () => {
  const refused = expect.objectContaining({ tag: 'InvalidArgumentError' })
  const store = new FaultStore(new MemoryStore(), { faults: () => 'eror' as never })
  await expect(store.stat('x')).rejects.toEqual(refused)
  expect(() => store.faultAfter(0, { kind: 'delay', milliseconds: 3 } as never)).toThrow(refused)
  expect(() => new FaultStore(new MemoryStore(), { fault: () => undefined } as never)).toThrow(refused)
  expect(() => seededFaults(1, { rat: 1 } as never)).toThrow(refused)
  expect(() => seededFaults(1, { kinds: ['los'] as never })).toThrow(refused)
  expect(() => seededFaults(1, { rate: 10 })).toThrow(refused)
})

// Example of a test of an application, which README shows.
test.each([1, 2, 3, 4, 5])('a container written through a store that fails holds what was flushed, seed %i', async (seed) => {
  const memory = new MemoryStore()
  await (await ArrayFile.create(memory, 'a.af')).close()
  const store = new FaultStore(memory, { faults: seededFaults(seed, { kinds: ['delay', 'error'], rate: 0.3, maxDelay: 1 }) })
  const untilDone = async <T>(work: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await work()
      } catch (error) {
        expect(error).toEqual(failure)
      }
    }
  }
  const file = await untilDone(() => ArrayFile.open(store, 'a.af'))
  const x = file.createArray('x', { dtype: 'uint8', shape: [8], chunks: [2] })
  for (let i = 0; i < 8; i++) {
    await untilDone(() => x.set([i], i + 1))
    await untilDone(() => file.flush())
  }
  await file.close()
  expect(store.log.filter((entry) => entry.endsWith(': error')).length).toBeGreaterThan(3)
  const reader = await ArrayFile.open(memory, 'a.af')
  expect((await reader.array('x', 'uint8').get()).data).toEqual(bytes(1, 2, 3, 4, 5, 6, 7, 8))
})
