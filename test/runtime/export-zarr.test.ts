import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { DiskArray } from '../../src/array/disk-array.ts'
import { exportZarr } from '../../src/copy/export-zarr.ts'
import type { ExportOptions } from '../../src/copy/zarr-target.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { openZarr } from '../../src/runtime/zarr.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import type { Store } from '../../src/store/store.ts'
import { type FaultScript, FaultStore } from '../../src/testing/index.ts'
import { byBudget } from '../support/budget.ts'
import { CountingSource } from '../support/counting-source.ts'

const [ROWS, COLUMNS] = [512, 2048]
const DATA = Float32Array.from({ length: ROWS * COLUMNS }, (_, i) => (i % 7 === 0 ? 0 : i))
const KiB = 1024

/** Rows, of which the target wants columns: with this bound each row would be read 16 times. */
const rows = () =>
  new CountingSource({ dtype: 'float32', shape: [ROWS, COLUMNS], data: DATA }, ChunkGrid.regular([ROWS, COLUMNS], [1, COLUMNS]))
const COLUMN_WISE: ExportOptions = { chunks: { y: 512, x: 16 }, maxBytes: 512 * KiB, codec: 'none' }

const exported = (source: CountingSource<'float32'>) => ({
  attributes: new Map([['title', 'numbers']]),
  arrays: [{ name: 'a', array: new DiskArray(source), dimensionNames: ['y', 'x'], attributes: new Map([['units', 'K']]) }],
})

const run = (source: CountingSource<'float32'>, store: Store, options: ExportOptions = COLUMN_WISE) =>
  exportZarr(exported(source), { store, path: 'out.zarr' }, options)

/** The keys of a store, with what is not told by the names of chunks left out. */
const keys = async (store: Store) => (await store.list!('')).filter((key) => !key.includes('/c/')).sort()

/** Whether elements are those of the source, bit for bit. */
const sameBytes = (found: unknown): boolean => {
  const { data } = found as { data: Float32Array }
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).equals(Buffer.from(DATA.buffer))
}

async function expectComplete(store: Store): Promise<void> {
  const group = await openZarr({ store, path: 'out.zarr' }, { kind: 'group' })
  const array = await group.array('a')
  expect([group.attrs.get('title'), array.attrs.get('units'), array.chunks.chunkShape]).toEqual(['numbers', 'K', [512, 16]])
  expect(sameBytes(await array.get())).toBe(true)
  expect(await keys(store)).toEqual(['out.zarr/a/zarr.json', 'out.zarr/zarr.json'])
}

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** A store that counts what is put into it. */
class PutStore extends MemoryStore {
  readonly puts: string[] = []

  override put(key: string, bytes: Uint8Array): Promise<void> {
    this.puts.push(key)
    return super.put(key, bytes)
  }
}

