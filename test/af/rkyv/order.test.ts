import { describe, expect, test } from 'vitest'
import { type Archived, option, struct, unarchive } from '../../../src/af/rkyv/layout.ts'
import { bool, uint16, uint32, uint64 } from '../../../src/af/rkyv/leaves.ts'
import { binary, numbers, vec } from '../../../src/af/rkyv/pointers.ts'
import { string } from '../../../src/af/rkyv/string.ts'
import { archive } from '../../../src/af/rkyv/writer.ts'
import { ascii, caught, hex, i64, join, toHex, u32, u64 } from './support.ts'

const read = <T>(layout: Archived<T>, ...parts: Uint8Array[]): T => unarchive('test', layout, join(...parts))
const reject = (layout: Archived<unknown>, ...parts: Uint8Array[]): string =>
  caught('FormatError', () => read(layout, ...parts)).message

/** 32 bytes: +0 and +16 are the Vecs. */
const two = struct({ first: vec(uint32), second: vec(uint32) })
/** The root `two` at `at`, its Vecs given by target and length. */
const root = (at: number, [target1, length1]: [number, number], [target2, length2]: [number, number]): Uint8Array =>
  join(i64(target1 - at), u64(length1), i64(target2 - at - 16), u64(length2))

describe('two siblings', () => {
  const data = join(u32(7), u32(8))

  test('in order: accepted, and what the writer makes', () => {
    const payload = join(data, root(8, [0, 1], [4, 1]))
    expect(unarchive('test', two, payload)).toEqual({ first: [7], second: [8] })
    expect(toHex(archive(two, { first: [7], second: [8] }))).toBe(toHex(payload))
  })

  test('with junk before and between them: accepted', () => {
    const payload = [u32(99), u32(7), u32(99), u32(8), root(16, [4, 1], [12, 1])]
    expect(read(two, ...payload)).toEqual({ first: [7], second: [8] })
  })

  test('swapped: rejected', () => {
    expect(reject(two, data, root(8, [4, 1], [0, 1]))).toBe(
      'test payload, byte 24: points to 4 bytes at 0, outside bytes 8 to 8 which are left for it',
    )
  })

  test.each([
    [[0, 1] as const, [0, 1] as const],
    [[0, 2] as const, [4, 1] as const],
  ])('sharing bytes, %j and %j: rejected', (first, second) => {
    reject(two, data, root(8, [...first], [...second]))
  })

  test('reaching into their parent: rejected', () => {
    reject(two, data, root(8, [0, 1], [4, 2]))
    reject(two, data, root(8, [0, 1], [8, 1]))
  })

  test('misaligned: rejected', () => {
    expect(reject(two, data, root(8, [2, 1], [8, 0]))).toBe(
      'test payload, byte 8: points to byte 2, which is not a multiple of 4',
    )
  })

  test('in front of the payload: rejected', () => {
    expect(reject(two, data, root(8, [-4, 1], [4, 1]))).toContain('4 bytes at -4, outside bytes 0 to 8')
  })

  test.each([3n, 2n ** 32n, 2n ** 61n, 2n ** 62n, 2n ** 62n + 1n, 2n ** 64n - 1n])('%d elements: rejected', (count) => {
    reject(two, data, i64(-8), u64(count), i64(-16), u64(0))
  })

  test.each([2n ** 32n - 8n, -(2n ** 32n) - 8n, 2n ** 63n - 8n, -(2n ** 63n)])('offset %d: rejected', (offset) => {
    reject(two, data, i64(offset), u64(1), i64(-16), u64(0))
  })
})

describe('empty Vecs', () => {
  test('at the start of the payload, while nothing was read: accepted', () => {
    expect(read(two, u64(9), root(8, [0, 0], [0, 0]))).toEqual({ first: [], second: [] })
  })

  test('at the root, with nothing after them: accepted', () => {
    expect(read(two, u32(7), u32(0), root(8, [0, 1], [8, 0]))).toEqual({ first: [7], second: [] })
    expect(read(two, u64(9), root(8, [8, 0], [8, 0]))).toEqual({ first: [], second: [] })
  })

  test('at the root, with data after them: rejected', () => {
    reject(two, u32(7), u32(0), root(8, [8, 0], [0, 1]))
  })

  test('at the start, after data: rejected', () => {
    reject(two, u32(7), u32(0), root(8, [0, 1], [0, 0]))
  })

  test('with offset 0, that is inside their parent: rejected', () => {
    reject(two, u64(9), root(8, [0, 0], [24, 0]))
  })

  test('misaligned: rejected', () => {
    reject(two, u64(9), root(8, [2, 0], [8, 0]))
  })

  test('are written where their elements would be, after padding', () => {
    const layout = struct({ bytes: binary, shorts: vec(uint16), words: numbers('uint64'), none: vec(uint32) })
    const value = { bytes: hex('aa'), shorts: [], words: new BigUint64Array(0), none: [] }
    const payload = archive(layout, value)
    expect(toHex(payload)).toBe(
      toHex(join(hex('aa 00*7'), i64(-8), u64(1), i64(2 - 24), u64(0), i64(8 - 40), u64(0), i64(8 - 56), u64(0))),
    )
    expect(unarchive('test', layout, payload)).toEqual(value)
  })
})

