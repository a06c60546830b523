import { afterAll, expect, test } from 'vitest'
import type { StoredType } from '../../../src/adapters/zarr/metadata.ts'
import { toBytes } from '../../../src/core/dtype.ts'
import { decodeChunk } from '../../../src/engine/chunk-values.ts'
import { startNumcodecs } from '../../support/numcodecs.ts'
import { codec, decodeStored } from './support.ts'

const LITTLE = [codec('bytes', { endian: 'little' })]
const numcodecs = startNumcodecs()
afterAll(() => numcodecs?.close())

test('float16: every one of them', async () => {
  const type: StoredType = { dtype: 'float32', kind: 'float', bytes: 2 }
  for (const count of [65_536, 65_535, 3, 1]) {
    const bits = Uint16Array.from({ length: count }, (_, i) => i)
    const decoded = await decodeStored(LITTLE, type, [count], toBytes(bits))
    const [floats, found] = [new Float32Array(decoded.buffer), new Uint32Array(decoded.buffer)]
    const wrong = bits.findIndex((half) => {
      const [sign, exponent, fraction] = [half >> 15, (half >> 10) & 31, half & 1023]
      if (exponent === 31) return found[half] !== ((sign << 31) | 0x7f800000 | (fraction << 13)) >>> 0
      const value = exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15)
      return !Object.is(floats[half], sign ? -value : value)
    })
    expect(wrong).toBe(-1)
  }
})

test('bfloat16, in both orders of bytes', async () => {
  const type: StoredType = { dtype: 'float32', kind: 'bfloat16', bytes: 2 }
  const stored = Uint8Array.of(0x80, 0x3f, 0xc0, 0xff, 0x80, 0x7f, 0x01, 0x00, 0x20, 0xc0)
  const decoded = await decodeStored(LITTLE, type, [5], stored)
  expect(new Float32Array(decoded.buffer)).toEqual(Float32Array.of(1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** -133, -2.5))
  const turned = await decodeStored([codec('bytes', { endian: 'big' })], type, [2], Uint8Array.of(0x3f, 0x80, 0xc0, 0x20))
  expect(new Float32Array(turned.buffer)).toEqual(Float32Array.of(1, -2.5))
})

test('bools are 0 and 1, whatever is stored', async () => {
  const type: StoredType = { dtype: 'bool', kind: 'bool', bytes: 1 }
  expect(await decodeStored([codec('bytes')], type, [4], Uint8Array.of(0, 1, 2, 255))).toEqual(Uint8Array.of(0, 1, 1, 1))
})

const LEAST = -(2n ** 63n)

test.each<[string, bigint[], bigint[]]>([
  [
    's',
    [0n, -1n, LEAST, 9_223_372_036n, -9_223_372_036n],
    [0n, -1_000_000_000n, LEAST, 9_223_372_036_000_000_000n, -9_223_372_036_000_000_000n],
  ],
  ['10ms', [3n, LEAST], [30_000_000n, LEAST]],
  ['ns', [5n, LEAST, 2n ** 63n - 1n], [5n, LEAST, 2n ** 63n - 1n]],
  ['D', [1n], [86_400_000_000_000n]],
  ['M', [1n, -1n, LEAST], [31n * 86_400_000_000_000n, -31n * 86_400_000_000_000n, LEAST]],
  ['ps', [-7000n, LEAST], [-7n, LEAST]],
])('datetimes in units of %s', async (unit, stored, expected) => {
  const type: StoredType = { dtype: 'timestamp_ns', kind: 'datetime', bytes: 8, unit }
  const decoded = await decodeStored(LITTLE, type, [stored.length], toBytes(BigInt64Array.from(stored)))
  expect([...new BigInt64Array(decoded.buffer)]).toEqual(expected)
})

test.each<[string, bigint, RegExp]>([
  ['s', 9_223_372_037n, /the datetime 9223372037 in units of s is not a whole number of nanoseconds/],
  ['s', -9_223_372_037n, /the datetime -9223372037 in units of s/],
  ['W', LEAST + 1n, /the datetime -9223372036854775807 in units of W/],
  ['2000000000W', 1n, /the datetime 1 in units of 2000000000W/],
  ['Y', 10_000n, /the datetime 10000 in units of Y/],
  ['ps', 1n, /the datetime 1 in units of ps/],
])('a datetime that nanoseconds do not hold: units of %s, %d', async (unit, time, message) => {
  const type: StoredType = { dtype: 'timestamp_ns', kind: 'datetime', bytes: 8, unit }
  const stored = toBytes(BigInt64Array.of(1n, time).subarray(1))
  await expect(decodeStored(LITTLE, type, [1], stored)).rejects.toThrow(message)
})

test('differences of times keep their unit', async () => {
  const type: StoredType = { dtype: 'int64', kind: 'timedelta', bytes: 8, unit: 'h' }
  const decoded = await decodeStored(LITTLE, type, [2], toBytes(BigInt64Array.of(5n, LEAST)))
  expect([...new BigInt64Array(decoded.buffer)]).toEqual([5n, LEAST])
})

