import { describe, expect, test } from 'vitest'
import { chunkTable, encodeFooter, encodeFooterFile, withTrailer } from '../../src/af/format/encode.ts'
import {
  type ArrayMeta,
  type AttributeValue,
  decodeFooter,
  FOOTER_MAGIC,
  type Footer,
  floatFill,
  TRAILER_BYTES,
} from '../../src/af/format/footer.ts'
import { readChunks } from '../../src/af/format/footer-chunks.ts'
import { STATS_MAGIC } from '../../src/af/format/footer-trailer.ts'
import { fillValueLayout } from '../../src/af/format/footer-values.ts'
import { refuseVersion } from '../../src/af/format/other-versions.ts'
import { splitFile } from '../../src/af/format/stats-file.ts'
import { readTrailer } from '../../src/af/format/trailer-faults.ts'
import { option } from '../../src/af/rkyv/layout.ts'
import { Reader } from '../../src/af/rkyv/reader.ts'
import { archive } from '../../src/af/rkyv/writer.ts'
import { ascii, caught, fixture, hex, i64, join, toHex, u32, u64 } from './rkyv/support.ts'

const EMPTY: Footer = {
  version: 5,
  blocks: [],
  arrays: [],
  attributeKeys: [],
  attributeValues: [],
  overlayIndex: 0,
  baseFileHint: '',
}

const TEMPERATURE: ArrayMeta = {
  name: 'temperature',
  dtype: { kind: 'float32' },
  shape: [4],
  dimensionNames: ['x'],
  chunkShape: [4],
  chunks: chunkTable(1, [{ coord: [0], blockId: 0, offset: 0, size: 16 }]),
  fillValue: null,
  deleted: false,
  attributes: { width: 16, keys: [], values: [] },
}

const withArray = (array: Partial<ArrayMeta>): Footer => ({ ...EMPTY, arrays: [{ ...TEMPERATURE, ...array }] })
const withValues = (...attributeValues: AttributeValue[]): Footer => ({ ...EMPTY, attributeValues })

describe('worked examples of the format', () => {
  test.each([4, 5] as const)('an empty base, version %i: 108 bytes', (version) => {
    const file = join(
      hex(`0${version} 00*7`),
      ...[-8, -24, -40, -56].flatMap((offset) => [i64(offset), u64(0)]),
      hex('00*8 ff*16 60 00*7 41 52 52 46'),
    )
    expect(file.byteLength).toBe(108)
    expect(toHex(encodeFooterFile({ ...EMPTY, version }))).toBe(toHex(file))
    expect(decodeFooter(file.subarray(0, 96))).toEqual({ ...EMPTY, version })
  })

  const temperatureFile = join(
    hex('10 00 00 00 f0 01 00 00 80 3f 00 00 00 40 00 00 40 40 00 00 80 40'),
    // 0: block
    hex('00*8 00*8 16 00*7 10 00*7 01 00*7 6c 7a 34 ff*13'),
    // 56: shape, dimension names, chunk shape, coordinate
    hex('04 00*3 00*4 78 ff*15 04 00*3 00*4'),
    // 88: chunk
    hex('fc ff*7 01 00*7 00*4 00*4 10 00*3 00*4'),
    // 120: array
    ascii('temperature'),
    hex('ff*5 09 00*23'),
    ...[-104, -112, -112, -120].flatMap((offset) => [i64(offset), u64(1)]),
    hex('00*32 00*8 00*8'),
    join(i64(-152), u64(0)),
    // 288: footer
    hex('05 00*7'),
    join(i64(-296), u64(1), i64(-192), u64(1), i64(-40), u64(0), i64(-56), u64(0)),
    hex('00*8 ff*16 80 01 00*6 41 52 52 46'),
  )

  test('one array in one block: 418 bytes', () => {
    const block = { id: 0, fileOffset: 0, compressedBytes: 22, uncompressedBytes: 16, codec: 'lz4' }
    const footer = { ...EMPTY, blocks: [block], arrays: [TEMPERATURE] }
    expect(temperatureFile.byteLength).toBe(418)
    expect(toHex(fixture('basic_compact/t.af'))).toBe(toHex(temperatureFile))
    expect(toHex(encodeFooterFile(footer))).toBe(toHex(temperatureFile.subarray(22)))
    expect(decodeFooter(temperatureFile.subarray(22, 406))).toEqual(footer)
  })

  test('long strings, nested dtype, tombstone, attributes: 516 bytes', () => {
    const footer: Footer = {
      ...EMPTY,
      arrays: [
        {
          name: 'sea_surface_temperature',
          dtype: { kind: 'fixed_size_list', child: { kind: 'list', child: { kind: 'float64' } }, size: 3 },
          shape: [],
          dimensionNames: [],
          chunkShape: [],
          chunks: chunkTable(0),
          fillValue: { kind: 'bool', value: true },
          deleted: true,
          attributes: { width: 16, keys: [0, 1], values: [1, 0] },
        },
      ],
      attributeKeys: ['units', 'standard_name_vocabulary'],
      attributeValues: [
        { type: 'int16', value: -2 },
        { type: 'string[]', value: ['m', 'seventeen bytes!!'] },
      ],
    }
    const file = encodeFooterFile(footer)
    expect(file.byteLength).toBe(516)
    const at = (position: number, ...parts: Uint8Array[]) => {
      const expected = join(...parts)
      expect(toHex(file.subarray(position, position + expected.byteLength)), `at ${position}`).toBe(toHex(expected))
    }
    at(0, ascii('sea_surface_temperature'), hex('00 0a 00*23 0e 00*7'), i64(-32), hex('00*8'))
    at(72, hex('00 00 01 00 01 00 00 00 97 00*7'), i64(-80))
    at(96, hex('0d 00*7'), i64(-56), hex('03 00*7'))
    for (const position of [120, 136, 152, 168]) at(position, i64(72 - position), u64(0))
    at(184, hex('01 00*7 00 01 00*22 01 00*7 00*8'), i64(72 - 232), u64(2))
    at(248, ascii('standard_name_vocabulary'), ascii('units'), hex('ff*11 98 00*7'), i64(-40))
    at(304, ascii('seventeen bytes!!'), hex('00*7 6d ff*15 91 00*7'), i64(304 - 344))
    at(360, hex('02 00 fe ff 00*20 18 00*7'), i64(328 - 392), u64(2))
    at(408, hex('05 00*7'), i64(0 - 416), u64(0), i64(80 - 432), u64(1), i64(272 - 448), u64(2), i64(360 - 464), u64(2))
    expect(decodeFooter(file.subarray(0, 504))).toEqual(footer)
  })

  test('a fill value: NaN and none', () => {
    const layout = option(fillValueLayout)
    expect(toHex(archive(layout, floatFill(Number.NaN)))).toBe(toHex(hex('01 00*7 03 00*7 00*6 f8 7f 00*8')))
    expect(toHex(archive(layout, null))).toBe(toHex(hex('00*32')))
  })
})

