import { describe, expect, test } from 'vitest'
import { statValueLayout } from '../../src/af/format/array-stats.ts'
import { FOOTER_FORMS } from '../../src/af/format/encode.ts'
import { type AttributeValue, floatFill } from '../../src/af/format/footer.ts'
import { ATTRIBUTE_TYPES, attributePairsLayout, attributeValueLayout } from '../../src/af/format/footer-attributes.ts'
import { type AfDType, dtypeLayout, fillValueLayout } from '../../src/af/format/footer-values.ts'
import { option, struct, unarchive } from '../../src/af/rkyv/layout.ts'
import { archive } from '../../src/af/rkyv/writer.ts'
import { caught, hex, i64, join, toHex, u64 } from './rkyv/support.ts'

test('sizes of all types', () => {
  const sizes = [dtypeLayout, fillValueLayout, statValueLayout, attributeValueLayout, attributePairsLayout].map(
    ({ size }) => size,
  )
  expect(sizes).toEqual([24, 24, 24, 24, 24])
  expect(option(fillValueLayout).size).toBe(32)
})

describe('dtypes', () => {
  const KINDS = 'bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 string binary - - timestamp_ns'.split(' ')

  test.each(KINDS.map((kind, tag) => [tag, kind] as const).filter(([, kind]) => kind !== '-'))('%i is %s', (tag, kind) => {
    const bytes = archive(dtypeLayout, { kind } as AfDType)
    expect(bytes).toEqual(Uint8Array.from({ length: 24 }, (_, index) => (index === 0 ? tag : 0)))
    expect(unarchive('test', dtypeLayout, bytes)).toEqual({ kind })
  })

  test('16 is none', () => {
    expect(caught('FormatError', () => unarchive('test', dtypeLayout, hex('10 00*23'))).message).toBe(
      'test payload, byte 0: dtype variant 16, expected 0 to 15',
    )
    caught('InvalidArgumentError', () => archive(dtypeLayout, { kind: 'float16' } as never))
  })

  const nested = (depth: number): AfDType =>
    Array.from({ length: depth }).reduce<AfDType>((child) => ({ kind: 'list', child }), { kind: 'int8' })
  /** The same in bytes: the innermost type, then lists that each point to what is in front of them. */
  const nestedBytes = (depth: number): Uint8Array => {
    const bytes = new Uint8Array(24 * (depth + 1)).fill(1, 0, 1)
    const list = join(hex('0e 00*7'), i64(-32), u64(0))
    for (let at = 24; at < bytes.byteLength; at += 24) bytes.set(list, at)
    return bytes
  }

  test('lists are nested 64 deep at most, unless more is allowed', () => {
    expect(unarchive('test', dtypeLayout, nestedBytes(64))).toEqual(nested(64))
    expect(toHex(archive(dtypeLayout, nested(64)))).toBe(toHex(nestedBytes(64)))
    for (const depth of [65, 100_000]) {
      const error = caught('FormatError', () => unarchive('test', dtypeLayout, nestedBytes(depth)))
      expect(error.message).toContain('nested more than 64 deep')
    }
    expect(unarchive('test', dtypeLayout, nestedBytes(65), 65)).toEqual(nested(65))
    caught('FormatError', () => unarchive('test', dtypeLayout, nestedBytes(2), 1))
    expect(unarchive('test', dtypeLayout, archive(dtypeLayout, nested(256)), 256)).toEqual(nested(256))
    caught('InvalidArgumentError', () => archive(dtypeLayout, nested(257)))
  })

  test('depth is not counted across siblings', () => {
    const layout = struct({ first: dtypeLayout, second: dtypeLayout })
    const value = { first: nested(64), second: nested(64) }
    expect(unarchive('test', layout, archive(layout, value))).toEqual(value)
  })
})

