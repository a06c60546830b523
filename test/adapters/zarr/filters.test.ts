import { afterAll, describe, expect, test } from 'vitest'
import type { StoredType } from '../../../src/adapters/zarr/metadata.ts'
import { parseCodecs } from '../../../src/adapters/zarr/v3.ts'
import { type NumericDType, toBytes } from '../../../src/core/dtype.ts'
import { expectSameBytes, noise, sample } from '../../kernels/support.ts'
import { startNumcodecs } from '../../support/numcodecs.ts'
import { codec, decodeStored } from './support.ts'

const numcodecs = startNumcodecs()
afterAll(() => numcodecs?.close())

const TYPES: Record<string, StoredType> = {
  '|b1': { dtype: 'bool', kind: 'bool', bytes: 1 },
  '|i1': { dtype: 'int8', kind: 'int', bytes: 1 },
  '<i2': { dtype: 'int16', kind: 'int', bytes: 2 },
  '<i4': { dtype: 'int32', kind: 'int', bytes: 4 },
  '<i8': { dtype: 'int64', kind: 'int', bytes: 8 },
  '|u1': { dtype: 'uint8', kind: 'uint', bytes: 1 },
  '<u2': { dtype: 'uint16', kind: 'uint', bytes: 2 },
  '<u4': { dtype: 'uint32', kind: 'uint', bytes: 4 },
  '<u8': { dtype: 'uint64', kind: 'uint', bytes: 8 },
  '<f2': { dtype: 'float32', kind: 'float', bytes: 2 },
  '<f4': { dtype: 'float32', kind: 'float', bytes: 4 },
  '<f8': { dtype: 'float64', kind: 'float', bytes: 8 },
}
const EVERY = Object.keys(TYPES)
const COUNTS = [1, 3, 8, 1001]

/** Whole numbers from 0 to 99, in a type as numpy names it. */
function small(name: string, count: number): Uint8Array {
  const { dtype, bytes } = TYPES[name]!
  const values = Array.from(noise(count, 3), (byte) => byte % (name === '|b1' ? 2 : 100))
  if (name === '<f2') return toBytes(Uint16Array.from(values, (value) => halfBits(value)))
  const [length, view] = [count * bytes!, new DataView(new ArrayBuffer(count * bytes!))]
  const put = `set${
    dtype === 'bool'
      ? 'Uint8'
      : dtype
          .replace(/^(big)?./, (text) => text.toUpperCase())
          .replace('Uint64', 'BigUint64')
          .replace('Int64', 'BigInt64')
  }`
  for (const [i, value] of values.entries())
    (view as unknown as Record<string, (at: number, value: unknown, little: boolean) => void>)[put]!(
      i * bytes!,
      put.includes('Big') ? BigInt(value) : value,
      true,
    )
  return new Uint8Array(view.buffer, 0, length)
}

/** The bits of a whole number below 2048 as a float16. */
function halfBits(value: number): number {
  if (value === 0) return 0
  const exponent = Math.floor(Math.log2(value))
  return ((exponent + 15) << 10) | ((value / 2 ** exponent - 1) * 1024)
}

/**
 * Compares a filter with numcodecs: both decode the stored bytes alike, and elements are read from the
 * decoded bytes.
 */
async function compare(id: string, configuration: Record<string, unknown>, dtype: string, data: Uint8Array): Promise<void> {
  const stored = await numcodecs!.encode([{ id, ...configuration }], dtype, data)
  const expected = (await numcodecs!.decode([{ id, ...configuration }], stored))!
  const raw: StoredType = TYPES[dtype.replace('>', '<')]!
  const count = data.length / raw.bytes!
  const endian = dtype.startsWith('>') ? 'big' : 'little'
  const plain = await decodeStored([codec('bytes', { endian })], raw, [count], expected, count * sizeOf(raw))
  const codecs = [codec('bytes', { endian }), codec(id, configuration)]
  expectSameBytes(await decodeStored(codecs, raw, [count], stored, count * sizeOf(raw)), plain)
}

const sizeOf = ({ dtype, bytes }: StoredType): number => (dtype === 'float32' ? 4 : bytes!)