describe('versions', () => {
  const empty = encodeFooter(EMPTY)
  const patched = (position: number, value: number, bytes = empty): Uint8Array => {
    const copy = bytes.slice()
    copy.set(u32(value), position)
    return copy
  }

  test.each([0, 1, 3, 6, 2 ** 31])('%i is not supported', (version) => {
    expect(caught('UnsupportedError', () => refuseVersion(patched(0, version))).message).toBe(
      `footer version ${new DataView(empty.buffer).getUint32(24, true)} or ${version}, expected 4, 5 or 6: a later program wrote the file, or it is damaged; update hyperslab`,
    )
    caught('InvalidArgumentError', () => encodeFooter({ ...EMPTY, version: version as 5 }))
  })

  test('4 with pointers of 32 bits is named', () => {
    const narrow = new Uint8Array(48)
    narrow.set(u32(4))
    for (const payload of [narrow, join(new Uint8Array(100), narrow)]) {
      const error = caught('UnsupportedError', () => refuseVersion(payload))
      expect(error.message).toContain('32-bit pointers')
    }
  })

  test('too few bytes for any version', () => {
    for (const bytes of [0, 1, 47, 48, 95]) caught('FormatError', () => decodeFooter(new Uint8Array(bytes)))
  })

  test('4 and 5 differ in the version only', () => {
    const values: AttributeValue = { type: 'string', value: 'm' }
    const five = encodeFooter({ ...withValues(values), arrays: [TEMPERATURE] })
    const four = encodeFooter({ ...withValues(values), arrays: [TEMPERATURE], version: 4 })
    expect(toHex(patched(five.byteLength - 96, 4, five))).toBe(toHex(four))
    expect(decodeFooter(four)).toEqual({ ...decodeFooter(five), version: 4 })
  })

  test('4 has no lists and no binaries', () => {
    const footer = withValues({ type: 'int8', value: 1 }, { type: 'binary', value: hex('01') })
    const five = encodeFooter(footer)
    const message = 'attribute value 1 has the type binary (12), unknown in footer version 4'
    expect(caught('FormatError', () => decodeFooter(patched(five.byteLength - 96, 4, five))).message).toBe(message)
    expect(caught('InvalidArgumentError', () => encodeFooter({ ...footer, version: 4 })).message).toBe(message)
  })
})

