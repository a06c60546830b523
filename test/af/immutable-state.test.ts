import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { ArrayFile } from '../../src/af/file.ts'
import { encodeFooterFile } from '../../src/af/format/encode.ts'
import { encodeFooter6 } from '../../src/af/format/encode-v6.ts'
import type { Footer } from '../../src/af/format/footer.ts'
import { readFooter6 } from '../../src/af/format/footer-v6.ts'
import { splitFile } from '../../src/af/format/stats-file.ts'
import type { ImportOptions } from '../../src/copy/import-arrays.ts'
import { importContainer } from '../../src/copy/import-container.ts'
import { joinBytes } from '../../src/core/bytes.ts'
import { create, MemoryStore, open, writeImmutable } from '../../src/runtime/index.ts'
import type { Store } from '../../src/runtime/store.ts'
import { BlobStore } from '../../src/store/blob.ts'
import { readWhole } from '../../src/store/whole.ts'
import { FaultStore } from '../../src/testing/index.ts'

/** Files by crate 0.15 of array-format. */
const FOLDER = fileURLToPath(new URL('../fixtures/af6/', import.meta.url))

/** Puts a file of version 6 with a float64 array of 4 elements there. */
async function sealAt(store: Store, path: string, values: readonly number[] | undefined, overwrite = false): Promise<void> {
  const file = await create({ store: new MemoryStore(), path: 'a.af' })
  const x = file.createArray('x', { dtype: 'float64', shape: [4] })
  if (values !== undefined) await x.set(null, values)
  await file.flush()
  await writeImmutable(file, { store, path }, { overwrite })
}

describe('a copy of an open container', () => {
  const CHANGES: Record<string, (file: ArrayFile) => Promise<void>> = {
    'elements that are set': (file) => file.array('x', 'int32').fill(-1),
    'elements that are set and flushed': async (file) => {
      await file.array('x', 'int32').fill(-1)
      await file.flush()
    },
    'an array that grows': (file) => file.array('x', 'int32').append(1, new Int32Array(64 * 16).fill(-1)),
    'an array that grows and is flushed': async (file) => {
      await file.array('x', 'int32').append(1, new Int32Array(64 * 16).fill(-1))
      await file.flush()
    },
    'an attribute that is set': async (file) => void file.array('x').attrs.set('k', 2),
    'an array that is deleted and flushed': async (file) => {
      file.delete('x')
      await file.flush()
    },
  }

  test.each(Object.keys(CHANGES))('holds the state at its start, although meanwhile there is %s', async (name) => {
    for (const wait of [0, 1, 5]) {
      const store = new MemoryStore()
      const file = await create({ store, path: 'a.af' }, { blockBytes: 4096 })
      const x = file.createArray('x', { dtype: 'int32', shape: [64, 64], chunks: [16, 16] })
      const values = Int32Array.from({ length: 4096 }, (_, i) => i + 1)
      await x.set(null, values)
      x.attrs.set('k', 1)
      await file.flush()
      let calls = 0
      let change: Promise<void> | undefined
      const onProgress = (): void => {
        if (calls++ === wait) change = CHANGES[name]!(file)
      }
      await writeImmutable(file, { store, path: 's.af' }, { codec: 'zstd', blockBytes: 4096, onProgress })
      await change
      await using sealed = await open({ store, path: 's.af' })
      const copy = sealed.array('x', 'int32')
      expect((await copy.get(null)).data).toEqual(values)
      expect([await copy.min(), await copy.max(), copy.attrs.get('k')]).toEqual([1, 4096, 1])
      expect((await sealed.verify({ deep: true })).findings).toEqual([])
    }
  })
})

