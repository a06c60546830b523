import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { withTrailer } from '../../src/af/format/encode.ts'
import { floatFill } from '../../src/af/format/footer.ts'
import { STATS_MAGIC } from '../../src/af/format/footer-trailer.ts'
import { type ArrayStats, decodeStats, encodeStats, type StatValue, splitFile } from '../../src/af/format/stats-file.ts'
import { isHyperslabError } from '../../src/core/errors.ts'
import { runs } from '../support/budget.ts'
import { ascii, caught, fixture, fixtures, hex, i64, join, mutate, random, toHex, u64 } from './rkyv/support.ts'

const SEED = 20240817
const payloadOf = (path: string): Uint8Array => splitFile(fixture(path), STATS_MAGIC).payload

const TEMPERATURE: ArrayStats = { name: 'temperature', min: floatFill(1), max: floatFill(4), nullCount: 0n, rowCount: 4n }
const ENTRY = join(ascii('temperature'), hex('ff*5 01 00*7 02 00*7 00*6 f0 3f 00*8 01 00*7 02 00*7 00*6 10 40 00*8 00*8 04 00*7'))

describe('worked examples of the format', () => {
  test('version 1: 132 bytes', () => {
    const file = join(ENTRY, hex('01 00*7'), i64(-104), u64(1), hex('78 00*7 41 52 53 54'))
    expect(file.byteLength).toBe(132)
    expect(toHex(fixture('basic/t.stats'))).toBe(toHex(file))
    expect(toHex(withTrailer(encodeStats([TEMPERATURE]), STATS_MAGIC))).toBe(toHex(file))
    expect(decodeStats(file.subarray(0, 120))).toEqual({ version: 1, arrays: [TEMPERATURE] })
  })

  test('version 0: 124 bytes', () => {
    const file = join(ENTRY, i64(-96), u64(1), hex('70 00*7 41 52 53 54'))
    expect(toHex(fixture('v4_basic/t.stats'))).toBe(toHex(file))
    expect(toHex(withTrailer(encodeStats([TEMPERATURE], 0), STATS_MAGIC))).toBe(toHex(file))
    expect(decodeStats(file.subarray(0, 112))).toEqual({ version: 0, arrays: [TEMPERATURE] })
  })
})

describe('versions', () => {
  test.each([0, 1] as const)('%i without arrays', (version) => {
    const payload = encodeStats([], version)
    expect(payload.byteLength).toBe(version === 0 ? 16 : 24)
    expect(decodeStats(payload)).toEqual({ version, arrays: [] })
  })

  test('2 is not supported', () => {
    const payload = encodeStats([TEMPERATURE])
    payload[96] = 2
    expect(caught('UnsupportedError', () => decodeStats(payload)).message).toBe('statistics version 2, expected 0 or 1')
  })

  test.each([
    ['between the two', join(ENTRY, hex('01 00*3'), i64(-100), u64(1))],
    ['two entries in the room of one', join(ENTRY, i64(-96), u64(2))],
    ['a huge number of entries', join(ENTRY, hex('01 00*7'), i64(-104), u64(2n ** 64n - 1n))],
    ['a huge offset', join(ENTRY, hex('01 00*7'), i64(-(2n ** 63n)), u64(1))],
    ['nothing', new Uint8Array(0)],
    ['too little', new Uint8Array(15)],
  ])('neither: %s', (_, payload) => {
    caught('FormatError', () => decodeStats(payload))
  })
})

