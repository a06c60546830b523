import { describe, expect, test } from 'vitest'
import { withArena } from '../../src/kernels/arena.ts'
import { crc32c, crc32cOf } from '../../src/kernels/crc32c.ts'
import { expectSameBytes, guarded, noise } from './support.ts'

/** Bit by bit, as the standard says it. */
function naive(bytes: Uint8Array, seed = 0): number {
  let crc = ~seed
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0)
  }
  return ~crc >>> 0
}

const numbered = (length: number, of: (i: number) => number): Uint8Array => Uint8Array.from({ length }, (_, i) => of(i))

test.each<[string, Uint8Array, number]>([
  ['nothing', new Uint8Array(0), 0],
  ['the check value', new TextEncoder().encode('123456789'), 0xe3069283],
  ['RFC 3720: zeros', new Uint8Array(32), 0x8a9136aa],
  ['RFC 3720: ones', new Uint8Array(32).fill(255), 0x62a8ab43],
  ['RFC 3720: ascending', numbered(32, (i) => i), 0x46dd794e],
  ['RFC 3720: descending', numbered(32, (i) => 31 - i), 0x113fdb5c],
])('%s', (_, bytes, expected) => {
  expect(crc32cOf(bytes)).toBe(expected)
  expect(naive(bytes)).toBe(expected)
})

describe('equals the naive one', () => {
  /** Input between guards: what lies around it must not count, and stays. */
  const guardedCrc = (bytes: Uint8Array, misalign: number, seed: number): number =>
    withArena((arena) => {
      const { pointer, check } = guarded(arena, bytes.length, misalign)
      arena.bytes(pointer, bytes.length).set(bytes)
      const crc = crc32c(arena, pointer, bytes.length, seed)
      check()
      expectSameBytes(arena.bytes(pointer, bytes.length), bytes)
      return crc
    })

  test('lengths from 0 to 300, alignments, seeds', () => {
    for (let length = 0; length <= 300; length++) {
      const bytes = noise(length, length)
      for (const seed of [0, 1, 0xffffffff, 0xdeadbeef])
        expect(guardedCrc(bytes, (length * 7 + seed) % 16, seed)).toBe(naive(bytes, seed))
    }
  })

  test('lengths around those where the method changes', () => {
    const fold = 5328
    const segment = 24 * 1024 + 208
    const all = noise(140_000, 3)
    let [done, expected] = [0, 77]
    for (const around of [2 * fold, segment, segment + fold, 2 * segment + fold, 3 * segment + 2 * fold, 131_072]) {
      for (let length = around - 18; length <= around + 18; length++) {
        expected = naive(all.subarray(done, length), expected)
        done = length
        expect(guardedCrc(all.subarray(0, length), length % 16, 77), String(length)).toBe(expected)
      }
    }
  })

  test('every single bit counts', () => {
    const bytes = noise(60_000, 1)
    const crc = crc32cOf(bytes)
    const seen = new Set([crc])
    for (let i = 0; i < bytes.length; i += 61) {
      bytes[i]! ^= 1 << (i % 8)
      seen.add(crc32cOf(bytes))
      bytes[i]! ^= 1 << (i % 8)
    }
    expect(seen.size).toBe(1 + Math.ceil(60_000 / 61))
  })

  test('in pieces', () => {
    const bytes = noise(700_001, 5)
    const whole = naive(bytes)
    expect(crc32cOf(bytes)).toBe(whole)
    for (const cut of [0, 1, 15, 300, 25_000, 262_144, 500_000, 700_000, 700_001])
      expect(crc32cOf(bytes.subarray(cut), crc32cOf(bytes.subarray(0, cut)))).toBe(whole)
  })
})
