import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { chunkTable, encodeFooter } from '../../src/af/format/encode.ts'
import {
  type AfDType,
  type ArrayMeta,
  type AttributePairs,
  type AttributeValue,
  type BlockMeta,
  checkFooter,
  decodeFooter,
  type FillValue,
  FOOTER_MAGIC,
  type Footer,
  hasKnownVersion,
} from '../../src/af/format/footer.ts'
import { isVersion4Attribute } from '../../src/af/format/footer-attributes.ts'
import { splitFile } from '../../src/af/format/stats-file.ts'
import { DTYPES, type DType, NUMERIC_DTYPES, toBytes } from '../../src/core/dtype.ts'
import { isHyperslabError } from '../../src/core/errors.ts'
import { runs } from '../support/budget.ts'
import { fixture, fixtures, mutate, random, toHex } from './rkyv/support.ts'

const SEED = 20240817

const int = (bits: number) => fc.integer({ min: -(2 ** (bits - 1)), max: 2 ** (bits - 1) - 1 })
const uint = (bits: number) => fc.integer({ min: 0, max: 2 ** bits - 1 })
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
const uint64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
const safe = fc.oneof(fc.maxSafeNat(), fc.constantFrom(0, 2 ** 32, Number.MAX_SAFE_INTEGER))
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 24 }),
  fc.nat(70).map((length) => 'é'.repeat(length / 2) + 'a'.repeat(length % 2)),
)

const floatOf = (bits: bigint): number => new DataView(BigUint64Array.of(bits).buffer).getFloat64(0, true)
const float32Of = (bits: number): number => new DataView(Uint32Array.of(bits).buffer).getFloat32(0, true)
const bits64 = fc.oneof(uint64, fc.constantFrom(0x7ff8000000000000n, 0xfff0000000000001n, 2n ** 63n))
const bits32 = fc.oneof(uint(32), fc.constantFrom(0x7fc00000, 0xff800001, 0x80000000))

const dtype: fc.Arbitrary<AfDType> = fc.letrec<{ any: AfDType }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(...DTYPES).map((kind: DType): AfDType => ({ kind })),
    tie('any').map((child): AfDType => ({ kind: 'list', child })),
    fc.tuple(tie('any'), uint(32)).map(([child, size]): AfDType => ({ kind: 'fixed_size_list', child, size })),
  ),
})).any

const fillValue: fc.Arbitrary<FillValue> = fc.oneof(
  fc.record({ kind: fc.constant('bool' as const), value: fc.boolean() }),
  fc.record({ kind: fc.constantFrom('int' as const, 'timestamp_ns' as const), value: int64 }),
  fc.record({ kind: fc.constant('uint' as const), value: uint64 }),
  bits64.map((bits): FillValue => ({ kind: 'float', value: floatOf(bits), bits })),
  fc.record({ kind: fc.constant('string' as const), value: text }),
)

const numericLists = [
  fc.int8Array(),
  fc.int16Array(),
  fc.int32Array(),
  fc.bigInt64Array(),
  fc.uint8Array(),
  fc.uint16Array(),
  fc.uint32Array(),
  fc.bigUint64Array(),
  fc.array(bits32).map((bits) => new Float32Array(Uint32Array.from(bits).buffer)),
  fc.array(bits64).map((bits) => new Float64Array(BigUint64Array.from(bits).buffer)),
].map((list, index) => list.map((value) => ({ type: `${NUMERIC_DTYPES[index]}[]`, value }) as AttributeValue))

const integers = (['int8', 'int16', 'int32', 'uint8', 'uint16', 'uint32'] as const).map((type, index) =>
  (index < 3 ? int(8 << index) : uint(8 << (index - 3))).map((value): AttributeValue => ({ type, value })),
)

