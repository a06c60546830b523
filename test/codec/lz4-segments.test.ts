import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { lz4 } from '../../src/codec/lz4.ts'
import { cutSegments, encodeLz4, encodeSegments } from '../../src/codec/lz4-encode.ts'
import { findJoints, type Segment, standalone } from '../../src/codec/lz4-segments.ts'
import { joinBytes } from '../../src/core/bytes.ts'
import { withArena } from '../../src/kernels/arena.ts'
import { compute } from '../../src/kernels/compute.ts'
import { crc32cOf } from '../../src/kernels/crc32c.ts'
import { expectSameBytes, guarded, noise } from '../kernels/support.ts'
import { runs } from '../support/budget.ts'
import { contents } from './support.ts'

const decode = (block: Uint8Array, bytes: number): Uint8Array =>
  withArena((arena) => arena.bytes(lz4.decodeIn(arena, arena.put(block), block.length, bytes), bytes).slice())

const encode = (data: Uint8Array, lengths: readonly number[]) =>
  withArena((arena) => encodeSegments(arena, arena.put(data), lengths))

/** The stored bytes of each segment, as the table of segments has them. */
function slicesOf(block: Uint8Array, segments: readonly Segment[]): Uint8Array[] {
  let at = 4 + findJoints(segments.length, (i) => segments[i]!)[0]!
  return segments.map(({ compressedBytes }) => {
    at += compressedBytes
    return block.subarray(at - compressedBytes, at)
  })
}

/** The block is one as any other, its segments are parts of it and blocks of their own. */
function expectSegments(data: Uint8Array, lengths: readonly number[]): Segment[] {
  const { bytes, segments } = encode(data, lengths)
  expectSameBytes(decode(bytes, data.length), data)
  expect(segments.map(({ uncompressedBytes }) => uncompressedBytes)).toEqual(lengths)
  const joints = findJoints(segments.length, (i) => segments[i]!)
  expect(4 + joints[0]! + segments.reduce((sum, { compressedBytes }) => sum + compressedBytes, 0)).toBe(bytes.length)
  let start = 0
  for (const [i, slice] of slicesOf(bytes, segments).entries()) {
    const segment = segments[i]!
    expect(crc32cOf(slice)).toBe(segment.crc)
    const own = data.subarray(start, start + lengths[i]!)
    expectSameBytes(decode(standalone(segment, slice, joints[i + 1]!), lengths[i]!), own)
    // A standalone segment equals an LZ4 block of its data alone.
    expectSameBytes(
      standalone(segment, slice, joints[i + 1]!),
      withArena((arena) => encodeLz4(arena, arena.put(own), own.length)),
    )
    start += lengths[i]!
  }
  return segments
}

const zeros = new Uint8Array(70_000)
const MIXED = joinBytes([
  noise(900, 1),
  zeros.subarray(0, 400),
  noise(5000, 2),
  ...contents().map(([, data]) => data.subarray(0, 9000)),
  zeros,
])

describe.each([...contents().filter(([, data]) => data.length > 1), ['a mixture', MIXED] as [string, Uint8Array]])(
  '%s',
  (_, data) => {
    test('in segments of any lengths', () => {
      const cuts = fc.array(fc.oneof(fc.nat(data.length), fc.nat(Math.min(data.length, 60))), { maxLength: 12 })
      fc.assert(
        fc.property(cuts, fc.nat(data.length - 1), (cuts, from) => {
          const part = data.subarray(from, from + 40_000)
          const ends = [...new Set([...cuts.map((cut) => cut % part.length), part.length])].filter((end) => end > 0)
          ends.sort((a, b) => a - b)
          expectSegments(
            part,
            ends.map((end, i) => end - (ends[i - 1] ?? 0)),
          )
        }),
        { numRuns: runs(150) },
      )
    })

    test('in segments of 256 KiB', () => {
      expectSegments(
        data,
        cutSegments(
          Array.from({ length: Math.ceil(data.length / 1000) }, (_, i) => Math.min(1000, data.length - 1000 * i)),
          256 * 1024,
        ),
      )
    })
  },
)

test('segments of literals share a run of any length', () => {
  for (const length of [1, 4, 5, 7, 8, 14, 15, 16, 85, 90, 255, 270, 271, 300]) {
    const segments = expectSegments(noise(3 * length, 9), [length, length, length])
    if (length > 12) expect(segments.every(({ head, tail }) => head === length && tail === 0)).toBe(true)
    expectSegments(joinBytes([noise(3 * length, 9), zeros.subarray(0, 100), noise(length, 3)]), [
      length,
      length,
      length,
      100,
      length,
    ])
    expectSegments(joinBytes([zeros.subarray(0, 100), noise(3 * length, 9), zeros.subarray(0, 100)]), [
      100,
      length,
      2 * length,
      100,
    ])
  }
})

test('are cut where parts end, of so many bytes at least; the rest joins the last', () => {
  expect(cutSegments([], 10)).toEqual([])
  expect(cutSegments([3], 10)).toEqual([3])
  expect(cutSegments([3, 6], 10)).toEqual([9])
  expect(cutSegments([10, 3, 7, 30, 9], 10)).toEqual([10, 10, 39])
  expect(cutSegments([5, 5, 5], 1)).toEqual([5, 5, 5])
  expect(cutSegments([5, 0, 5], 1)).toEqual([5, 5])
  expect(cutSegments([5, 5], Number.POSITIVE_INFINITY)).toEqual([10])
})

test('nothing is written behind the bytes that suffice for any block', () => {
  for (const [, data] of contents()) {
    for (const length of [1, 13, 100, 5000]) {
      withArena((arena) => {
        const part = data.subarray(0, 20_000)
        const src = arena.put(part)
        const dst = guarded(arena, compute(arena).lz4Bound(part.length))
        const carry = arena.int32s([0])
        let out = dst.pointer
        for (let at = 0; at < part.length; at += length)
          out += compute(arena).lz4Encode(src + at, Math.min(length, part.length - at), out, carry)
        dst.check()
      })
    }
  }
})
