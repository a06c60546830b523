import { describe, expect, test } from 'vitest'
import { encodeFooter, encodeFooterFile } from '../../src/af/format/encode.ts'
import { type AttributeValue, checkFooter, decodeFooter, FOOTER_MAGIC, type Footer } from '../../src/af/format/footer.ts'
import { splitFile } from '../../src/af/format/stats-file.ts'
import { caught, fixture, fixtures, hex, toHex } from './rkyv/support.ts'

const open = (path: string): { footer: Footer; payload: Uint8Array; dataBytes: number } => {
  const { payload, dataBytes } = splitFile(fixture(path), FOOTER_MAGIC)
  return { footer: decodeFooter(payload), payload, dataBytes }
}

const byName = ({ arrays }: Footer, name: string) => arrays.find((array) => array.name === name)!

const REJECTED: Record<string, { text: string; actual: unknown; expected: unknown }> = {
  'hostile/b_chunk_offset_oob.af': {
    text: "array 'temperature': chunk [0] has 16 bytes at 1000, beyond the 16 bytes of block 0",
    actual: 1000,
    expected: 16,
  },
  'hostile/d_block_beyond_file.af': {
    text: 'block 0 has 22 bytes at 1000000, beyond the 22 bytes of data in the file',
    actual: [1000000, 22],
    expected: 22,
  },
  'hostile/g_footer_size_gt_file.af': {
    text: 'the trailer announces a payload of 1000000 bytes, but the file has room for 406',
    actual: 1000000n,
    expected: 406,
  },
  'hostile/j_chunk_coord_rank.af': {
    text: "array 'temperature': footer payload, byte 88: chunk 0 has a coordinate of 0 axes, but the array has 1",
    actual: 0,
    expected: 1,
  },
}

const ACCEPTED = fixtures('.af').filter((path) => !(path in REJECTED))

test('there are fixtures', () => {
  expect(ACCEPTED).toHaveLength(29)
  expect(ACCEPTED.filter((path) => path.startsWith('hostile/')).map((path) => path.slice(8))).toEqual([
    'a_ok.af',
    'i_lz4_prefix_4GiB.af',
    'n_codec_none_but_lz4.af',
    'o_unknown_codec.af',
    'vlen_a_good.af',
    'vlen_b_descending.af',
    'vlen_e_bad_utf8.af',
  ])
})

describe('what the reference wrote', () => {
  test.each(ACCEPTED)('%s is accepted and rewritten byte for byte', (path) => {
    const { footer, payload, dataBytes } = open(path)
    checkFooter(footer, dataBytes)
    expect(toHex(encodeFooter(footer))).toBe(toHex(payload))
    expect(toHex(encodeFooterFile(footer))).toBe(toHex(fixture(path).subarray(dataBytes)))
  })

  test.each(Object.entries(REJECTED))('%s is rejected', (path, { text, ...details }) => {
    const error = caught('FormatError', () => {
      const { footer, dataBytes } = open(path)
      checkFooter(footer, dataBytes)
    })
    expect(error.message).toBe(text)
    expect(error.details).toMatchObject(details)
  })
})

test.each([
  ['basic/t.af', 5, 0, ''],
  ['basic/t.1.af', 5, 1, 't.af'],
  ['v4_basic/t.1.af', 4, 1, 't.af'],
  ['corpus_lz4/all.3.af', 5, 3, 'all.af'],
  ['v4_corpus_zstd/all.2.af', 4, 2, 'all.af'],
  ['corpus_none_compact/all.af', 5, 0, ''],
])('%s: version %i, overlay %i of %j', (path, version, overlayIndex, baseFileHint) => {
  expect(open(path).footer).toMatchObject({ version, overlayIndex, baseFileHint })
})

const SCALARS: AttributeValue[] = [
  { type: 'string', value: 'hPa' },
  { type: 'string', value: 'a string longer than sixteen bytes' },
  { type: 'bool', value: true },
  { type: 'int8', value: -1 },
  { type: 'float32', value: 1.5 },
  { type: 'float64', value: Number.NaN, bits: 0x7ff8000000000000n },
]
const LISTS: AttributeValue[] = [
  { type: 'binary', value: hex('01 02 03') },
  { type: 'bool[]', value: [true, false] },
  { type: 'int32[]', value: Int32Array.of(1, -2, 3) },
  { type: 'uint64[]', value: BigUint64Array.of(2n ** 64n - 1n) },
  { type: 'float64[]', value: Float64Array.of(0.5, Number.POSITIVE_INFINITY) },
  { type: 'string[]', value: ['x', '', 'seventeen bytes!!'] },
]

