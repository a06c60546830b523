import { describe, expect, test } from 'vitest'
import { unarchive } from '../../../src/af/rkyv/layout.ts'
import { string } from '../../../src/af/rkyv/string.ts'
import { archive } from '../../../src/af/rkyv/writer.ts'
import { caught, hex, i64, join, toHex } from './support.ts'

const read = (payload: Uint8Array): string => unarchive('test', string, payload)

describe('the form a string has', () => {
  test.each([
    ['', 'ff*16'],
    ['x', '78 ff*15'],
    ['lz4', '6c 7a 34 ff*13'],
    ['0123456789abcde', '30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 ff'],
    ['0123456789abcdef', '30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66'],
    // Bytes count, not characters: 8 x 2 of them.
    ['éééééééé', 'c3a9 c3a9 c3a9 c3a9 c3a9 c3a9 c3a9 c3a9'],
    ['\u{feff}', 'ef bb bf ff*13'],
    ['\0', '00 ff*15'],
  ])('%j is inline', (value, expected) => {
    expect(toHex(archive(string, value))).toBe(toHex(hex(expected)))
    expect(read(hex(expected))).toBe(value)
  })

  test.each([
    [17, '91 00*7'],
    [63, 'bf 00*7'],
    [64, '80 01 00*6'],
    [65, '81 01 00*6'],
    [200, '88 03 00*6'],
    [1000, 'a8 0f 00*6'],
    [65536, '80 00 04 00*5'],
    [2 ** 24 + 5, '85 00 00 04 00*4'],
  ])('%i bytes are out of line', (bytes, length) => {
    const value = 'a'.repeat(bytes)
    const place = Math.ceil(bytes / 8) * 8
    const payload = archive(string, value)
    expect(payload.byteLength).toBe(place + 16)
    expect(toHex(payload.subarray(place))).toBe(toHex(join(hex(length), i64(-place))))
    const expected = Buffer.alloc(place).fill(0x61, 0, bytes)
    expect(expected.equals(payload.subarray(0, place))).toBe(true)
    expect(read(payload) === value).toBe(true)
  })

  test('characters of several bytes are counted as bytes', () => {
    const payload = archive(string, 'ééééééééé')
    expect(toHex(payload.subarray(24))).toBe(toHex(join(hex('92 00*7'), i64(-24))))
    expect(read(payload)).toBe('ééééééééé')
  })

  test('a byte order mark stays', () => {
    const value = `\u{feff}${'x'.repeat(30)}`
    expect(read(archive(string, value))).toBe(value)
  })
})

describe('what a reader accepts and rejects', () => {
  test('bytes after the first ff of an inline string do not matter', () => {
    expect(read(hex('78 ff 41 80 c0 00*11'))).toBe('x')
  })

  test('zeros are no padding but part of the string', () => {
    expect(read(hex('78 00*15'))).toBe(`x${'\0'.repeat(15)}`)
  })

  test.each([0, 1, 16])('%i bytes must not be out of line', (bytes) => {
    const payload = join(hex('61*16'), hex(`${(0x80 + bytes).toString(16)} 00*7`), i64(-16))
    expect(caught('FormatError', () => read(payload)).message).toBe(
      `test payload, byte 16: string of ${bytes} bytes out of line, expected more than 16`,
    )
  })

  test('the offset counts from the start of the string', () => {
    const text = hex('61*24')
    expect(read(join(text, hex('97 00*7'), i64(-24)))).toBe('a'.repeat(23))
    expect(caught('FormatError', () => read(join(text, hex('97 00*7'), i64(-32)))).message).toContain('23 bytes at -8')
  })

  test.each(['97 00*7', '80 00 00 00 00 00 00 80', 'bf ff*7'])('length word %s beyond the payload', (word) => {
    caught('FormatError', () => read(join(hex('61*16'), hex(word), i64(-16))))
  })

  test.each([
    ['c3 28 ff*14', 'inline'],
    ['ed a0 80 ff*13', 'a surrogate'],
    ['c3 ff*15', 'cut short'],
  ])('%s is not UTF-8 (%s)', (bytes) => {
    expect(caught('FormatError', () => read(hex(bytes))).message).toMatch(/byte 0: string in bytes 0 to \d is not UTF-8/)
  })

  test('out of line bytes that are not UTF-8', () => {
    const payload = join(hex('61*20 fe 61*3'), hex('98 00*7'), i64(-24))
    expect(caught('FormatError', () => read(payload)).message).toBe('test payload, byte 24: string in bytes 0 to 24 is not UTF-8')
  })
})

test.each(['\ud800', 'a\udc00b', '\udc00\ud800', `${'x'.repeat(40)}\ud83d`])('lone surrogates are not written: %j', (value) => {
  caught('InvalidArgumentError', () => archive(string, value))
})