const attributeValue: fc.Arbitrary<AttributeValue> = fc.oneof(
  fc.boolean().map((value): AttributeValue => ({ type: 'bool', value })),
  ...integers,
  int64.map((value): AttributeValue => ({ type: 'int64', value })),
  uint64.map((value): AttributeValue => ({ type: 'uint64', value })),
  bits32.map((bits): AttributeValue => {
    const value = float32Of(bits)
    return Number.isNaN(value) ? { type: 'float32', value, bits } : { type: 'float32', value }
  }),
  bits64.map((bits): AttributeValue => {
    const value = floatOf(bits)
    return Number.isNaN(value) ? { type: 'float64', value, bits } : { type: 'float64', value }
  }),
  text.map((value): AttributeValue => ({ type: 'string', value })),
  fc.uint8Array().map((value): AttributeValue => ({ type: 'binary', value })),
  fc.array(fc.boolean()).map((value): AttributeValue => ({ type: 'bool[]', value })),
  ...numericLists,
  fc.array(text).map((value): AttributeValue => ({ type: 'string[]', value })),
  fc.array(fc.uint8Array()).map((value): AttributeValue => ({ type: 'binary[]', value })),
)

const attributes: fc.Arbitrary<AttributePairs> = fc.constantFrom(16 as const, 32 as const, 64 as const).chain((width) => {
  const index = width === 64 ? safe : uint(width)
  return fc.uniqueArray(fc.tuple(index, index), { selector: ([key]) => key, maxLength: 5 }).map((pairs) => {
    const sorted = pairs.toSorted(([a], [b]) => a - b)
    return { width, keys: sorted.map(([key]) => key), values: sorted.map(([, value]) => value) }
  })
})

const chunksOf = (rank: number) =>
  fc
    .array(
      fc.record({
        coord: fc.array(uint(32), { minLength: rank, maxLength: rank }),
        blockId: uint(32),
        offset: uint(32),
        size: uint(32),
      }),
      { maxLength: 6 },
    )
    .map((rows) => chunkTable(rank, rows))

const array: fc.Arbitrary<ArrayMeta> = fc.array(uint(32), { maxLength: 4 }).chain((shape) =>
  fc.record({
    name: text,
    dtype,
    shape: fc.constant(shape),
    dimensionNames: fc.array(text, { maxLength: 4 }),
    chunkShape: fc.array(uint(32), { maxLength: 4 }),
    chunks: chunksOf(shape.length),
    fillValue: fc.option(fillValue),
    deleted: fc.boolean(),
    attributes,
  }),
)

const block: fc.Arbitrary<BlockMeta> = fc.record({
  id: uint(32),
  fileOffset: safe,
  compressedBytes: safe,
  uncompressedBytes: safe,
  codec: fc.option(text),
})

const footer: fc.Arbitrary<Footer> = fc
  .record({
    version: fc.constantFrom(4 as const, 5 as const),
    blocks: fc.array(block, { maxLength: 4 }),
    arrays: fc.array(array, { maxLength: 4 }),
    attributeKeys: fc.array(text, { maxLength: 6 }),
    attributeValues: fc.array(attributeValue, { maxLength: 6 }),
    overlayIndex: uint(32),
    baseFileHint: text,
  })
  .map((footer) => ({
    ...footer,
    attributeValues: footer.attributeValues.filter(({ type }) => footer.version === 5 || isVersion4Attribute(type)),
  }))

test('any footer survives being written and read, and is then written the same', () => {
  fc.assert(
    fc.property(footer, (document) => {
      const payload = encodeFooter(document)
      const decoded = decodeFooter(payload)
      expect(decoded).toEqual(document)
      expect(toHex(encodeFooter(decoded))).toBe(toHex(payload))
    }),
    { numRuns: runs(600), seed: SEED },
  )
})

