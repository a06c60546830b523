import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import type { CodecMetadata, StoredType } from '../../../../src/adapters/zarr/metadata.ts'
import { elementCodec, toStoredType } from '../../../../src/adapters/zarr/write/document.ts'
import { chunkEncoder } from '../../../../src/adapters/zarr/write/encode.ts'
import { type DataOf, DTYPES, type DType, toBytes } from '../../../../src/core/dtype.ts'
import { sizeOf } from '../../../../src/core/shape.ts'
import { encodeChunk } from '../../../../src/engine/write-box.ts'
import { startNumcodecs } from '../../../support/numcodecs.ts'
import { codec, decodeStored } from '../support.ts'
import { Random } from './support.ts'

const COMPRESSORS: readonly CodecMetadata[] = [
  codec('zstd', { level: 0, checksum: false }),
  codec('zstd', { level: -5 }),
  codec('gzip', { level: 1 }),
  codec('gzip'),
  codec('zlib', { level: 9 }),
  codec('lz4', { acceleration: 1 }),
  codec('blosc', { cname: 'lz4', clevel: 5, shuffle: 'shuffle', typesize: 4, blocksize: 0 }),
  codec('blosc', { cname: 'zstd', clevel: 1, shuffle: 'bitshuffle', typesize: 3, blocksize: 64 }),
  codec('blosc', { cname: 'zlib', clevel: 1, shuffle: 'noshuffle', typesize: 8, blocksize: 40 }),
  codec('blosc', { cname: 'lz4hc', clevel: 9, shuffle: -1 }),
  codec('blosc', { cname: 'lz4', clevel: 0 }),
  codec('crc32c'),
  codec('crc32c', { location: 'start' }),
  codec('crc32'),
  codec('adler32', { location: 'end' }),
  codec('fletcher32'),
  codec('shuffle', { elementsize: 1 }),
]

/** Every way in which Blosc makes a frame, of blocks of all kinds, with the last one of any length. */
const FRAMES = ['lz4', 'zlib', 'zstd'].flatMap((cname) =>
  ['noshuffle', 'shuffle', 'bitshuffle'].flatMap((shuffle) =>
    [1, 4, 7, 16, 300].map((typesize) => ({ cname, clevel: 3, shuffle, typesize, blocksize: 2400 })),
  ),
)

const numcodecs = startNumcodecs()
afterAll(() => numcodecs?.close())

test.skipIf(numcodecs === undefined)('c-blosc decodes frames, and they are as short as they should be', async () => {
  const type: StoredType = { dtype: 'uint8', kind: 'uint', bytes: 1 }
  for (const [i, configuration] of FRAMES.entries()) {
    const count = 9_000 + 37 * i
    const data = toBytes(Int32Array.from({ length: count >> 2 }, (_, k) => k * 3 + ((k * 7919) % 5)))
    const codecs = [codec('bytes'), codec('blosc', configuration)]
    const frame = await chunkEncoder(codecs, type, [data.length], [])(data)
    expect(await numcodecs!.decode([{ id: 'blosc' }], frame), JSON.stringify(configuration)).toEqual(new Uint8Array(data))
    expect(new Uint8Array(await decodeStored(codecs, type, [data.length], frame))).toEqual(new Uint8Array(data))
    if (configuration.typesize === 4 && configuration.shuffle !== 'noshuffle') expect(frame.length).toBeLessThan(data.length / 2)
  }
})

test('blocks of frames that do not become smaller are kept, whatever comes before and behind them', async () => {
  const type: StoredType = { dtype: 'uint8', kind: 'uint', bytes: 1 }
  const random = new Random(5)
  const cases = FRAMES.flatMap((frame) =>
    [
      [true, true, false],
      [false, true, true, true],
      [false, true, false],
    ].map((isNoise) => ({ frame, isNoise })),
  )
  // Sizes of so many blocks take more room than one block may grow by.
  const isNoise = Array.from({ length: 200 }, (_, i) => i < 150)
  cases.push({ frame: { ...FRAMES[0]!, blocksize: 160 }, isNoise })
  for (const { frame: configuration, isNoise } of cases) {
    const { blocksize } = configuration
    const data = Uint8Array.from({ length: blocksize * isNoise.length }, (_, k) =>
      isNoise[Math.floor(k / blocksize)] ? random.below(256) : k >> 6,
    )
    const codecs = [codec('bytes'), codec('blosc', configuration)]
    const frame = await chunkEncoder(codecs, type, [data.length], [])(data)
    expect(frame.length, JSON.stringify(configuration)).toBeLessThan(data.length)
    expect(new Uint8Array(await decodeStored(codecs, type, [data.length], frame))).toEqual(data)
  }
})