describe.skipIf(numcodecs === undefined)('filters decode as numcodecs does', () => {
  test('shuffle', async () => {
    for (const elementsize of [1, 2, 4, 8])
      for (const count of COUNTS) await compare('shuffle', { elementsize }, '<f8', toBytes(sample('float64', count, 1)))
    await compare('shuffle', {}, '<i4', toBytes(sample('int32', 77, 1)))
  })

  const DELTAS = EVERY.filter((name) => !['|b1', '<f2'].includes(name))
  test.each(DELTAS)('delta of %s', async (dtype) => {
    for (const count of COUNTS) {
      const { dtype: name } = TYPES[dtype]!
      if (!dtype.includes('f')) await compare('delta', { dtype }, dtype, toBytes(sample(name as NumericDType, count, 2)))
      await compare('delta', { dtype }, dtype, small(dtype, count))
      await compare('delta', { dtype, astype: '|i1' }, dtype, small(dtype, count))
      await compare('delta', { dtype, astype: '<i8' }, dtype, small(dtype, count))
    }
    const noisy = Float64Array.from({ length: 500 }, (_, i) => Math.sin(i) * 1e3)
    if (dtype === '<f8') await compare('delta', { dtype }, dtype, toBytes(noisy))
    // Bytes the other way round are other numbers, which are as good.
    const big = dtype.replace('<', '>')
    if (/^<[iu]/.test(dtype)) await compare('delta', { dtype: big }, big, small(dtype, 100))
    if (dtype === '<f4') await compare('delta', { dtype }, dtype, toBytes(Float32Array.from(noisy)))
  })

  test('fixedscaleoffset', async () => {
    for (const dtype of ['<f8', '<f4', '<f2', '<i4', '>f8'])
      for (const astype of ['|u1', '<i2', '>i2', '<i4', '<i8', '<f4', '<f8', undefined])
        for (const [scale, offset] of [
          [10, 3],
          [0.1, -2.5],
          [100, 0],
        ]) {
          if (dtype === '<f2' && astype === undefined) continue
          const data = small(dtype.replace('>', '<'), 200)
          if (dtype.startsWith('>')) for (let i = 0; i < data.length; i += 8) data.subarray(i, i + 8).reverse()
          const chosen = astype === '|u1' && scale === 100 ? 1 : scale
          const configuration = { dtype, scale: chosen, offset, ...(astype === undefined ? {} : { astype }) }
          await compare('fixedscaleoffset', configuration, dtype, data)
        }
  })

  test('packbits', async () => {
    for (const count of [1, 7, 8, 9, 64, 1001]) await compare('packbits', {}, '|b1', small('|b1', count))
  })

  test('astype, between all types of numbers', async () => {
    for (const decode of EVERY)
      for (const encode of EVERY)
        await compare('astype', { encode_dtype: encode, decode_dtype: decode }, decode, small(decode, 100))
  })

  test('quantize and bitround', async () => {
    const data = toBytes(Float64Array.from({ length: 300 }, (_, i) => Math.sin(i) * 100))
    await compare('quantize', { digits: 2, dtype: '<f8' }, '<f8', data)
    await compare('quantize', { digits: 2, dtype: '<f8', astype: '<f4' }, '<f8', data)
    await compare('quantize', { digits: 1, dtype: '<f8', astype: '<f2' }, '<f8', data)
    await compare('bitround', { keepbits: 7 }, '<f8', data)
  })

  test.each(['fletcher32', 'crc32', 'adler32', 'crc32c'])('%s', async (id) => {
    for (const count of [1, 2, 3, 359, 360, 721, 20_001]) {
      const data = noise(count, count)
      await compare(id, {}, '|u1', data)
      const stored = await numcodecs!.encode([{ id }], '|u1', data)
      const codecs = [codec('bytes'), codec(id)]
      for (const at of [0, count >> 1, stored.length - 1]) {
        const damaged = stored.slice()
        damaged[at]! ^= 1 << (count % 8)
        await expect(decodeStored(codecs, TYPES['|u1']!, [count], damaged)).rejects.toMatchObject({ tag: 'CodecError' })
      }
    }
    if (id !== 'fletcher32') await compare(id, { location: 'end' }, '|u1', noise(1000, 1))
    if (id !== 'fletcher32') await compare(id, { location: 'start' }, '|u1', noise(1000, 1))
  })

  test('several, one behind the other', async () => {
    const codecs = [
      { id: 'delta', dtype: '<i4', astype: '<i2' },
      { id: 'shuffle', elementsize: 2 },
      { id: 'zlib', level: 3 },
      { id: 'adler32' },
    ]
    const data = small('<i4', 999)
    const stored = await numcodecs!.encode(codecs, '<i4', data)
    const chain = [codec('bytes', { endian: 'little' }), ...codecs.map(({ id, ...configuration }) => codec(id, configuration))]
    expectSameBytes(await decodeStored(chain, TYPES['<i4']!, [999], stored), data)
  })
})

test('in version 3 filters come before bytes, which has the order of what they store', async () => {
  const stored = Uint8Array.of(0, 5, 0, 1, 0xff, 0xff)
  const codecs = [codec('delta', { dtype: '<i4', astype: '<i2' }), codec('bytes', { endian: 'big' })]
  const decoded = await decodeStored(codecs, TYPES['<i4']!, [3], stored)
  expect(new Int32Array(decoded.buffer)).toEqual(Int32Array.of(5, 6, 5))
})

