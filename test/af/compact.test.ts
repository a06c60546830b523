import { describe, expect, test } from 'vitest'
import { nativeEncoder } from '../../src/codec/zstd-encode.ts'
import { type Codec, type FileOptions, MemoryStore, open, slice } from '../../src/runtime/index.ts'
import { createWithBase as create } from '../support/containers.ts'

const path = 'a.af'
const CHUNK = 64
const CHUNKS = 64
const SIZE = CHUNKS * CHUNK
/** Four chunks. */
const BLOCK = 4 * CHUNK * 4
const BLOCKS = CHUNKS / 4
const values = Float32Array.from({ length: SIZE }, (_, i) => Math.round(100 * Math.sin(i)) / 100)

/** A codec that adds a byte, and counts what it does. */
function counting(): { codec: Codec; take(): { encoded: number; decoded: number } } {
  let count = { encoded: 0, decoded: 0 }
  const codec = {
    name: 'test.counting',
    encode(bytes: Uint8Array) {
      count.encoded++
      return Uint8Array.of(...bytes, 0)
    },
    decode(bytes: Uint8Array, decodedBytes: number) {
      count.decoded++
      if (bytes[decodedBytes] !== 0) throw new Error('the last byte is not 0')
      return bytes.slice(0, decodedBytes)
    },
  }
  return {
    codec,
    take() {
      const taken = count
      count = { encoded: 0, decoded: 0 }
      return taken
    },
  }
}

async function written(options: FileOptions): Promise<MemoryStore> {
  const store = new MemoryStore()
  const file = await create({ store, path }, { blockBytes: BLOCK, ...options })
  await file.createArray('x', { dtype: 'float32', shape: [SIZE], chunks: [CHUNK] }).set(null, values)
  await file.flush()
  await file.close()
  return store
}

const bytesOf = async (store: MemoryStore, key: string): Promise<Uint8Array> =>
  (await store.getRange(key, 0, (await store.stat(key))!.size))!

async function compactAgain(store: MemoryStore, options: FileOptions): Promise<void> {
  await using file = await open({ store, path }, { blockBytes: BLOCK, ...options })
  await file.compact()
}

async function check(store: MemoryStore, expected: Float32Array, options: FileOptions): Promise<void> {
  await using file = await open({ store, path }, options)
  expect((await file.array('x').get()).data).toEqual(expected)
  const { min, max, nullCount } = await file.stats('x')
  expect([min, max, nullCount]).toEqual([Math.min(...expected), Math.max(...expected), 0])
}

describe('compacting', () => {
  test('takes full blocks over as they are stored, without looking into them', async () => {
    const { codec, take } = counting()
    const options = { codec: codec.name, codecs: [codec], verifyWrites: false }
    const store = await written(options)
    expect(take()).toEqual({ encoded: BLOCKS, decoded: 0 })
    const before = (await bytesOf(store, 'a.1.af')).slice(0, BLOCKS * (BLOCK + 1))
    for (let again = 0; again < 2; again++) {
      await compactAgain(store, options)
      expect(take()).toEqual({ encoded: 0, decoded: 0 })
      expect((await bytesOf(store, path)).slice(0, before.length)).toEqual(before)
    }
    await check(store, values, options)
  })

  test('encodes anew where a chunk was replaced, with what else is in its block', async () => {
    const { codec, take } = counting()
    const options = { codec: codec.name, codecs: [codec], verifyWrites: false, blockBytes: BLOCK }
    const store = await written(options)
    const expected = values.slice().fill(7, 5 * CHUNK, 6 * CHUNK)
    const file = await open({ store, path }, options)
    await file.array('x').set([slice(5 * CHUNK, 6 * CHUNK)], 7)
    await file.flush()
    take()
    await file.compact()
    // The block of chunk 5, and the one chunk of its overlay, into one.
    expect(take()).toEqual({ encoded: 1, decoded: 2 })
    expect(file.layers()).toMatchObject([{ blocks: BLOCKS, chunks: CHUNKS }])
    await check(store, expected, options)
  })

  test.each([
    ['most of it is a block', 1, { encoded: 2, decoded: 2 }],
    ['little of it goes with the next', 3, { encoded: BLOCKS, decoded: BLOCKS + 1 }],
  ])('before blocks that are taken over, what is left of another: %s', async (_, deleted, count) => {
    const { codec, take } = counting()
    const options = { codec: codec.name, codecs: [codec], verifyWrites: false, blockBytes: BLOCK }
    const store = new MemoryStore()
    const file = await create({ store, path }, options)
    await file.createArray('w', { dtype: 'float32', shape: [deleted * CHUNK], chunks: [CHUNK] }).set(null, 1)
    await file.createArray('x', { dtype: 'float32', shape: [SIZE], chunks: [CHUNK] }).set(null, values)
    await file.flush()
    file.delete('w')
    take()
    await file.compact()
    // The first block and the last, which holds one chunk; or all.
    expect(take()).toEqual(count)
    await check(store, values, options)
  })

  test.each([
    ['larger blocks', { blockBytes: 4 * BLOCK }, BLOCKS / 4],
    ['smaller blocks', { blockBytes: BLOCK / 4 }, CHUNKS],
    ['another codec', { codec: 'none' }, BLOCKS],
  ])('to %s packs anew', async (_, changed: FileOptions, blocks) => {
    const store = await written({ codec: 'lz4' })
    const before = await bytesOf(store, 'a.1.af')
    await compactAgain(store, changed)
    const file = await open({ store, path })
    expect(file.layers()).toMatchObject([{ blocks }])
    expect((await bytesOf(store, path)).slice(0, 64)).not.toEqual(before.slice(0, 64))
    await check(store, values, {})
  })

  test('encodes anew where a level is asked for', async () => {
    const store = await written({ codec: 'zstd', level: 1 })
    const size = async (options: FileOptions): Promise<number> => {
      await compactAgain(store, { codec: 'zstd', ...options })
      await using file = await open({ store, path })
      return file.layers()[0]!.compressedBytes
    }
    const first = await size({})
    // If the platform has no library, the kernel writes in one way only.
    const smaller = nativeEncoder() === undefined ? 0 : 1
    expect(await size({ level: 19 })).toBeLessThanOrEqual(first - smaller)
    await check(store, values, {})
  })

  test('decodes what has no checksum and no statistics, once', async () => {
    const { codec, take } = counting()
    const options = { codec: codec.name, codecs: [codec], verifyWrites: false }
    const store = await written({ ...options, extensionBlocks: false })
    take()
    await compactAgain(store, options)
    expect(take()).toEqual({ encoded: 0, decoded: BLOCKS })
    await using file = await open({ store, path }, options)
    await store.delete('a.stats')
    expect(await file.stats('x')).toMatchObject({ max: Math.max(...values) })
    expect(file.readCost.blocks).toBe(0)
  })

  test.each([
    [true, 'IntegrityError'],
    [false, 'CodecError'],
  ])('takes no damaged block over (checksums: %s)', async (extensionBlocks, tag) => {
    const { codec } = counting()
    const options = { codec: codec.name, codecs: [codec], verifyWrites: false }
    const store = await written({ ...options, extensionBlocks })
    const bytes = (await bytesOf(store, 'a.1.af')).slice()
    const base = await bytesOf(store, path)
    bytes[2 * (BLOCK + 1) - 1] = 1
    await store.put('a.1.af', bytes)
    await expect(compactAgain(store, options)).rejects.toMatchObject({ tag, message: expect.stringContaining('block 1') })
    expect(await bytesOf(store, path)).toEqual(base)
    expect(await bytesOf(store, 'a.1.af')).toEqual(bytes)
  })
})