describe('a refreshed handle', () => {
  test('answers of the new file of version 6, not by the statistics of the old one', async () => {
    const store = new MemoryStore()
    await sealAt(store, 's.af', [5, 6, 7, 8])
    await using file = await open({ store, path: 's.af' })
    expect(await file.array('x').min()).toBe(5)
    await sealAt(store, 's.af', undefined, true)
    await file.refresh()
    expect([await file.array('x').min(), await file.array('x').max()]).toEqual([0, 0])
  })

  test('answers of the container that took the place of a file of version 6, also after a flush', async () => {
    const store = new MemoryStore()
    await sealAt(store, 's.af', [5, 6, 7, 8])
    await using file = await open({ store, path: 's.af' })
    const x = file.array('x', 'float64')
    expect([await x.min(), (await file.stats('x')).min]).toEqual([5, 5])
    await using layered = await create({ store, path: 's.af' }, { overwrite: true })
    await layered.createArray('x', { dtype: 'float64', shape: [4] }).fill(2)
    await layered.flush()
    await file.refresh()
    expect([await x.min(), await x.max(), (await file.stats('x')).min]).toEqual([2, 2, 2])
    await x.set([0], -3)
    expect(await x.min()).toBe(-3)
    await file.flush()
    expect([await x.min(), (await file.stats('x')).min]).toEqual([-3, -3])
    expect(file.warnings()).toEqual([])
    // The statistics of the new state are stored, and are those that other programs find.
    expect(await store.stat('s.stats')).toBeDefined()
    await using other = await open({ store, path: 's.af' })
    expect(await other.stats('x')).toMatchObject({ min: -3, max: 2 })
  })

  test('answers of the file of version 6 that took the place of a container', async () => {
    const store = new MemoryStore()
    await using layered = await create({ store, path: 's.af' })
    await layered.createArray('x', { dtype: 'float64', shape: [4] }).fill(2)
    await layered.flush()
    await using file = await open({ store, path: 's.af' })
    expect([await file.array('x').max(), (await file.stats('x')).max]).toEqual([2, 2])
    await sealAt(store, 't.af', [5, 6, 7, 8])
    await store.put('s.af', (await readWhole(store, 't.af'))!.bytes)
    await file.refresh()
    expect([await file.array('x').max(), (await file.stats('x')).max]).toEqual([8, 8])
  })
})

/** A server that neither lists files nor knows versions. */
const bare = (store: MemoryStore): Store => ({
  describe: (key) => store.describe(key),
  identify: () => undefined,
  stat: async (key) => {
    const info = await store.stat(key)
    return info && { ...info, etag: 'W/"1"' }
  },
  getRange: (key, offset, length) => store.getRange(key, offset, length),
})

test('a refresh from a server without versions takes the chunks from where the new footer has them', async () => {
  const store = new MemoryStore()
  for (const [i, order] of [
    [0, 1],
    [1, 0],
  ].entries()) {
    // Both files have one size, and the elements of the first chunk of one are where those of the second of
    // the other are.
    const source = await create({ store: new MemoryStore(), path: 'a.af' })
    for (const name of order.map((each) => `x${each}`)) {
      await source.createArray(name, { dtype: 'int32', shape: [4] }).fill(Number(name[1]) + 10)
    }
    await source.flush()
    await writeImmutable(source, { store, path: `${i}.af` }, { codec: 'none' })
  }
  const [first, second] = [(await readWhole(store, '0.af'))!.bytes, (await readWhole(store, '1.af'))!.bytes]
  expect(first.length).toBe(second.length)
  await store.put('s.af', first)
  await using file = await ArrayFile.open(bare(store), 's.af', { cacheBytes: 0 })
  const valuesOf = async (name: string) => [...(await file.array(name, 'int32').get(null)).data]
  const held = file.array('x0', 'int32')
  expect([await valuesOf('x0'), await valuesOf('x1')]).toEqual([Array(4).fill(10), Array(4).fill(11)])
  await store.put('s.af', second)
  await file.refresh()
  expect([await valuesOf('x0'), await valuesOf('x1')]).toEqual([Array(4).fill(10), Array(4).fill(11)])
  expect([...(await held.get(null)).data]).toEqual(Array(4).fill(10))
})

/** Changes the footer of a file of version 6. */
function withFooter(bytes: Uint8Array, change: (footer: Footer) => Footer): Uint8Array {
  const { payload, dataBytes } = splitFile(bytes, 'ARRF')
  return joinBytes([bytes.subarray(0, dataBytes), encodeFooterFile(change(readFooter6(payload, dataBytes)), encodeFooter6)])
}

test.each(['none', 'min', 'max'] as const)(
  'texts and binaries are read where the footer has %s of their bounds',
  async (kept) => {
    const whole = new Uint8Array(readFileSync(`${FOLDER}dtypes_none.af`))
    const bounds = { min: null, max: null }
    const bytes = withFooter(whole, (footer) => ({
      ...footer,
      arrays: footer.arrays.map((meta) =>
        meta.stats == null
          ? meta
          : { ...meta, stats: { ...meta.stats, ...bounds, ...(kept !== 'none' && { [kept]: meta.stats[kept] }) } },
      ),
    }))
    const store = new MemoryStore()
    await store.put('a.af', bytes)
    await store.put('b.af', whole)
    await using file = await open({ store, path: 'a.af' })
    await using expected = await open({ store, path: 'b.af' })
    expect(expected.arrays().filter((name) => ['string', 'binary'].includes(expected.array(name).dtype))).not.toEqual([])
    expect(await file.stats()).toEqual(await expected.stats())
  },
)

test('a file of version 6 that was opened as one file lacks no sidecars', async () => {
  const store = new BlobStore(new Blob([readFileSync(`${FOLDER}basic.af`)]), 'basic.af')
  await using file = await ArrayFile.open(store, 'basic.af')
  expect(file.warnings()).toEqual([])
})