describe('what the reference wrote', () => {
  test('there are fixtures', () => expect(fixtures('.stats')).toHaveLength(8))

  test.each(fixtures('.stats'))('%s is rewritten byte for byte', (path) => {
    const { version, arrays } = decodeStats(payloadOf(path))
    expect(version).toBe(path.startsWith('v4_') ? 0 : 1)
    expect(toHex(withTrailer(encodeStats(arrays, version), STATS_MAGIC))).toBe(toHex(fixture(path)))
  })

  test.each([
    ['corpus_lz4/all.stats', undefined],
    ['corpus_none_compact/all.stats', '__file__'],
    ['v4_corpus_zstd/all.stats', 'doomed'],
  ])('the content of %s', (path, last) => {
    const { arrays } = decodeStats(payloadOf(path))
    expect(arrays).toHaveLength(last === undefined ? 14 : 15)
    expect(arrays[14]?.name).toBe(last)
    const byName = Object.fromEntries(arrays.map(({ name, ...stats }) => [name, stats]))
    expect(byName).toMatchObject({
      u8: { min: { kind: 'uint', value: 0n }, max: { kind: 'uint', value: 19n }, nullCount: 15n, rowCount: 35n },
      i64: { min: { kind: 'int', value: 0n }, max: { kind: 'int', value: 19n }, nullCount: 15n, rowCount: 35n },
      f32: { min: floatFill(-5), max: floatFill(19), nullCount: 10n, rowCount: 35n },
      time: { min: { kind: 'timestamp_ns', value: 1_700_000_000_000_000_000n }, nullCount: 1n, rowCount: 6n },
      'a long array name for strings': {
        min: { kind: 'bytes', value: hex('') },
        max: { kind: 'bytes', value: new TextEncoder().encode('é漢😀') },
      },
      big: { max: floatFill(9999), nullCount: 0n, rowCount: 10000n },
    })
    if (last === '__file__') expect(byName[last]).toEqual({ min: null, max: null, nullCount: 1n, rowCount: 1n })
  })
})

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
const uint64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
const floatOf = (bits: bigint): number => new DataView(BigUint64Array.of(bits).buffer).getFloat64(0, true)
const value: fc.Arbitrary<StatValue> = fc.oneof(
  fc.record({ kind: fc.constantFrom('int' as const, 'timestamp_ns' as const), value: int64 }),
  fc.record({ kind: fc.constant('uint' as const), value: uint64 }),
  uint64.map((bits): StatValue => ({ kind: 'float', value: floatOf(bits), bits })),
  fc
    .constantFrom(0x7ff8000000000000n, 0xfff0000000000001n)
    .map((bits): StatValue => ({ kind: 'float', value: Number.NaN, bits })),
  fc.record({ kind: fc.constant('bytes' as const), value: fc.uint8Array() }),
)
const entries: fc.Arbitrary<ArrayStats[]> = fc.array(
  fc.record({
    name: fc.string({ unit: 'binary', maxLength: 24 }),
    min: fc.option(value),
    max: fc.option(value),
    nullCount: uint64,
    rowCount: uint64,
  }),
  { maxLength: 6 },
)

test('any statistics survive being written and read, and are then written the same', () => {
  fc.assert(
    fc.property(entries, fc.constantFrom(0 as const, 1 as const), (arrays, version) => {
      const payload = encodeStats(arrays, version)
      const decoded = decodeStats(payload)
      expect(decoded).toEqual({ version, arrays })
      expect(toHex(encodeStats(decoded.arrays, version))).toBe(toHex(payload))
    }),
    { numRuns: runs(400), seed: SEED },
  )
})

test('damaged statistics give a FormatError or statistics', () => {
  const next = random(SEED)
  const verdicts = { decoded: 0, rejected: 0 }
  for (const path of fixtures('.stats')) {
    for (let run = 0; run < 300; run++) {
      try {
        decodeStats(mutate(payloadOf(path), next))
        verdicts.decoded++
      } catch (error) {
        if (!isHyperslabError(error, 'FormatError') && !/statistics version/.test(String(error))) throw error
        verdicts.rejected++
      }
    }
  }
  expect(verdicts.decoded).toBeGreaterThan(200)
  expect(verdicts.rejected).toBeGreaterThan(500)
})

test.each<Partial<ArrayStats>>([
  { nullCount: -1n },
  { rowCount: 2n ** 64n },
  { name: '\ud800' },
  { min: { kind: 'bytes', value: 'x' as never } },
])('what does not fit is not written: case %#', (stats) => {
  caught('InvalidArgumentError', () => encodeStats([{ ...TEMPERATURE, ...stats }]))
})
