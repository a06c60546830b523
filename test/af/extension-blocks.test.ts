import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeFooter } from '../../src/af/format/footer.ts'
import { FOOTER_MAGIC } from '../../src/af/format/footer-trailer.ts'
import { splitFile } from '../../src/af/format/stats-file.ts'
import type { DType } from '../../src/core/dtype.ts'
import { MemoryStore, open } from '../../src/runtime/index.ts'
import { runs } from '../support/budget.ts'
import { createWithBase as create } from '../support/containers.ts'

const DTYPES = [
  'bool',
  'int8',
  'uint16',
  'int32',
  'uint32',
  'int64',
  'uint64',
  'float32',
  'float64',
  'timestamp_ns',
  'string',
] as const
const path = 'a.af'

/** Values with many nulls and, for floats, NaNs of both signs. */
const valuesOf = (dtype: DType, seeds: readonly number[]): unknown[] =>
  seeds.map((seed) => {
    if (dtype === 'string') return `s${seed}`
    if (dtype === 'bool') return seed % 2
    if (dtype.endsWith('64') && !dtype.startsWith('float')) return BigInt(seed) * 2n ** 50n
    if (dtype === 'timestamp_ns') return BigInt(seed)
    if (!dtype.startsWith('float')) return seed
    return seed % 5 === 4 ? Number.NaN : seed / 3
  })

const bytesOf = async (store: MemoryStore, key: string): Promise<Uint8Array> =>
  (await store.getRange(key, 0, (await store.stat(key))!.size))!

/** Returns the number of blocks read since the container was opened. */
const blocksOf = (file: Awaited<ReturnType<typeof open>>): number => file.readCost.blocks