describe('a write that can be gone on with', () => {
  test('goes through an intermediate array, reads each chunk once, and leaves nothing of it', async () => {
    const [source, store] = [rows(), new PutStore()]
    expect(await run(source, store, { ...COLUMN_WISE, resume: 'one' })).toBe(true)
    await expectComplete(store)
    expect(store.puts.filter((key) => key.includes('.hyperslab-scratch/0/c.')).length).toBe(256)
    expect(source.reads.reduce((sum, [y]) => sum + y!.stop - y!.start, 0)).toBe(ROWS)
    expect(source.reads.every(([, x]) => x!.start === 0 && x!.stop === COLUMNS)).toBe(true)
  })

  test('goes on after the process ended at any operation, and writes no array twice', { timeout: 60_000 }, async () => {
    const whole = new PutStore()
    let operations = 0
    const counting: FaultScript = () => {
      operations++
      return undefined
    }
    await run(rows(), new FaultStore(whole, { faults: counting }), { ...COLUMN_WISE, resume: 'one' })
    // Points spread over all of it, and each of the last ones, where metadata appear.
    const step = Math.ceil(operations / byBudget({ quick: 6, full: 6, soak: 60 }))
    const points = Array.from({ length: operations }, (_, point) => point).flatMap((point) =>
      point > operations - 8 ? [true, false].map((done) => ({ point, done })) : point % step === 0 ? [{ point, done: true }] : [],
    )
    let ended = 0
    for (const { point, done } of points) {
      const store = new PutStore()
      const fault: FaultScript = ({ number }) => (number === point ? { kind: 'crash', done } : undefined)
      // The number of recorded positions depends on the clock, so that the write may end before that point.
      const end = await run(rows(), new FaultStore(store, { faults: fault }), { ...COLUMN_WISE, resume: 'one' }).catch(String)
      if (end !== true) ended++
      const isThere = (await store.stat('out.zarr/zarr.json')) !== undefined
      // Before the very end nothing opens.
      if (!isThere) await expect(openZarr({ store, path: 'out.zarr' })).rejects.toMatchObject({ tag: 'NotFoundError' })
      const source = rows()
      await run(source, store, { ...COLUMN_WISE, resume: 'one' })
      await expectComplete(store)
      if (isThere) expect(source.reads).toEqual([])
    }
    expect(ended).toBeGreaterThan(points.length / 2)
  })

  test('makes the levels of a pyramid that are not there yet, within its memory', { timeout: 60_000 }, async () => {
    const options = { chunks: { y: 64, x: 256 }, levels: 3, maxBytes: 512 * KiB, codec: 'none', resume: 'one' }
    const whole = new PutStore()
    let operations = 0
    const counting: FaultScript = () => {
      operations++
      return undefined
    }
    await run(rows(), new FaultStore(whole, { faults: counting }), options)
    const files = async (store: Store) =>
      Promise.all((await store.list!('')).sort().map(async (key) => [key, hashOf((await store.get!(key))!.bytes)] as const))
    const expected = await files(whole)
    const level = async (path: string) => (await openZarr({ store: whole, path: `out.zarr/${path}` }, { kind: 'array' })).get()
    expect(sameBytes(await level('0'))).toBe(true)
    expect((await level('2')) as object).toMatchObject({ shape: [ROWS / 4, COLUMNS / 4] })
    const goOn = async (store: Store): Promise<CountingSource<'float32'>> => {
      const source = rows()
      expect(await run(source, store, options)).toBe(true)
      expect(await files(store)).toEqual(expected)
      return source
    }
    for (let i = 1; i <= 4; i++) {
      const store = new PutStore()
      const point = Math.floor((operations * i) / 5)
      const fault: FaultScript = ({ number }) => (number === point ? { kind: 'crash', done: true } : undefined)
      await expect(run(rows(), new FaultStore(store, { faults: fault }), options)).rejects.toThrow()
      const { reads } = await goOn(store)
      const sizes = reads.map((box) => 4 * box.reduce((size, { start, stop }) => size * (stop - start), 1))
      expect(Math.max(...sizes)).toBeLessThanOrEqual(options.maxBytes)
    }
    // While the second level is made: the finest is there, and is not read again.
    const interrupted = new AbortController()
    const onProgress = ({ done, total }: { done: number; total: number }) => {
      if (done > 0.8 * total) interrupted.abort(new Error('enough'))
    }
    const store = new PutStore()
    await expect(run(rows(), store, { ...options, signal: interrupted.signal, onProgress })).rejects.toThrow('enough')
    expect((await goOn(store)).reads).toEqual([])
  })

  test('does nothing where all is there', async () => {
    const store = new PutStore()
    await run(rows(), store, { ...COLUMN_WISE, resume: 'one' })
    store.puts.length = 0
    const source = rows()
    expect(await run(source, store, { ...COLUMN_WISE, resume: 'one' })).toBe(false)
    expect([store.puts, source.reads]).toEqual([[], []])
    // Overwriting is asked for.
    expect(await run(rows(), store, { ...COLUMN_WISE, resume: 'one', overwrite: true })).toBe(true)
    await expectComplete(store)
  })

  test('writes what is not there yet, and no more', async () => {
    const store = new PutStore()
    const interrupted = new AbortController()
    const options = { ...COLUMN_WISE, resume: 'one', signal: interrupted.signal }
    // In the second pass.
    const onProgress = ({ done, total }: { done: number; total: number }) => {
      if (done > 0.8 * total) interrupted.abort(new Error('enough'))
    }
    await expect(run(rows(), store, { ...options, onProgress })).rejects.toThrow('enough')
    const before = store.puts.filter((key) => key.includes('/a/c/')).length
    store.puts.length = 0
    const source = rows()
    await run(source, store, { ...COLUMN_WISE, resume: 'one' })
    await expectComplete(store)
    expect([source.reads, store.puts.some((key) => key.includes('.hyperslab-scratch/0/c.'))]).toEqual([[], false])
    expect(store.puts.filter((key) => key.includes('/a/c/')).length).toBeLessThanOrEqual(COLUMNS / 16 - before + 16)
  })

  test('is refused where another one has begun, and begins anew with overwrite', async () => {
    for (const [change, source] of [
      [{ resume: 'two' }, rows()],
      [{ resume: 'one', codec: 'gzip' }, rows()],
      [{ resume: 'one', chunks: { y: 512, x: 8 } }, rows()],
      [{}, rows()],
    ] as const) {
      const store = new PutStore()
      const ended = AbortSignal.abort(new Error('enough'))
      await expect(run(rows(), store, { ...COLUMN_WISE, resume: 'one', signal: ended })).rejects.toThrow('enough')
      const error = { tag: 'AlreadyExistsError', message: expect.stringContaining('unfinished write, of another version') }
      await expect(run(source, store, { ...COLUMN_WISE, ...change })).rejects.toMatchObject(error)
      expect(await run(rows(), store, { ...COLUMN_WISE, ...change, overwrite: true })).toBe(true)
      const group = await openZarr({ store, path: 'out.zarr' }, { kind: 'group' })
      expect(sameBytes(await (await group.array('a')).get())).toBe(true)
    }
  })

  test('with another bound of memory goes on with whole arrays', async () => {
    const store = new PutStore()
    const interrupted = new AbortController()
    const onProgress = ({ done, total }: { done: number; total: number }) => {
      if (done > 0.6 * total) interrupted.abort(new Error('enough'))
    }
    const options = { ...COLUMN_WISE, resume: 'one' }
    await expect(run(rows(), store, { ...options, signal: interrupted.signal, onProgress })).rejects.toThrow('enough')
    await run(rows(), store, { ...options, maxBytes: 1024 * KiB })
    await expectComplete(store)
  })
})