describe('damaged footers', () => {
  /** Decodes a payload: it yields a footer or one of two errors. */
  function verdict(payload: Uint8Array): 'decoded' | 'rejected' {
    if (!hasKnownVersion(payload)) return 'rejected'
    let decoded: Footer
    try {
      decoded = decodeFooter(payload)
    } catch (error) {
      if (isHyperslabError(error, 'FormatError')) return 'rejected'
      throw error
    }
    try {
      checkFooter(decoded, 1000)
    } catch (error) {
      if (!isHyperslabError(error, 'FormatError')) throw error
    }
    const rewritten = encodeFooter(decoded)
    expect(toHex(encodeFooter(decodeFooter(rewritten)))).toBe(toHex(rewritten))
    return 'decoded'
  }

  function count(payloads: readonly Uint8Array[], each: number): Record<string, number> {
    const next = random(SEED)
    const verdicts = { decoded: 0, rejected: 0 }
    for (const payload of payloads) for (let run = 0; run < each; run++) verdicts[verdict(mutate(payload, next))]++
    return verdicts
  }

  test('fixtures', () => {
    const payloads = fixtures('.af')
      .filter((path) => !path.includes('hostile/'))
      .map((path) => splitFile(fixture(path), FOOTER_MAGIC).payload)
    const verdicts = count(payloads, 200)
    expect(verdicts['decoded']).toBeGreaterThan(500)
    expect(verdicts['rejected']).toBeGreaterThan(1500)
  })

  test('random footers', () => {
    const payloads = fc.sample(footer, { numRuns: runs(150), seed: SEED }).map((document) => encodeFooter(document))
    const verdicts = count(payloads, 30)
    expect(verdicts['decoded']).toBeGreaterThan(runs(500))
    expect(verdicts['rejected']).toBeGreaterThan(runs(1500))
  })

  test('noise with a version', () => {
    const next = random(SEED)
    const verdicts = { decoded: 0, rejected: 0 }
    for (let run = 0; run < 500; run++) {
      const payload = Uint8Array.from({ length: 96 + 8 * next(60) }, () => (next(3) === 0 ? next(256) : 0))
      payload.set([5, 0, 0, 0], payload.byteLength - 96)
      verdicts[verdict(payload)]++
    }
    expect(verdicts).toEqual({ decoded: 0, rejected: 500 })
  })

  test('every byte cut off', () => {
    const { payload } = splitFile(fixture('basic/t.1.af'), FOOTER_MAGIC)
    for (let bytes = 0; bytes < payload.byteLength; bytes++) expect(verdict(payload.subarray(0, bytes))).toBe('rejected')
    expect(verdict(payload)).toBe('decoded')
  })
})

test('200 000 chunks are read and written in well under 100 ms each', () => {
  const length = 200_000
  const rows = Array.from({ length }, (_, i) => ({ coord: [i, i % 7, 3], blockId: i >> 10, offset: i & 1023, size: 1 }))
  const meta: ArrayMeta = {
    name: 'large',
    dtype: { kind: 'int8' },
    shape: [length, 7, 4],
    dimensionNames: ['z', 'y', 'x'],
    chunkShape: [1, 1, 1],
    chunks: chunkTable(3, rows),
    fillValue: null,
    deleted: false,
    attributes: { width: 16, keys: [], values: [] },
  }
  const blocks = Array.from({ length: 200 }, (_, id) => ({
    id,
    fileOffset: id,
    compressedBytes: 1,
    uncompressedBytes: 1024,
    codec: null,
  }))
  const document: Footer = {
    version: 5,
    blocks,
    arrays: [meta],
    attributeKeys: [],
    attributeValues: [],
    overlayIndex: 0,
    baseFileHint: '',
  }
  const payload = encodeFooter(document)
  const decoded = decodeFooter(payload)
  // Not by toEqual, which takes seconds.
  const { chunks } = decoded.arrays[0]!
  expect([chunks.length, chunks.rank]).toEqual([length, 3])
  for (const column of ['coords', 'blockIds', 'offsets', 'sizes'] as const) {
    expect(Buffer.compare(toBytes(chunks[column]), toBytes(meta.chunks[column])), column).toBe(0)
  }
  checkFooter(decoded, 200)
})