describe('statistics of chunks', () => {
  test('are those that reading all chunks gives, and take no block read', async () => {
    const seeds = fc.array(fc.nat(120), { minLength: 12, maxLength: 12 })
    const step = fc.record({
      dtype: fc.constantFrom(...DTYPES),
      seeds,
      fill: fc.boolean(),
      again: fc.option(fc.nat(11)),
      compact: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(step, async ({ dtype, seeds, fill, again, compact }) => {
        const results: unknown[] = []
        for (const extensionBlocks of [true, false]) {
          const store = new MemoryStore()
          await using writer = await create({ store, path }, { extensionBlocks })
          const values = valuesOf(dtype, seeds)
          const number = values.find((value) => !Number.isNaN(value))
          const array = writer.createArray('x', {
            dtype,
            shape: [3, 4],
            chunks: [2, 3],
            ...(fill && number !== undefined ? { fillValue: number as never } : {}),
          })
          await array.set(null, values as never)
          await writer.flush()
          if (again !== null) await array.set([again % 3, again % 4], values[again] as never)
          await writer.flush()
          if (compact) await writer.compact()
          await store.delete('a.stats')
          await using reader = await open({ store, path })
          results.push(await reader.stats('x'))
          const known = extensionBlocks && dtype !== 'string'
          expect(blocksOf(reader) === 0).toBe(known)
        }
        expect(results[0]).toEqual(results[1])
      }),
      { numRuns: runs(150) },
    )
  })

  test('of chunks that were not changed are not read again for a flush', async () => {
    const store = new MemoryStore()
    await using writer = await create({ store, path }, { blockBytes: 16 })
    await writer.createArray('x', { dtype: 'float32', shape: [100], chunks: [4] }).set(
      null,
      Float32Array.from({ length: 100 }, (_, i) => i),
    )
    await writer.flush()
    await using later = await open({ store, path })
    await later.array('x').set([0], 500)
    const before = blocksOf(later)
    await later.flush()
    expect(blocksOf(later)).toBe(before)
    expect(await later.stats('x')).toEqual({ min: 1, max: 500, nullCount: 0, nanCount: 0, rowCount: 100 })
  })
})

describe('checksums', () => {
  test('find changed bytes: on opening those of the footer, on reading those of a block; no wrong value is read', async () => {
    const store = new MemoryStore()
    await using writer = await create({ store, path })
    const values = Int16Array.from({ length: 40 }, (_, i) => i * i)
    await writer.createArray('x', { dtype: 'int16', shape: [40], chunks: [7] }).set(null, values)
    await writer.flush()
    const whole = await bytesOf(store, 'a.1.af')
    const { blocks } = decodeFooter(splitFile(whole, FOOTER_MAGIC).payload)
    const [stats, checksums] = blocks.slice(-2)
    const dataEnd = stats!.fileOffset
    for (let at = 0; at < whole.length - 12; at++) {
      const damaged = whole.slice()
      damaged[at]! ^= 1 << (at % 8)
      await store.put('a.1.af', damaged)
      const outcome = await readAll(store).catch((error: unknown) => error)
      if (at < dataEnd) {
        expect(outcome).toMatchObject({
          tag: 'IntegrityError',
          message: expect.stringMatching(/a\.1\.af: array 'x': block 0: .*checksum/),
        })
      } else if (at < checksums!.fileOffset) expect(outcome).toEqual(values)
      else expect(outcome).toMatchObject({ details: { file: 'memory:a.1.af' } })
    }
    // Reading elements skips the statistics of chunks, which lie behind the data.
    expect(dataEnd).toBeLessThan(checksums!.fileOffset)
  })

  async function readAll(store: MemoryStore): Promise<unknown> {
    await using file = await open({ store, path })
    return (await file.array('x').get()).data
  }

  /** Bytes that opening reads in its first request. */
  const FIRST_READ = 64 * 1024 - 12

  test.each([
    ['does not fit the first read', 5000],
    ['just fits the first read, without them', 700],
  ])('are found beside a footer that %s', async (_, chunks) => {
    const store = new MemoryStore()
    await using writer = await create({ store, path }, { codec: 'none', blockBytes: 1 })
    await writer.createArray('x', { dtype: 'uint8', shape: [chunks], chunks: [1] }).set(null, 7)
    await writer.flush()
    const damaged = await bytesOf(store, 'a.1.af')
    const { payload } = splitFile(damaged, FOOTER_MAGIC)
    expect(payload.length > FIRST_READ).toBe(chunks > 700)
    expect(payload.length + 4 * chunks).toBeGreaterThan(FIRST_READ)
    damaged[0]! ^= 1
    await store.put('a.1.af', damaged)
    await expect(readAll(store)).rejects.toMatchObject({ tag: 'IntegrityError' })
  })

  test('are found in what stores hand out as Node Buffers, in the middle of larger ones', async () => {
    class BufferStore extends MemoryStore {
      override async getRange(...args: Parameters<MemoryStore['getRange']>): Promise<Uint8Array | undefined> {
        const bytes = await super.getRange(...args)
        return bytes && Buffer.concat([Buffer.of(1), bytes, Buffer.of(2)]).subarray(1, -1)
      }
    }
    const store = new BufferStore()
    await using writer = await create({ store, path }, { codec: 'none' })
    await writer.createArray('x', { dtype: 'int32', shape: [6], chunks: [2] }).set(null, Int32Array.of(1, 2, 3, 4, 5, 6))
    await writer.flush()
    await store.delete('a.stats')
    await using file = await open({ store, path }, { codec: 'none', blockBytes: 8 })
    expect(await file.stats('x')).toMatchObject({ min: 1, max: 6 })
    expect(blocksOf(file)).toBe(0)
    await file.compact()
    expect(await readAll(store)).toEqual(Int32Array.of(1, 2, 3, 4, 5, 6))
  })

  test('are not seen in data that is its own checksum', async () => {
    for (let zeros = 0; zeros < 6; zeros++) {
      const where = { store: new MemoryStore(), path }
      const values = Int32Array.of(-1, -1, ...new Array<number>(zeros).fill(0))
      await using file = await create(where, { codec: 'none', extensionBlocks: false })
      await file.createArray('x', { dtype: 'int32', shape: [values.length] }).set(null, values)
      await file.flush()
      await using reader = await open(where)
      expect((await reader.array('x', 'int32', 1).get()).data).toEqual(values)
    }
  })

  test('extensionBlocks: false leaves them out, but for the identity of the file', async () => {
    const store = new MemoryStore()
    await using writer = await create({ store, path }, { extensionBlocks: false })
    writer.createArray('x', { dtype: 'int8', shape: [1] })
    await writer.flush()
    for (const key of [path, 'a.1.af'])
      expect(decodeFooter(splitFile(await bytesOf(store, key), FOOTER_MAGIC).payload).blocks).toEqual([
        expect.objectContaining({ codec: expect.stringMatching(/^hyperslab\.layer\.1 /), compressedBytes: 0 }),
      ])
  })
})