describe.each([
  ['corpus_lz4/all.1.af', 'lz4', 4188, 3435],
  ['v4_corpus_zstd/all.1.af', 'zstd', 4188, 1957],
  ['corpus_none_compact/all.af', null, 4188, 4188],
] as const)('the content of %s', (path, codec, uncompressedBytes, compressedBytes) => {
  const { footer, dataBytes } = open(path)

  test('blocks', () => {
    expect(footer.blocks).toHaveLength(8)
    expect(footer.blocks[0]).toEqual({ id: 0, fileOffset: 0, compressedBytes, uncompressedBytes, codec })
    const ends = footer.blocks.map(({ fileOffset, compressedBytes }) => fileOffset + compressedBytes)
    expect([0, ...ends]).toEqual([...footer.blocks.map(({ fileOffset }) => fileOffset), dataBytes])
  })

  test('arrays', () => {
    const names = [
      'u8',
      'u16',
      'u32',
      'u64',
      'i8',
      'i16',
      'i32',
      'i64',
      'f32',
      'f64',
      'time',
      'a long array name for strings',
      'bin',
      'big',
    ]
    expect(footer.arrays.map(({ name }) => name)).toEqual([...names, codec === null ? '__file__' : 'doomed'])
    const kinds = footer.arrays.map(({ dtype }) => dtype.kind)
    expect(kinds.slice(0, 8)).toEqual(['uint8', 'uint16', 'uint32', 'uint64', 'int8', 'int16', 'int32', 'int64'])
    expect(kinds.slice(8)).toEqual(['float32', 'float64', 'timestamp_ns', 'string', 'binary', 'float32', 'uint8'])
    expect(byName(footer, 'i16')).toEqual({
      name: 'i16',
      dtype: { kind: 'int16' },
      shape: [7, 5],
      dimensionNames: ['y', 'x'],
      chunkShape: [3, 2],
      chunks: {
        length: 6,
        rank: 2,
        coords: Uint32Array.of(0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 2),
        blockIds: new Uint32Array(6),
        offsets: Uint32Array.of(480, 492, 504, 510, 522, 534),
        sizes: Uint32Array.of(12, 12, 6, 12, 12, 6),
      },
      fillValue: null,
      deleted: false,
      attributes: { width: 16, keys: [], values: [] },
    })
    expect(byName(footer, 'big').chunks).toMatchObject({
      length: 15,
      rank: 1,
      coords: Uint32Array.from({ length: 15 }, (_, i) => i),
    })
    expect(byName(footer, 'a long array name for strings').dimensionNames).toEqual(['dimension with a long name'])
  })

  test('fill values', () => {
    const fills = Object.fromEntries(footer.arrays.map(({ name, fillValue }) => [name, fillValue]))
    expect(fills).toMatchObject({
      u8: { kind: 'uint', value: 255n },
      u16: null,
      u64: { kind: 'uint', value: 2n ** 64n - 1n },
      i8: { kind: 'int', value: -1n },
      i64: { kind: 'int', value: -(2n ** 63n) },
      f32: { kind: 'float', value: Number.NaN, bits: 0x7ff8000000000000n },
      f64: { kind: 'float', value: -0, bits: 2n ** 63n },
      time: { kind: 'timestamp_ns', value: -(2n ** 63n) },
    })
  })

  test('attributes', () => {
    const lists = footer.version === 5 ? 7 : 0
    const { keys, values, width } = byName(footer, 'f32').attributes
    expect(width).toBe(16)
    expect(keys.map((key) => footer.attributeKeys[key])).toEqual(
      ['units', 'long', 'b', 'i8', 'f', 'd', 'bin', 'bl', 'i32l', 'u64l', 'f64l', 'sl', 'bbl'].slice(0, 6 + lists),
    )
    const all = values.map((value) => footer.attributeValues[value]!)
    expect(all.slice(0, 12)).toEqual([...SCALARS, ...LISTS].slice(0, 6 + lists))
    if (lists > 0) expect(all[12]).toMatchObject({ type: 'binary[]', value: [hex(''), expect.any(Uint8Array)] })
  })
})

test('a layer with a deleted array', () => {
  const { arrays, blocks } = open('corpus_lz4/all.2.af').footer
  expect(arrays.map(({ name, deleted, chunks }) => [name, deleted, chunks.length])).toEqual([
    ['f32', false, 3],
    ['doomed', true, 0],
  ])
  expect(blocks).toEqual([{ id: 0, fileOffset: 0, compressedBytes: 60, uncompressedBytes: 60, codec: 'lz4' }])
})

test('a layer with a scalar', () => {
  const { arrays, attributeKeys, attributeValues } = open('v4_corpus_zstd/all.3.af').footer
  expect(arrays).toMatchObject([{ name: '__file__', dtype: { kind: 'uint8' }, shape: [], chunks: { length: 0, rank: 0 } }])
  expect([attributeKeys, attributeValues]).toEqual([['title'], [{ type: 'string', value: 't' }]])
})

test('dictionaries that extend each other', () => {
  const values = [1, 2, 3, 4, 5].map((layer) =>
    open(`prefix_dictionaries/t.${layer}.af`).footer.attributeValues.map(({ value }) => value),
  )
  expect(values).toEqual([['m'], ['m', 'hello'], [], ['m', 'hello', 'T'], ['m', 'hello', 'T', 'km']])
  expect(open('prefix_dictionaries/t.5.af').footer.arrays[0]?.attributes).toEqual({ width: 16, keys: [0, 1], values: [3, 1] })
})

test('what defects of the reference left behind', () => {
  expect(open('reference_bugs/d02/t.af').footer.arrays.map(({ name, attributes }) => [name, attributes.keys])).toEqual([
    ['A', [0]],
    ['B', [0]],
  ])
  expect(open('reference_bugs/d03/t.af').footer.arrays[0]).toMatchObject({ shape: [4], chunkShape: [2], chunks: { length: 2 } })
})