test('a part of the intermediate array that is gone is an error, and no fill value', async () => {
  let isLost = true
  const store = new (class extends MemoryStore {
    override async put(key: string, bytes: Uint8Array): Promise<void> {
      // With the first chunk of the target.
      if (isLost && key.endsWith('/a/c/0/0'))
        for (const each of await this.list('out.zarr/.hyperslab-scratch/')) await this.delete(each)
      await super.put(key, bytes)
    }
  })()
  const error = { tag: 'ConflictError', message: expect.stringContaining('does another process write to the same target?') }
  await expect(run(rows(), store, { ...COLUMN_WISE, resume: 'one' })).rejects.toMatchObject(error)
  isLost = false
  // The first pass is done again.
  await run(rows(), store, { ...COLUMN_WISE, resume: 'one' })
  await expectComplete(store)
})

test('without a name what was written is removed after an error, the intermediate array too', async () => {
  const store = new PutStore()
  const interrupted = new AbortController()
  const onProgress = ({ done, total }: { done: number; total: number }) => {
    if (done > 0.4 * total) interrupted.abort(new Error('enough'))
  }
  await expect(run(rows(), store, { ...COLUMN_WISE, signal: interrupted.signal, onProgress })).rejects.toThrow('enough')
  expect(store.puts.some((key) => key.includes('.hyperslab-scratch/'))).toBe(true)
  expect(await store.list('')).toEqual([])
})

test('on files no empty folder of the intermediate array stays', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperslab-'))
  try {
    await exportZarr(exported(rows()), join(folder, 'out.zarr'), COLUMN_WISE)
    expect(readdirSync(join(folder, 'out.zarr')).sort()).toEqual(['a', 'zarr.json'])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('chunks and objects that do not fit into the memory are refused, with the numbers', async () => {
  const store = new MemoryStore()
  await expect(run(rows(), store, { ...COLUMN_WISE, maxBytes: 4 * KiB })).rejects.toMatchObject({
    tag: 'TooLargeError',
    message: expect.stringContaining('a chunk of the source of [1, 2048] elements takes 8192 bytes, and 4096 may be held'),
  })
  await expect(run(rows(), store, { ...COLUMN_WISE, maxBytes: 16 * KiB })).rejects.toMatchObject({
    message: expect.stringContaining('an object of the target of [512, 16] elements takes 32768 bytes'),
  })
  expect(await store.list('')).toEqual([])
})

test('arrays of bytes get no attribute for what is missing, which JSON cannot hold', async () => {
  const store = new MemoryStore()
  const array = new DiskArray({
    dtype: 'binary',
    shape: [2],
    fillValue: Uint8Array.of(),
    readBlock: (_, { data }) => void data.fill(Uint8Array.of(1)),
  })
  const source = { attributes: new Map(), arrays: [{ name: 'a', array, dimensionNames: ['x'], attributes: new Map() }] }
  await exportZarr(source as never, { store, path: 'b' }, {})
  const { bytes } = (await store.get('b/a/zarr.json'))!
  expect(JSON.parse(new TextDecoder().decode(bytes))).not.toHaveProperty('attributes._FillValue')
})

test('one long text that many arrays share is not written again for each of them without a limit', async () => {
  const store = new MemoryStore()
  const array = new DiskArray({ dtype: 'int8', shape: [1], readBlock: () => undefined })
  const attributes = new Map([['history', 'x'.repeat(2 ** 24)]])
  const arrays = Array.from({ length: 1000 }, (_, i) => ({ name: `a${i}`, array, dimensionNames: ['x'], attributes }))
  await expect(exportZarr({ attributes: new Map(), arrays } as never, { store, path: 'b' }, {})).rejects.toMatchObject({
    tag: 'TooLargeError',
    details: { array: 'a7', expected: 2 ** 27 },
  })
  expect(await store.list('')).toEqual([])
})
