import { describe, expect, test } from 'vitest'
import { ArrayFile } from '../../src/af/file.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { FaultStore } from '../../src/testing/index.ts'

const KEY = 'a.af'
const SHAPE = [4, 4]
const options = { codec: 'none', blockBytes: 8 }

/** Everything a reader sees. */
async function contents(store: MemoryStore): Promise<Record<string, number[]>> {
  const file = await ArrayFile.open(store, KEY)
  const found: Record<string, number[]> = {}
  for (const name of file.arrays()) found[name] = [...((await file.array(name).get(null)) as { data: Iterable<number> }).data]
  return found
}

/** Expects that the statistics of each array agree with its data. */
async function expectTrueStats(store: MemoryStore): Promise<void> {
  const file = await ArrayFile.open(store, KEY)
  for (const [name, values] of Object.entries(await contents(store))) {
    expect(await file.stats(name)).toEqual({
      min: Math.min(...values),
      max: Math.max(...values),
      nullCount: 0,
      rowCount: values.length,
    })
  }
}

/** A container with two layers and pending changes: an overwritten chunk, a new array, a deleted one. */
async function prepare(): Promise<{
  memory: MemoryStore
  store: FaultStore
  file: ArrayFile
  pending: Record<string, number[]>
}> {
  const memory = new MemoryStore()
  const store = new FaultStore(memory)
  const file = await ArrayFile.create(store, KEY, options)
  await file.createArray('x', { dtype: 'uint8', shape: SHAPE, chunks: [2, 2] }).set(
    null,
    Array.from({ length: 16 }, (_, i) => i),
  )
  await file.createArray('old', { dtype: 'uint8', shape: [2] }).set(null, 3)
  await file.flush()
  await file.array('x').set([0], 50)
  await file.array('x').set([0], 60)
  await file.createArray('new', { dtype: 'uint8', shape: [3] }).set(null, 7)
  file.delete('old')
  const x = Array.from({ length: 16 }, (_, i) => (i < 4 ? 60 : i))
  return { memory, store, file, pending: { x, new: [7, 7, 7] } }
}

const before = { x: Array.from({ length: 16 }, (_, i) => i), old: [3, 3] }

/** Runs `work` with a fault at its first, second, … operation until it gets through without meeting one. */
async function atEveryOperation(
  work: (file: ArrayFile) => Promise<unknown>,
  check: (state: Awaited<ReturnType<typeof prepare>>, failedAt: string) => Promise<void>,
): Promise<number> {
  for (let count = 0; ; count++) {
    const state = await prepare()
    state.store.faultAfter(count)
    const error = await work(state.file).then(
      () => undefined,
      (reason: Error) => reason,
    )
    if (error === undefined) return count
    expect(error.message).toContain('fault at')
    await check(state, error.message)
    await state.file.close()
    expect(state.store.openStages).toBe(0)
  }
}

describe('a fault at any operation', () => {
  test('a fault in a flush leaves the old state or the new one, and a second flush writes everything', async () => {
    const operations = await atEveryOperation(
      (file) => file.flush(),
      async ({ memory, file, pending }, at) => {
        expect([before, pending], at).toContainEqual(await contents(memory))
        await expectTrueStats(memory)
        await file.flush()
        expect(await contents(memory), at).toEqual(pending)
        await expectTrueStats(memory)
        expect((await ArrayFile.open(memory, KEY)).layers().length).toBeLessThanOrEqual(4)
      },
    )
    expect(operations).toBeGreaterThan(4)
  })

  test('a fault in a compaction loses nothing, and a second compaction leaves one file', async () => {
    const operations = await atEveryOperation(
      (file) => file.compact(),
      async ({ memory, file, pending }, at) => {
        expect([before, pending], at).toContainEqual(await contents(memory))
        await file.compact()
        expect(await contents(memory), at).toEqual(pending)
        expect((await memory.list('')).sort()).toEqual(['a.af', 'a.stats'])
        await expectTrueStats(memory)
      },
    )
    expect(operations).toBeGreaterThan(10)
  })

  test('of set is an error, and setting again puts it right', async () => {
    const values = Array.from({ length: 16 }, (_, i) => 100 + i)
    await atEveryOperation(
      (file) => file.array('x').set(null, values),
      async ({ memory, file, pending }, at) => {
        await file.array('x').set(null, values)
        await file.flush()
        expect(await contents(memory), at).toEqual({ ...pending, x: values })
      },
    )
  })

  test('of create leaves nothing', async () => {
    for (let count = 0; ; count++) {
      const memory = new MemoryStore()
      const store = new FaultStore(memory)
      store.faultAfter(count)
      const created = await ArrayFile.create(store, KEY, options).catch(() => undefined)
      expect(store.openStages).toBe(0)
      if (created !== undefined) break
      // Either nothing, or an empty container that is fine.
      const keys = await memory.list('')
      expect([[], [KEY]]).toContainEqual(keys)
      if (keys.length > 0) expect(await contents(memory)).toEqual({})
    }
  })
})