describe('trailers', () => {
  const trailer = (bytes: number | bigint, magic: string) => join(u64(bytes), ascii(magic))

  test('round trip', () => {
    const file = join(hex('aa bb cc'), withTrailer(hex('01 02'), STATS_MAGIC))
    expect(toHex(file)).toBe(toHex(hex('aa bb cc 01 02 02 00*7 41 52 53 54')))
    expect(splitFile(file, STATS_MAGIC)).toEqual({ payload: hex('01 02'), dataBytes: 3 })
  })

  test('the end of a file of any length will do', () => {
    expect(readTrailer(trailer(96, 'ARRF'), FOOTER_MAGIC)).toBe(96)
    expect(readTrailer(join(hex('00*50'), trailer(96, 'ARRF')), FOOTER_MAGIC, 108)).toBe(96)
    const error = caught('FormatError', () => readTrailer(trailer(96, 'ARRF').subarray(1), FOOTER_MAGIC))
    expect(error.message).toBe('11 bytes are too few for the trailer, expected 12')
    expect(TRAILER_BYTES).toBe(12)
  })

  test.each(['ARST', 'ARRf', 'PK\x05\x06', '\xff\xff\xff\xff'])('magic %j', (magic) => {
    const error = caught('FormatError', () => readTrailer(trailer(96, magic), FOOTER_MAGIC))
    expect(error.details).toMatchObject({ actual: magic, expected: 'ARRF' })
  })

  test('the payload fits in front', () => {
    expect(readTrailer(trailer(96, 'ARRF'), FOOTER_MAGIC, 108)).toBe(96)
    const error = caught('FormatError', () => readTrailer(trailer(97, 'ARRF'), FOOTER_MAGIC, 108))
    expect(error.message).toBe('the trailer announces a payload of 97 bytes, but the file has room for 96')
    caught('FormatError', () => readTrailer(trailer(2n ** 53n, 'ARRF'), FOOTER_MAGIC))
    caught('FormatError', () => readTrailer(trailer(2n ** 64n - 1n, 'ARRF'), FOOTER_MAGIC, 108))
  })
})

describe('chunks and sizes', () => {
  test('a coordinate of another rank', () => {
    const payload = encodeFooter(withArray({}))
    // The array is the 168 bytes in front of the root, and its coordinate the only thing with this pattern.
    const entry = toHex(payload).indexOf(toHex(hex('fc ff*7 01 00*7'))) / 2
    payload.set(u64(0), entry + 8)
    const error = caught('FormatError', () => decodeFooter(payload))
    expect(error.message).toBe(
      `array 'temperature': footer payload, byte ${entry}: chunk 0 has a coordinate of 0 axes, but the array has 1`,
    )
    expect(error.details).toMatchObject({ array: 'temperature', actual: 0, expected: 1 })
  })

  test('many coordinates of many axes in few bytes are refused before memory is allocated for them', () => {
    const [length, rank] = [20_000, 20_000]
    const entries = new Uint8Array(32 * length)
    for (let index = 0; index < length; index++) entries.set(u64(rank), 32 * index + 8)
    const payload = join(entries, i64(-entries.byteLength), u64(length))
    const reader = new Reader('test', payload)
    expect(caught('FormatError', () => readChunks(reader, entries.byteLength, rank)).message).toContain('1600000000 bytes')
  })

  test('tables are checked when they are made and written', () => {
    caught('InvalidArgumentError', () => chunkTable(2, [{ coord: [1], blockId: 0, offset: 0, size: 0 }]))
    caught('InvalidArgumentError', () => chunkTable(0, [{ coord: [], blockId: 0, offset: 2 ** 32, size: 0 }]))
    expect(caught('InvalidArgumentError', () => encodeFooter(withArray({ chunks: chunkTable(2) }))).details.array).toBe(
      'temperature',
    )
    caught('InvalidArgumentError', () =>
      encodeFooter(withArray({ chunks: { ...TEMPERATURE.chunks, sizes: new Uint32Array(2) } })),
    )
  })

  test('scalars and arrays without chunks', () => {
    const row = { coord: [], blockId: 1, offset: 2, size: 3 }
    for (const rows of [[], [row], [row, row]]) {
      const footer = withArray({ shape: [], chunkShape: [], dimensionNames: [], chunks: chunkTable(0, rows) })
      expect(decodeFooter(encodeFooter(footer))).toEqual(footer)
    }
    const none = withArray({ chunks: chunkTable(1) })
    expect(decodeFooter(encodeFooter(none))).toEqual(none)
  })

  test('sizes are exact up to 2^53 - 1', () => {
    const block = { id: 7, fileOffset: 2 ** 53 - 1, compressedBytes: 2 ** 33 + 1, uncompressedBytes: 2 ** 52 + 1, codec: null }
    const payload = encodeFooter({ ...EMPTY, blocks: [block] })
    expect(decodeFooter(payload).blocks).toEqual([block])
    caught('InvalidArgumentError', () => encodeFooter({ ...EMPTY, blocks: [{ ...block, fileOffset: 2 ** 53 }] }))
    payload.set(u64(2n ** 53n), 8)
    expect(caught('FormatError', () => decodeFooter(payload)).message).toBe(
      'footer payload, byte 8: 9007199254740992 is more than 2^53 - 1',
    )
  })

  test.each<Partial<ArrayMeta>>([
    { shape: [2 ** 32] },
    { chunkShape: [-1] },
    { dimensionNames: ['\udc00'] },
    { deleted: 1.5 as never },
  ])('an array that does not fit is named: %o', (array) => {
    expect(caught('InvalidArgumentError', () => encodeFooter(withArray(array))).message).toMatch(/^array 'temperature': /)
  })
})