describe('objects with children', () => {
  const [a, b] = ['first long string, 24 b.', 'other long string, 24 b.']
  const long = (at: number, target: number): Uint8Array => join(hex('98 00*7'), i64(target - at))
  const names = vec(string)
  /** Root of `names` at `at`. */
  const vecRoot = (at: number, target: number, length: number): Uint8Array => join(i64(target - at), u64(length))

  test('children in order, then the slice: accepted, and what the writer makes', () => {
    const payload = join(ascii(a!), ascii(b!), long(48, 0), long(64, 24), vecRoot(80, 48, 2))
    expect(unarchive('test', names, payload)).toEqual([a, b])
    expect(toHex(archive(names, [a!, b!]))).toBe(toHex(payload))
  })

  test("two elements' children swapped: rejected", () => {
    reject(names, ascii(a!), ascii(b!), long(48, 24), long(64, 0), vecRoot(80, 48, 2))
  })

  test('two elements with one child: rejected', () => {
    reject(names, ascii(a!), ascii(b!), long(48, 0), long(64, 0), vecRoot(80, 48, 2))
  })

  test('a child after the slice with its parent: rejected', () => {
    reject(names, long(0, 16), ascii(a!), vecRoot(40, 0, 1))
  })

  test('depth first accepted, breadth first rejected', () => {
    const both = struct({ first: names, second: names })
    const roots = (at: number, first: number, second: number) => join(vecRoot(at, first, 1), vecRoot(at + 16, second, 1))
    const depth = [ascii(a!), long(24, 0), ascii(b!), long(64, 40), roots(80, 24, 64)]
    expect(read(both, ...depth)).toEqual({ first: [a], second: [b] })
    expect(toHex(archive(both, { first: [a!], second: [b!] }))).toBe(toHex(join(...depth)))
    reject(both, ascii(a!), ascii(b!), long(48, 0), long(64, 24), roots(80, 48, 64))
  })

  test('a sibling before the children of the one in front of it: rejected', () => {
    const mixed = struct({ names, words: vec(uint32) })
    const parts = (word: number) => join(vecRoot(48, 32, 1), vecRoot(64, word, 1))
    reject(mixed, u64(5), ascii(a!), long(32, 8), parts(0))
    expect(read(mixed, ascii(a!), u64(0), long(32, 0), vecRoot(48, 32, 1), vecRoot(64, 48, 0))).toEqual({ names: [a], words: [] })
  })
})

describe('objects themselves', () => {
  const padded = struct({ flag: bool, some: option(uint64) })

  test('padding is written as zeros and not looked at', () => {
    expect(toHex(archive(padded, { flag: true, some: 5n }))).toBe(toHex(hex('01 00*7 01 00*7 05 00*7')))
    expect(toHex(archive(padded, { flag: false, some: null }))).toBe(toHex(hex('00*24')))
    expect(read(padded, hex('01 aa*7 01 bb*7 05 00*7'))).toEqual({ flag: true, some: 5n })
    expect(read(padded, hex('01 aa*7 00 bb*7 cc*8'))).toEqual({ flag: true, some: null })
  })

  test('booleans and options have two values', () => {
    expect(reject(padded, hex('02 00*23'))).toBe('test payload, byte 0: boolean 2, expected 0 or 1')
    expect(reject(padded, hex('01 00*7 02 00*15'))).toBe('test payload, byte 8: option variant 2, expected 0 or 1')
    expect(reject(vec(bool), hex('01 00 02 00*5'), i64(-8), u64(3))).toContain('byte 2: boolean 2')
  })

  test.each([0, 8, 31, 33, 36])('a root of 32 bytes is not in %i', (bytes) => {
    expect(reject(two, new Uint8Array(bytes))).toBe(`test payload has ${bytes} bytes, expected 32 or more and a multiple of 8`)
  })

  test('typed arrays of the wrong kind are not written as if they were right', () => {
    caught('InvalidArgumentError', () => archive(numbers('uint32'), new Int32Array(1) as never))
    caught('InvalidArgumentError', () => archive(numbers('float64'), [1, 2] as never))
    caught('InvalidArgumentError', () => archive(binary, 'abc' as never))
    expect(toHex(archive(binary, Buffer.from('abc')).subarray(0, 3))).toBe('616263')
  })

  test('what is read does not share memory with the payload', () => {
    const payload = Buffer.from(
      archive(struct({ bytes: binary, words: numbers('uint32') }), { bytes: hex('01'), words: Uint32Array.of(2) }),
    )
    const value = unarchive('test', struct({ bytes: binary, words: numbers('uint32') }), payload)
    payload.fill(0)
    expect(value).toEqual({ bytes: hex('01'), words: Uint32Array.of(2) })
  })
})
