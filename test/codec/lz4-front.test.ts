import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeLz4 } from '../../src/codec/lz4-encode.ts'
import { Lz4PrefixDecoder } from '../../src/codec/lz4-front.ts'
import { joinBytes } from '../../src/core/bytes.ts'
import { withArena } from '../../src/kernels/arena.ts'
import { expectSameBytes, noise, randoms } from '../kernels/support.ts'
import { contents } from './support.ts'

const encode = (data: Uint8Array): Uint8Array => withArena((arena) => encodeLz4(arena, arena.put(data), data.length))

const KiB = 1024

/** Fills kernel memory, so that no step can rely on the remains of an earlier one. */
const soil = (): void => withArena((arena) => void arena.bytes(arena.alloc(8192 * KiB), 8192 * KiB).fill(0xa5))

/** Numbers with few and short matches. */
function measurements(length: number): Uint8Array {
  const next = randoms(length)
  return new Uint8Array(Float32Array.from({ length }, (_, i) => Math.round(28_000 + i / 99 + (next() % 40)) / 100).buffer)
}

const farthest = noise(65_535, 3)

/** Short matches, each as far back as one can be, between literals. */
function withNoise(): Uint8Array {
  const data = noise(1024 * KiB, 5).slice()
  for (let at = 65_535; at < data.length; at += 100) data.copyWithin(at, at - 65_535, at - 65_535 + 60)
  return data
}

const KINDS: [string, Uint8Array][] = [
  ...contents(),
  // Each match reaches back as far as one can.
  ['repeats from as far as can be', Uint8Array.from({ length: 1024 * KiB }, (_, i) => farthest[i % 65_535]!)],
  ['parts of it, and noise', withNoise()],
  // Literals far longer than what a step asks for.
  [
    'numbers, then noise',
    Uint8Array.from([...new Uint8Array(300 * KiB).keys()].map((i) => i % 97).concat([...noise(700 * KiB, 1)])),
  ],
]

describe.each(KINDS)('%s', (_, data) => {
  const stored = encode(data)

  test('any parts, asked for in any order, are those of the whole', () => {
    const parts = fc.array(fc.tuple(fc.nat(data.length), fc.nat(data.length)), { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(parts, (asked) => {
        const front = new Lz4PrefixDecoder(stored, data.length)
        expect(front.byteLength).toBe(stored.length)
        for (const [a, b] of asked) {
          const [from, to] = [Math.min(a, b), Math.max(a, b)]
          soil()
          front.decode(to)
          expectSameBytes(front.bytes(from, to - from), data.subarray(from, to))
        }
        front.decode(data.length)
        expect(front.byteLength).toBe(data.length)
        expectSameBytes(front.bytes(0, data.length), data)
      }),
      { numRuns: 30 },
    )
  })

  test('bytes behind the end are found when all is asked for', () => {
    const front = new Lz4PrefixDecoder(joinBytes([stored, Uint8Array.of(0)]), data.length)
    expect(() => front.decode(data.length)).toThrow('malformed LZ4 block')
  })
})

test('only what is needed is decoded, in steps of 256 KiB at least', () => {
  const data = measurements(256 * KiB)
  const stored = encode(data)
  const front = new Lz4PrefixDecoder(stored, data.length)
  const decoded = (): number => front.byteLength - stored.length
  front.decode(1)
  expect(decoded()).toBeGreaterThanOrEqual(256 * KiB)
  expect(decoded()).toBeLessThan(260 * KiB)
  const before = front.byteLength
  front.decode(256 * KiB)
  expect(front.byteLength).toBe(before)
  front.decode(700 * KiB)
  expect(decoded()).toBeGreaterThanOrEqual(700 * KiB)
  expect(decoded()).toBeLessThan(704 * KiB)
  front.decode(data.length)
  // The encoded bytes are released once all is decoded.
  expect(front.byteLength).toBe(data.length)
})

test('a block that is cut off gives what comes before, and then an error each time', () => {
  const data = measurements(256 * KiB)
  const stored = encode(data)
  const front = new Lz4PrefixDecoder(stored.slice(0, stored.length - 10), data.length)
  for (let i = 0; i < 3; i++) {
    front.decode(300 * KiB)
    expectSameBytes(front.bytes(0, 300 * KiB), data.subarray(0, 300 * KiB))
    expect(() => front.decode(data.length)).toThrow('malformed LZ4 block')
  }
})

test('a block without its size', () => {
  expect(() => new Lz4PrefixDecoder(new Uint8Array(3), 1)).toThrow('no room for its size prefix')
})