test('floats that do not fit the integers they become are refused, not cut off', async () => {
  const stored = toBytes(Float64Array.of(1, 70_000))
  const codecs = [codec('bytes', { endian: 'little' }), codec('astype', { encode_dtype: '<f8', decode_dtype: '<i2' })]
  await expect(decodeStored(codecs, TYPES['<i2']!, [2], stored)).rejects.toThrow(/70000 does not fit 16 bits/)
})

test('configurations that are none', () => {
  const decode = (name: string, configuration: Record<string, unknown>): Promise<Uint8Array> =>
    decodeStored([codec('bytes', { endian: 'little' }), codec(name, configuration)], TYPES['<i4']!, [1], new Uint8Array(4))
  return Promise.all([
    expect(decode('delta', {})).rejects.toThrow(/delta: undefined is not a type of numbers/),
    expect(decode('delta', { dtype: '<c8' })).rejects.toThrow(/delta: "<c8" is not a type of numbers/),
    expect(decode('delta', { dtype: 'M8[s]' })).rejects.toThrow(/is not a type of numbers/),
    expect(decode('fixedscaleoffset', { scale: 'x', offset: 0 })).rejects.toThrow(/scale is not a number: "x"/),
    expect(decode('shuffle', { elementsize: -1 })).rejects.toThrow(/elementsize is not a size: -1/),
    expect(decode('crc32', { location: 'middle' })).rejects.toThrow(/neither 'start' nor 'end'/),
    expect(decode('bz2', {})).rejects.toThrow(/codec 'bz2' is not read here; pass one of that name in `codecs`/),
    expect(decode('vlen-array', {})).rejects.toThrow(/codec 'vlen-array' is not read here/),
    expect(decode('blosc', { cname: 'snappy' })).rejects.toThrow(/blosc with snappy inside is not read/),
  ])
})

describe('packbits of version 3', () => {
  /** The bits of elements, the least significant first, as bytes. */
  const packed = (elements: readonly bigint[], first: number, last: number): number[] => {
    const bits = elements.flatMap((element) =>
      Array.from({ length: last - first + 1 }, (_, i) => Number((element >> BigInt(first + i)) & 1n)),
    )
    return Array.from({ length: Math.ceil(bits.length / 8) }, (_, byte) =>
      bits.slice(8 * byte, 8 * byte + 8).reduce((sum, bit, i) => sum | (bit << i), 0),
    )
  }
  const codecsOf = (configuration?: object) =>
    parseCodecs([configuration === undefined ? 'packbits' : { name: 'packbits', configuration }])

  test('bools are a bit each, with and without a byte that tells the padding', async () => {
    const bools = [1, 0, 1, 1, 0, 0, 0, 1, 1]
    const bytes = packed(bools.map(BigInt), 0, 0)
    const decoded = (configuration: object | undefined, stored: readonly number[]) =>
      decodeStored(codecsOf(configuration), TYPES['|b1']!, [9], Uint8Array.from(stored))
    for (const [configuration, stored] of [
      [undefined, bytes],
      [{}, bytes],
      [{ padding_encoding: 'none' }, bytes],
      [{ padding_encoding: 'first_byte' }, [7, ...bytes]],
      [{ padding_encoding: 'start_byte' }, [7, ...bytes]],
      [{ padding_encoding: 'last_byte', first_bit: null, last_bit: null }, [...bytes, 7]],
    ] as const)
      expect([...(await decoded(configuration, stored))]).toEqual(bools)
    for (const [configuration, stored, text] of [
      [{ padding_encoding: 'first_byte' }, [6, ...bytes], /6 bits are said to be padding, and 7 are/],
      [{ padding_encoding: 'none' }, [7, ...bytes], /3 bytes instead of 2/],
      [{ padding_encoding: 'middle' }, bytes, /no padding_encoding "middle"/],
      [{ last_bit: 1 }, bytes, /last_bit is 1, of elements of 1 bits/],
    ] as const)
      await expect(async () => decoded(configuration, stored)).rejects.toThrow(text)
  })

  test.each([
    ['int16', '<i2', 0, 4, [1n, -1n, 15n, -16n]],
    ['int16', '<i2', 2, 9, [4n, -4n, 508n, -512n]],
    ['uint16', '<u2', 0, 11, [1n, 4095n, 2048n]],
    ['float32', '<f4', 0, 31, [0x3f800000n, 0xc0490fdbn]],
  ] as const)('bits of %s, %s, from %d to %d', async (_, type, first_bit, last_bit, values) => {
    const { bytes } = TYPES[type]!
    const stored = Uint8Array.from(packed(values.map((value) => BigInt.asUintN(64, value)), first_bit, last_bit)) // biome-ignore format: one line
    const decoded = await decodeStored(codecsOf({ first_bit, last_bit }), TYPES[type]!, [values.length], stored)
    const expected = values.flatMap((value) =>
      Array.from({ length: bytes! }, (_, i) => Number((BigInt.asUintN(64, value) >> BigInt(8 * i)) & 255n)),
    )
    expect([...decoded]).toEqual(expected)
  })
})