const chunkOf = (dtype: DType, shape: readonly number[], seed: number): Uint8Array => {
  const count = sizeOf(shape)
  const at = (i: number): number => (i * 7919 + seed) % 251
  if (dtype === 'string')
    return encodeChunk(
      dtype,
      Array.from({ length: count }, (_, i) => 'ä€x'.repeat(at(i) % 4)),
    )
  if (dtype === 'binary')
    return encodeChunk(
      dtype,
      Array.from({ length: count }, (_, i) => new Uint8Array(at(i) % 5).fill(i)),
    )
  if (dtype === 'bool') return Uint8Array.from({ length: count }, (_, i) => at(i) & 1)
  const wide = /64|_ns/.test(dtype) && dtype !== 'float64'
  const values = wide
    ? BigInt64Array.from({ length: count }, (_, i) => BigInt(at(i)) ** 7n)
    : dtype === 'float64'
      ? Float64Array.from({ length: count }, (_, i) => Math.sin(at(i)))
      : dtype === 'float32'
        ? Float32Array.from({ length: count }, (_, i) => Math.sin(at(i)))
        : Uint8Array.from({ length: (count * Number(/\d+$/.exec(dtype)![0])) / 8 }, (_, i) => at(i))
  return toBytes(values as DataOf<'uint8'>)
}

describe('what is encoded decodes to what it was', () => {
  test.each(DTYPES)('of %s', async (dtype) => {
    const type = toStoredType(dtype)
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 3 }),
        fc.nat(),
        fc.boolean(),
        fc.boolean(),
        fc.subarray([...COMPRESSORS], { maxLength: 3 }),
        fc.nat(),
        async (shape, seed, isBig, isTransposed, rest, turn) => {
          const axes = shape.map((_, axis) => (axis + turn) % shape.length)
          const own = elementCodec(type)
          const bytes = isBig && own.configuration['endian'] ? codec('bytes', { endian: 'big' }) : own
          const codecs = [...(isTransposed ? [codec('transpose', { order: axes })] : []), bytes, ...rest]
          const chunk = chunkOf(dtype, shape, seed)
          const stored = await chunkEncoder(codecs, type, shape, [])(chunk)
          expect(new Uint8Array(await decodeStored(codecs, type, shape, stored))).toEqual(chunk)
        },
      ),
      { numRuns: 30 },
    )
  })

  const OTHERS: readonly (readonly [StoredType, Uint8Array])[] = [
    [{ dtype: 'float32', kind: 'float', bytes: 2 }, toBytes(Float32Array.of(0.5, -0, 65504, Infinity))],
    [{ dtype: 'float32', kind: 'bfloat16', bytes: 2 }, toBytes(Float32Array.of(0.5, -0, 2 ** 100, -Infinity))],
    [{ dtype: 'timestamp_ns', kind: 'datetime', bytes: 8, unit: '10s' }, toBytes(BigInt64Array.of(0n, 10n ** 10n, -(2n ** 63n), -5n * 10n ** 10n))], // biome-ignore format: one line
    [{ dtype: 'timestamp_ns', kind: 'datetime', bytes: 8, unit: 'ps' }, toBytes(BigInt64Array.of(0n, 7n, -(2n ** 63n), -5n))],
    [{ dtype: 'string', kind: 'fixed-text', bytes: 12 }, encodeChunk('string', ['', 'ä€😀', 'a', 'ab'])],
    [{ dtype: 'binary', kind: 'fixed-bytes', bytes: 3 }, encodeChunk('binary', [Uint8Array.of(1), Uint8Array.of(), Uint8Array.of(1, 0, 2), Uint8Array.of(0, 9)])], // biome-ignore format: one line
    [{ dtype: 'binary', kind: 'raw', bytes: 2 }, encodeChunk('binary', [Uint8Array.of(1, 0), Uint8Array.of(0, 0), Uint8Array.of(1, 2), Uint8Array.of(0, 9)])], // biome-ignore format: one line
  ]
  test.each(OTHERS)('of elements stored as %o', async (type, chunk) => {
    for (const endian of ['little', 'big']) {
      const codecs = [codec('transpose', { order: [1, 0] }), codec('bytes', { endian }), codec('zstd')]
      const stored = await chunkEncoder(codecs, type, [2, 2], [])(chunk)
      expect(new Uint8Array(await decodeStored(codecs, type, [2, 2], stored))).toEqual(chunk)
    }
  })

  test('NaN stays NaN where floats are narrowed', async () => {
    for (const kind of ['float', 'bfloat16'] as const) {
      const type = { dtype: 'float32', kind, bytes: 2 } as const
      const codecs = [codec('bytes', { endian: 'little' })]
      const stored = await chunkEncoder(codecs, type, [1], [])(toBytes(Float32Array.of(Number.NaN)))
      expect(new Float32Array((await decodeStored(codecs, type, [1], stored)).slice().buffer)).toEqual(
        Float32Array.of(Number.NaN),
      )
    }
  })
})