describe('a copy that is aborted', () => {
  const aborted = async (write: (store: Store, options: ImportOptions) => Promise<unknown>): Promise<MemoryStore> => {
    const store = new MemoryStore()
    const file = await create({ store, path: 'a.af' })
    await file.createArray('x', { dtype: 'int32', shape: [8], chunks: [2] }).fill(1)
    await file.flush()
    const controller = new AbortController()
    const onProgress = ({ done, total }: { done: number; total: number }) => void (done === total && controller.abort())
    await expect(write(store, { signal: controller.signal, onProgress })).rejects.toThrow('aborted')
    return store
  }

  test.each([true, false])('in its last report of progress publishes nothing (footer version 6: %s)', async (immutable) => {
    const [a, z] = [(store: Store) => ({ store, path: 'a.af' }), (store: Store) => ({ store, path: 'z.af' })]
    for (const write of [
      (store: Store, options: ImportOptions) => importContainer(a(store), z(store), { ...options, immutable }),
      (store: Store, options: ImportOptions) => importContainer(a(store), z(store), { ...options, immutable, chunkBytes: 16 }),
    ]) {
      const store = await aborted(write)
      expect([...(await store.list(''))].filter((key) => key.startsWith('z'))).toEqual([])
    }
  })
})

test('a container takes no statistics over that a removed one left behind', async () => {
  const store = new MemoryStore()
  const old = await create({ store, path: 'z.af' })
  await old.createArray('x', { dtype: 'float64', shape: [4] }).fill(100)
  await old.flush()
  await store.delete('z.af')
  expect(await store.stat('z.stats')).toBeDefined()
  await sealAt(store, 'a.af', [5, 6, 7, 8])
  // Statistics cannot be stored, so that those of the removed container would stay.
  const full = new FaultStore(store, { faults: ({ kind, key }) => (kind === 'put' && key === 'z.stats' ? 'error' : undefined) })
  const { warnings } = await importContainer({ store: full, path: 'a.af' }, { store: full, path: 'z.af' })
  expect(warnings).toEqual([expect.stringContaining('statistics could not be stored')])
  expect(await store.stat('z.stats')).toBeUndefined()
})

describe('a copy by elements', () => {
  const chunks = { chunkBytes: 16 }

  /** A file of version 6 by a program that allows empty names. */
  async function renamedAs(rename: (footer: Footer) => Footer): Promise<MemoryStore> {
    const store = new MemoryStore()
    const file = await create({ store, path: 'a.af' })
    const x = file.createArray('x', { dtype: 'float64', shape: [4], fillValue: -0 })
    x.attrs.set('key', 1)
    await x.set([0], 5)
    await x.set([1], 6)
    await file.flush()
    await writeImmutable(file, { store, path: 'sealed.af' })
    // Without the tables of this package, whose checksum of the footer would not match.
    const bytes = withFooter((await readWhole(store, 'sealed.af'))!.bytes, (footer) => rename(withoutMarks(footer)))
    await store.put('b.af', bytes)
    return store
  }
  const withoutMarks = (footer: Footer): Footer => ({ ...footer, blocks: footer.blocks.slice(0, 1) })
  const copied = (store: MemoryStore, options: ImportOptions) =>
    importContainer({ store, path: 'b.af' }, { store, path: 'z.af' }, options)

  test('names the file and the array that has no name, and says what to do', async () => {
    const store = await renamedAs((footer) => ({
      ...footer,
      arrays: footer.arrays.map((meta) => ({ ...meta, name: '', stats: null })),
    }))
    await expect(copied(store, chunks)).rejects.toMatchObject({
      tag: 'UnsupportedError',
      message: expect.stringMatching(/memory:b\.af: an array of shape .*''.*without options of chunks/),
    })
    expect((await copied(store, {})).arrays).toEqual([''])
  })

  test('names the file, the array and its attribute that has no name, and says what to do', async () => {
    const store = await renamedAs((footer) => ({
      ...footer,
      attributeKeys: footer.attributeKeys.map((key) => (key === 'key' ? '' : key)),
    }))
    await expect(copied(store, chunks)).rejects.toMatchObject({
      tag: 'UnsupportedError',
      message: expect.stringMatching(/memory:b\.af: array 'x': an attribute has no name: ''.*without options of chunks/),
    })
    expect((await copied(store, {})).arrays).toEqual(['x'])
  })

  test.each([true, false])('keeps the sign of a fill value of zero (footer version 6: %s)', async (immutable) => {
    const store = await renamedAs((footer) => footer)
    await copied(store, { ...chunks, immutable })
    await using file = await open({ store, path: 'z.af' })
    expect(file.array('x').fillValue).toBe(-0)
    expect([...(await file.array('x', 'float64').get(null)).data]).toEqual([5, 6, -0, -0])
  })
})