describe('attribute values', () => {
  const VALUES: [AttributeValue, string][] = [
    [{ type: 'bool', value: true }, '00 01 00*22'],
    [{ type: 'int8', value: -2 }, '01 fe 00*22'],
    [{ type: 'int16', value: -2 }, '02 00 fe ff 00*20'],
    [{ type: 'int32', value: -2 }, '03 00*3 fe ff*3 00*16'],
    [{ type: 'int64', value: -2n }, '04 00*7 fe ff*7 00*8'],
    [{ type: 'uint8', value: 250 }, '05 fa 00*22'],
    [{ type: 'uint16', value: 0xfffe }, '06 00 fe ff 00*20'],
    [{ type: 'uint32', value: 0xfffffffe }, '07 00*3 fe ff*3 00*16'],
    [{ type: 'uint64', value: 2n ** 64n - 2n }, '08 00*7 fe ff*7 00*8'],
    [{ type: 'float32', value: 1.5 }, '09 00*3 00 00 c0 3f 00*16'],
    [{ type: 'float64', value: -0 }, '0a 00*7 00*7 80 00*8'],
    [{ type: 'string', value: 'm' }, '0b 00*7 6d ff*15'],
  ]
  /** Lists of two elements, and the bytes of those. */
  const LISTS: [AttributeValue, string][] = [
    [{ type: 'binary', value: hex('01 02') }, '01 02'],
    [{ type: 'bool[]', value: [true, false] }, '01 00'],
    [{ type: 'int8[]', value: Int8Array.of(-2, 1) }, 'fe 01'],
    [{ type: 'int16[]', value: Int16Array.of(-2, 1) }, 'fe ff 01 00'],
    [{ type: 'int32[]', value: Int32Array.of(-2, 1) }, 'fe ff*3 01 00*3'],
    [{ type: 'int64[]', value: BigInt64Array.of(-2n, 1n) }, 'fe ff*7 01 00*7'],
    [{ type: 'uint8[]', value: Uint8Array.of(254, 1) }, 'fe 01'],
    [{ type: 'uint16[]', value: Uint16Array.of(65534, 1) }, 'fe ff 01 00'],
    [{ type: 'uint32[]', value: Uint32Array.of(2 ** 32 - 2, 1) }, 'fe ff*3 01 00*3'],
    [{ type: 'uint64[]', value: BigUint64Array.of(2n ** 64n - 2n, 1n) }, 'fe ff*7 01 00*7'],
    [{ type: 'float32[]', value: Float32Array.of(1, -0) }, '00 00 80 3f 00*3 80'],
    [{ type: 'float64[]', value: Float64Array.of(1, -0) }, '00*6 f0 3f 00*7 80'],
    [{ type: 'string[]', value: ['x', ''] }, '78 ff*15 ff*16'],
  ]

  test('the table is complete', () => {
    expect([...VALUES, ...LISTS].map(([{ type }]) => type)).toEqual(ATTRIBUTE_TYPES.slice(0, 25))
    expect(ATTRIBUTE_TYPES).toHaveLength(26)
  })

  test.each(VALUES.map(([value, bytes]) => [value.type, value, bytes] as const))('%s', (_, value, expected) => {
    const bytes = archive(attributeValueLayout, value)
    expect(toHex(bytes)).toBe(toHex(hex(expected)))
    expect(unarchive('test', attributeValueLayout, bytes)).toEqual(value)
  })

  test.each(LISTS.map(([value, data]) => [value.type, value, data] as const))('%s', (type, value, data) => {
    const elements = hex(data)
    const at = Math.ceil(elements.byteLength / 8) * 8
    const expected = join(
      elements,
      new Uint8Array(at - elements.byteLength),
      Uint8Array.of(ATTRIBUTE_TYPES.indexOf(type), 0, 0, 0, 0, 0, 0, 0),
      i64(-at - 8),
      u64(2),
    )
    const bytes = archive(attributeValueLayout, value)
    expect(toHex(bytes)).toBe(toHex(expected))
    expect(unarchive('test', attributeValueLayout, bytes)).toEqual(value)
  })

  test('binary[]', () => {
    const value: AttributeValue = { type: 'binary[]', value: [hex(''), hex('01 02 03')] }
    const bytes = archive(attributeValueLayout, value)
    expect(toHex(bytes)).toBe(
      toHex(join(hex('01 02 03 00*5'), i64(-8), u64(0), i64(-24), u64(3), hex('19 00*7'), i64(8 - 48), u64(2))),
    )
    expect(unarchive('test', attributeValueLayout, bytes)).toEqual(value)
  })

  test.each(['09 00*3 01 00 a0 ff 00*16', '0a 00*7 01 00 00 00 00 00 f4 7f 00*8'])('NaN keeps its bits: %s', (text) => {
    const value = unarchive('test', attributeValueLayout, hex(text))
    expect(value.value).toBeNaN()
    expect(toHex(archive(attributeValueLayout, value))).toBe(toHex(hex(text)))
  })

  test('bits and value of a float must agree', () => {
    caught('InvalidArgumentError', () => archive(attributeValueLayout, { type: 'float32', value: 1, bits: 0x7fc00000 }))
    caught('InvalidArgumentError', () => archive(attributeValueLayout, { type: 'float64', value: Number.NaN, bits: 0n }))
    caught('InvalidArgumentError', () => archive(fillValueLayout, { ...floatFill(1), value: 2 }))
  })

  test('a number that float32 rounds is written rounded', () => {
    const value = unarchive('test', attributeValueLayout, archive(attributeValueLayout, { type: 'float32', value: 0.1 }))
    expect(value).toEqual({ type: 'float32', value: Math.fround(0.1) })
  })

  test('26 is none', () => {
    caught('FormatError', () => unarchive('test', attributeValueLayout, hex('1a 00*23')))
  })

  test.each([
    { type: 'int8', value: 128 },
    { type: 'uint32', value: -1 },
    { type: 'int64', value: 2n ** 63n },
    { type: 'string', value: '\ud800' },
  ] as AttributeValue[])('$type $value does not fit its type', (value) => {
    caught('InvalidArgumentError', () => archive(attributeValueLayout, value))
  })
})