describe('what cannot be stored is refused', () => {
  const INT: StoredType = { dtype: 'int32', kind: 'int', bytes: 4 }
  const little = codec('bytes', { endian: 'little' })
  test.each([
    ['a codec that is only read', [little, codec('delta', { dtype: '<i4' })], /codec 'delta' is not written here/],
    ['a misspelt option', [little, codec('gzip', { lvl: 3 })], /no option 'lvl'/],
    ['a level that does not exist', [little, codec('gzip', { level: 12 })], /integer from 0 to 9/],
    ['another compressor in blosc', [little, codec('blosc', { cname: 'snappy' })], /lz4, lz4hc, zlib, zstd, not snappy/],
    ['another shuffle', [little, codec('blosc', { shuffle: 'shufle' })], /shuffle cannot be "shufle"/],
    ['a checksum within frames', [little, codec('zstd', { checksum: true })], /frames with checksums/],
    ['elements where bytes belong', [codec('gzip'), little], /'gzip' comes before/],
    ['bytes where elements belong', [little, codec('transpose', { order: [0] })], /'transpose' comes behind/],
    ['no byte order', [codec('bytes')], /no byte order/],
  ])('%s', (_, codecs, message) => {
    expect(() => chunkEncoder(codecs, INT, [3], [])).toThrow(message)
  })

  test.each<[StoredType, Uint8Array, RegExp]>([
    [{ dtype: 'timestamp_ns', kind: 'datetime', bytes: 8, unit: 's' }, toBytes(BigInt64Array.of(1n)), /not a whole number of s/],
    [
      { dtype: 'timestamp_ns', kind: 'datetime', bytes: 8, unit: 'as' },
      toBytes(BigInt64Array.of(10n ** 18n)),
      /do not fit 64 bits/,
    ],
    [{ dtype: 'string', kind: 'fixed-text', bytes: 8 }, encodeChunk('string', ['abc']), /up to 8 bytes.*got one of 12/],
    [{ dtype: 'binary', kind: 'fixed-bytes', bytes: 2 }, encodeChunk('binary', [Uint8Array.of(1, 0)]), /do not end with a NUL/],
    [{ dtype: 'binary', kind: 'raw', bytes: 2 }, encodeChunk('binary', [Uint8Array.of(1)]), /exactly 2 bytes/],
  ])('elements that do not fit %o', async (type, chunk, message) => {
    await expect(chunkEncoder([codec('bytes', { endian: 'little' })], type, [1], [])(chunk)).rejects.toThrow(message)
  })
})