test('bytes of a fixed length end before the NULs, raw ones do not', async () => {
  const stored = Uint8Array.of(1, 0, 2, 0, 0, 0, 0, 3, 4, 5, 6, 0)
  const trimmed: StoredType = { dtype: 'binary', kind: 'fixed-bytes', bytes: 4 }
  const bytes = (...lists: number[][]): Uint8Array[] => lists.map((list) => Uint8Array.from(list))
  expect(decodeChunk('binary', await decodeStored([codec('bytes')], trimmed, [3], stored), 3)).toEqual(
    bytes([1, 0, 2], [0, 0, 0, 3], [4, 5, 6]),
  )
  const raw: StoredType = { ...trimmed, kind: 'raw' }
  expect(decodeChunk('binary', await decodeStored([codec('bytes')], raw, [3], stored), 3)).toEqual(
    bytes([1, 0, 2, 0], [0, 0, 0, 3], [4, 5, 6, 0]),
  )
})

const TEXTS = ['', 'a', 'aé', '水b', '😀', 'a\0b', 'abcde', '\u{10ffff}\u07ff\u0800\uffff']

test('text of a fixed length, in both orders of bytes, compressed and in order F', async () => {
  const type: StoredType = { dtype: 'string', kind: 'fixed-text', bytes: 20 }
  for (const endian of ['little', 'big']) {
    const view = new DataView(new ArrayBuffer(TEXTS.length * 20))
    const put = (texts: readonly string[]): Uint8Array => {
      for (const [i, text] of texts.entries())
        for (const [j, character] of [...text].entries())
          view.setUint32(20 * i + 4 * j, character.codePointAt(0)!, endian === 'little')
      return new Uint8Array(view.buffer)
    }
    const stored = put(TEXTS).slice()
    const codecs = [codec('bytes', { endian })]
    expect(decodeChunk('string', await decodeStored(codecs, type, [8], stored), 8)).toEqual(TEXTS)
    const turned = await decodeStored([codec('transpose', { order: [1, 0] }), ...codecs], type, [4, 2], stored)
    expect(decodeChunk('string', turned, 8)).toEqual([0, 4, 1, 5, 2, 6, 3, 7].map((i) => TEXTS[i]))
  }
})

test('what is no character is refused', async () => {
  const type: StoredType = { dtype: 'string', kind: 'fixed-text', bytes: 4 }
  for (const code of [0xd800, 0xdfff, 0x110000, 0xffffffff])
    await expect(decodeStored(LITTLE, type, [1], toBytes(Uint32Array.of(code)))).rejects.toThrow(
      `a text has 0x${code.toString(16)} as a character`,
    )
})

const STRING: StoredType = { dtype: 'string', kind: 'string', bytes: undefined }
const BINARY: StoredType = { dtype: 'binary', kind: 'binary', bytes: undefined }

/** Values behind their lengths. */
function prefixed(values: readonly Uint8Array[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(values.reduce((sum, { length }) => sum + 4 + length, 4)))
  view.setUint32(0, values.length, true)
  let at = 4
  for (const value of values) {
    view.setUint32(at, value.length, true)
    new Uint8Array(view.buffer).set(value, at + 4)
    at += 4 + value.length
  }
  return new Uint8Array(view.buffer)
}

test('strings and bytes of their own lengths, in any order of axes', async () => {
  const values = TEXTS.map((text) => new TextEncoder().encode(text))
  const stored = prefixed(values)
  expect(decodeChunk('string', await decodeStored([codec('vlen-utf8')], STRING, [8], stored), 8)).toEqual(TEXTS)
  expect(decodeChunk('binary', await decodeStored([codec('vlen-bytes')], BINARY, [8], stored), 8)).toEqual(values)
  const turned = [codec('transpose', { order: [1, 0] }), codec('vlen-utf8')]
  expect(decodeChunk('string', await decodeStored(turned, STRING, [4, 2], stored), 8)).toEqual(
    [0, 4, 1, 5, 2, 6, 3, 7].map((i) => TEXTS[i]),
  )
})

test('damaged strings of their own lengths end in an error', async () => {
  const stored = prefixed(TEXTS.map((text) => new TextEncoder().encode(text)))
  const decode = (bytes: Uint8Array): Promise<Uint8Array> => decodeStored([codec('vlen-utf8')], STRING, [8], bytes)
  for (let length = 1; length < stored.length; length++)
    await expect(decode(stored.subarray(0, length)), `${length} bytes`).rejects.toMatchObject({ tag: 'CodecError' })
  const longer = new Uint8Array(stored.length + 1)
  longer.set(stored)
  await expect(decode(longer)).rejects.toThrow(/1 bytes behind the last value/)
  const another = stored.slice()
  another[0] = 7
  await expect(decode(another)).rejects.toThrow(/they are 7 values instead of 8/)
  another[0] = 8
  another[7] = 255
  await expect(decode(another)).rejects.toThrow(/value 0 of 8 has \d+ bytes of/)
})