describe('attribute indices', () => {
  test.each([
    [16, '01 00 02 00 03 00 00 00', '00*8', 65535],
    [32, '01 00*3 02 00*3 03 00*3 00*4', '01 00*7', 2 ** 32 - 1],
    [64, '01 00*7 02 00*7 03 00*7 00*8', '02 00*7', Number.MAX_SAFE_INTEGER],
  ] as const)('of %i bits', (width, data, tag, largest) => {
    const pairs = { width, keys: [1, 3], values: [2, 0] }
    const bytes = archive(attributePairsLayout, pairs, FOOTER_FORMS)
    const elements = hex(data)
    expect(toHex(bytes)).toBe(toHex(join(elements, hex(tag), i64(-elements.byteLength - 8), u64(2))))
    expect(unarchive('test', attributePairsLayout, bytes)).toEqual(pairs)
    const most = { width, keys: [largest], values: [largest] }
    expect(unarchive('test', attributePairsLayout, archive(attributePairsLayout, most, FOOTER_FORMS))).toEqual(most)
    caught('InvalidArgumentError', () => archive(attributePairsLayout, { width, keys: [largest + 1], values: [0] }, FOOTER_FORMS))
  })

  test('are written sorted and read as they are', () => {
    const bytes = archive(attributePairsLayout, { width: 16, keys: [3, 1], values: [0, 2] }, FOOTER_FORMS)
    expect(unarchive('test', attributePairsLayout, bytes)).toEqual({ width: 16, keys: [1, 3], values: [2, 0] })
    const unsorted = join(hex('03 00 00 00 01 00 02 00 00*8'), i64(-16), u64(2))
    expect(unarchive('test', attributePairsLayout, unsorted)).toEqual({ width: 16, keys: [3, 1], values: [0, 2] })
  })

  test('come in pairs', () => {
    caught('InvalidArgumentError', () => archive(attributePairsLayout, { width: 16, keys: [1, 2], values: [1] }, FOOTER_FORMS))
    caught('InvalidArgumentError', () => archive(attributePairsLayout, { width: 16, keys: [1], values: [1, 2] }, FOOTER_FORMS))
    caught('InvalidArgumentError', () => archive(attributePairsLayout, { width: 8 as never, keys: [], values: [] }, FOOTER_FORMS))
  })
})
