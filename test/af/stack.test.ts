import { describe, expect, test } from 'vitest'
import { ArrayFile } from '../../src/af/file.ts'
import { encodeFooterFile } from '../../src/af/format/encode.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { readTail, type Store } from '../../src/store/store.ts'
import { FaultStore } from '../../src/testing/index.ts'
import { createWithBase, footerOf, metaOf } from '../support/containers.ts'

/** Two layers above the base: all elements 1, then the second 2. */
async function written(store: MemoryStore): Promise<ArrayFile> {
  const file = await createWithBase({ store, path: 'a.af' })
  await file.createArray('x', { dtype: 'uint8', shape: [2] }).set([], 1)
  await file.flush()
  await file.array('x').set([1], 2)
  await file.flush()
  return file
}

const valuesOf = async (file: ArrayFile): Promise<unknown> => (await file.array('x', 'uint8').get()).data

/** A view of a store on which something happens right before its `nth` operation. */
function interrupted(store: MemoryStore, nth: number, work: () => Promise<void>): FaultStore {
  let left = nth
  const step = async (): Promise<void> => {
    if (left-- === 0) await work()
  }
  const view = new FaultStore(store)
  const { stat, list, getRange } = store
  return Object.assign(view, {
    stat: async (key: string) => {
      await step()
      return stat.call(store, key)
    },
    list: async (prefix: string) => {
      await step()
      return list.call(store, prefix)
    },
    getRange: async (...args: Parameters<typeof getRange>) => {
      await step()
      return getRange.apply(store, args)
    },
  })
}

test.each(Array.from({ length: 10 }, (_, nth) => nth))(
  'compacted by another before operation %i of opening: all of it or a conflict',
  async (nth) => {
    const store = new MemoryStore()
    const writer = await written(store)
    const view = interrupted(store, nth, () => writer.compact())
    const opened = await ArrayFile.open(view, 'a.af').catch((error: unknown) => error)
    if (!(opened instanceof ArrayFile)) expect(opened).toMatchObject({ tag: 'ConflictError' })
    else {
      const values = await valuesOf(opened).catch((error: unknown) => error)
      // A base that was opened before it was replaced is refused, and never read without the layers above it.
      if (values instanceof Error) expect(values).toMatchObject({ tag: expect.stringMatching(/ConflictError|NotFoundError/) })
      else expect(values).toEqual(Uint8Array.of(1, 2))
    }
  },
)

describe.each([
  ['fits into what is read of its end', 0, []],
  ['is larger than what is read of its end', 100_000, ['get a.af']],
])('a place that cannot be listed, with a base whose footer %s', (_, more, rest) => {
  /** An array in the base, another one in a sidecar. */
  const prepare = async (): Promise<{ store: MemoryStore; writer: ArrayFile }> => {
    const store = new MemoryStore()
    const writer = await createWithBase({ store, path: 'a.af' })
    const x = writer.createArray('x', { dtype: 'uint8', shape: [2] })
    x.attrs.set('history', 'x'.repeat(more))
    await x.set([], 1)
    await writer.flush()
    await writer.compact()
    writer.createArray('y', { dtype: 'uint8', shape: [2] })
    await writer.flush()
    return { store, writer }
  }
  /** The store as one that answers with ends of files. */
  const viewOf = (store: MemoryStore, log: string[], before: (operation: string) => Promise<void>): Store => {
    const step = async <T>(operation: string, work: () => Promise<T>): Promise<T> => {
      await before(operation)
      log.push(operation)
      return work()
    }
    return {
      describe: String,
      stat: (key) => step(`stat ${key}`, () => store.stat(key)),
      getRange: (key, ...rest) => step(`get ${key}`, () => store.getRange(key, ...rest)),
      getTail: (key, length) => step(`tail ${key}`, () => readTail(store, key, length)),
    }
  }

  test('its end is read once, beside the first sidecar, and its version is confirmed after all of them', async () => {
    const { store } = await prepare()
    const log: string[] = []
    const opened = await ArrayFile.open(
      viewOf(store, log, async () => undefined),
      'a.af',
    )
    expect(opened.arrays()).toEqual(['x', 'y'])
    // The footer of the sidecar may be large, too.
    expect(log.filter((operation) => operation !== 'get a.1.af')).toEqual([
      'tail a.1.af',
      'tail a.af',
      ...rest,
      'tail a.2.af',
      'stat a.af',
    ])
    log.length = 0
    await ArrayFile.open(
      viewOf(store, log, async () => undefined),
      'a.af',
      { layer: 0 },
    )
    expect(log).toEqual(['tail a.af', ...rest])
  })

  test.each(['tail a.1.af', 'tail a.2.af', 'tail a.af', ...rest, 'stat a.af'])(
    'compacted by another before %s: nothing that was written before is missing',
    async (interrupted) => {
      const { store, writer } = await prepare()
      let done = false
      const before = async (operation: string): Promise<void> => {
        if (operation !== interrupted || done) return
        done = true
        await writer.compact()
      }
      const opened = await ArrayFile.open(viewOf(store, [], before), 'a.af')
      expect([done, opened.arrays()]).toEqual([true, ['x', 'y']])
      expect(await opened.array('x', 'uint8').get([0])).toBe(1)
    },
  )
})