test.skipIf(numcodecs === undefined)('strings as numcodecs writes them, compressed', async () => {
  const texts = Array.from({ length: 500 }, (_, i) => TEXTS[i % 8]!.replaceAll('\0', '').repeat(i % 5))
  for (const compressor of [
    { id: 'blosc', cname: 'lz4' },
    { id: 'blosc', cname: 'zstd' },
    { id: 'zstd' },
    { id: 'lz4' },
    { id: 'gzip' },
    { id: 'zlib' },
  ]) {
    const stored = await numcodecs!.encodeTexts([{ id: 'vlen-utf8' }, compressor], texts)
    const { id, ...configuration } = compressor
    const codecs = [codec('vlen-utf8'), codec(id, configuration)]
    expect(decodeChunk('string', await decodeStored(codecs, STRING, [500], stored), 500), id).toEqual(texts)
    await expect(decodeStored(codecs, STRING, [500], stored.subarray(0, -9)), id).rejects.toMatchObject({ tag: 'CodecError' })
  }
})

test('compressed strings of which nobody says how long they are', async () => {
  const stored = prefixed([Uint8Array.of(65, 66)])
  // A frame without its size, of one block that is not compressed.
  const frame = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0, 0, (stored.length << 3) | 1, 0, 0, ...stored)
  const decode = (name: string, bytes: Uint8Array): Promise<Uint8Array> =>
    decodeStored([codec('vlen-utf8'), codec(name)], STRING, [1], bytes)
  expect(decodeChunk('string', await decode('zstd', frame), 1)).toEqual(['AB'])
  await expect(decode('zstd', frame.subarray(0, -1))).rejects.toMatchObject({ tag: 'CodecError' })
  const lz4 = Uint8Array.of(stored.length, 0, 0, 0, stored.length << 4, ...stored)
  expect(decodeChunk('string', await decode('lz4', lz4), 1)).toEqual(['AB'])
  await expect(decode('lz4', lz4.with(3, 0x7f))).rejects.toThrow(/15 bytes cannot decode to 2130706442/)
})

test("a user's codec decodes in place of one of the package, and is told what is known", async () => {
  const asked: number[] = []
  const own = (name: string) => ({
    name,
    decode(bytes: Uint8Array, decodedBytes: number) {
      asked.push(decodedBytes)
      return bytes.map((byte) => byte ^ 255)
    },
  })
  const type: StoredType = { dtype: 'int16', kind: 'int', bytes: 2 }
  const codecs = [codec('bytes', { endian: 'big' }), codec('bz2')]
  const decoded = await decodeStored(codecs, type, [2], Uint8Array.of(255, 254, 254, 255), 4, [own('bz2')])
  expect(new Int16Array(decoded.buffer)).toEqual(Int16Array.of(1, 256))
  const stored = prefixed([Uint8Array.of(65)]).map((byte) => byte ^ 255)
  const text = await decodeStored([codec('vlen-utf8'), codec('bz2')], STRING, [1], stored, Infinity, [own('bz2')])
  expect(decodeChunk('string', text, 1)).toEqual(['A'])
  const gzip = await decodeStored(
    [codec('bytes'), codec('gzip')],
    { ...type, dtype: 'int8', bytes: 1 },
    [1],
    Uint8Array.of(254),
    1,
    [own('gzip')],
  )
  expect(gzip).toEqual(Uint8Array.of(1))
  expect(asked).toEqual([4, Infinity, 1])
})

test('codecs in an order that makes no sense', async () => {
  const type: StoredType = { dtype: 'int16', kind: 'int', bytes: 2 }
  const decode = (...names: string[]): Promise<Uint8Array> =>
    decodeStored(
      names.map((name) => codec(name, name === 'bytes' ? { endian: 'little' } : name === 'transpose' ? { order: [0] } : {})),
      type,
      [1],
      new Uint8Array(2),
    )
  await expect(decode('gzip', 'bytes')).rejects.toThrow(/codec 'gzip' comes before the one that makes bytes of elements/)
  await expect(decode('bytes', 'transpose')).rejects.toThrow(/codec 'transpose' comes behind the one/)
  await expect(decode('bytes', 'bytes')).rejects.toThrow(/codec 'bytes' comes behind the one/)
  await expect(decode('transpose')).rejects.toThrow(/none of the codecs 'transpose' makes bytes of elements/)
  await expect(decode('vlen-utf8')).rejects.toThrow(/vlen-utf8: elements have 2 bytes each/)
  await expect(decodeStored([codec('bytes')], type, [1], new Uint8Array(2))).rejects.toThrow(
    /numbers of 2 bytes have no byte order/,
  )
  await expect(decodeStored([codec('bytes')], STRING, [1], new Uint8Array(2))).rejects.toThrow(/elements of variable length/)
  await expect(decodeStored([codec('bytes', { endian: 'middle' })], type, [1], new Uint8Array(2))).rejects.toThrow(/"middle"/)
})