/** A layer as other programs write it, which names no base: it defines `y`. */
const foreign = (number: number): Uint8Array =>
  encodeFooterFile(footerOf([metaOf('y', { kind: 'int8' }, [2])], { overlayIndex: number, baseFileHint: 'a.af' }))

test.each(Array.from({ length: 14 }, (_, nth) => nth))(
  'replaced by another before operation %i of opening: a layer of another program is never read over the new base',
  async (nth) => {
    const store = new MemoryStore()
    await (await written(store)).close()
    await store.put('a.3.af', foreign(3))
    const view = interrupted(store, nth, async () => {
      const file = await ArrayFile.create(store, 'a.af', { overwrite: true })
      await file.createArray('z', { dtype: 'uint8', shape: [2] }).set([], 1)
      await file.flush()
      await file.close()
    })
    const opened = await ArrayFile.open(view, 'a.af').catch((error: unknown) => error)
    if (!(opened instanceof ArrayFile)) expect(opened).toMatchObject({ tag: 'ConflictError' })
    else expect([['x', 'y'], ['z']]).toContainEqual(opened.arrays())
  },
)

test('refreshing reads what is new, and all when the base was replaced', async () => {
  const store = new MemoryStore()
  const writer = await written(store)
  const view = new FaultStore(store)
  const reader = await ArrayFile.open(view, 'a.af')
  view.log.length = 0
  await reader.refresh()
  expect(view.log).toEqual(['list a.', 'stat a.2.af', 'stat a.af'])
  await writer.array('x').set([0], 3)
  await writer.flush()
  view.log.length = 0
  await reader.refresh()
  expect(view.log).toEqual(['list a.', 'stat a.3.af', 'get a.3.af', 'stat a.2.af', 'stat a.af'])
  expect(await valuesOf(reader)).toEqual(Uint8Array.of(3, 2))
  await writer.compact()
  await reader.refresh()
  expect(reader.layers().length).toBe(1)
  expect(await valuesOf(reader)).toEqual(Uint8Array.of(3, 2))
})

test('a sidecar is no container: opened as one it is refused', async () => {
  const store = new MemoryStore()
  await (await written(store)).close()
  await store.put('b.af', (await store.getRange('a.2.af', 0, (await store.stat('a.2.af'))!.size))!)
  for (const [path, number] of [
    ['a.1.af', 1],
    ['b.af', 2],
  ] as const)
    await expect(ArrayFile.open(store, path)).rejects.toMatchObject({
      tag: 'FormatError',
      message: `memory:${path}: this is sidecar ${number} of 'a.af': open that`,
    })
})

test('where a layer is lost, warnings tell, and verify does', async () => {
  const store = new MemoryStore()
  await (await written(store)).close()
  await store.delete('a.1.af')
  await using file = await ArrayFile.open(store, 'a.af')
  expect(file.warnings()).toEqual(['memory:a.af: a sidecar is lost: see verify'])
  expect((await file.verify()).findings).toMatchObject([{ severity: 'warning' }])
})

test('a sidecar of a number beyond the limit is refused before those below it are looked at', async () => {
  const store = new MemoryStore()
  await (await written(store)).close()
  await store.put('a.4000000000.af', foreign(4_000_000_000))
  await expect(ArrayFile.open(store, 'a.af')).rejects.toMatchObject({
    tag: 'TooLargeError',
    details: { limit: 'limits.layers', actual: 4_000_000_000 },
  })
})
