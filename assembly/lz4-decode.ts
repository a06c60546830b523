/**
 * LZ4 block decoding.
 *
 * Contract: any input is safe: nothing outside [dst, dst + dstBytes) is written and nothing outside the input and the decoded output
 * influences the result. `dstBytes` is the exact size of the decoded block. `state` holds two u32 {source position, destination position},
 * zero at the start; decoding stops at the first sequence boundary at which `wanted` bytes are there, and a later call goes on from it.
 * With `wanted` equal to `dstBytes` the block is decoded, and checked, to its end. Returns the destination position or an error below.
 *
 *     sequence:  token (literals << 4 | match - 4) | 255... rest | literals | u16 offset | 255... rest      the last one ends after its literals
 *
 * Verdicts are those of liblz4's LZ4_decompress_safe for a buffer of exactly the right size, but for offset 0, which is an error here.
 *
 * Why it is fast: while both ends are far away, literals and matches are copied in whole vectors past their end, without a call. Bounds cost
 * one decrement a sequence: a budget in units of 32 bytes, of which a short sequence takes one and longer runs what they need. Small offsets
 * repeat a pattern that one swizzle builds. What is near an end is left to `finish`, which is exact; the fast loop hands over at a token,
 * having written nothing that `finish` does not write again.
 */
const INPUT_TRUNCATED: i32 = -1
const BAD_OFFSET: i32 = -2
const OUTPUT_OVERFLOW: i32 = -3
const OUTPUT_SHORT: i32 = -4
const TRAILING_INPUT: i32 = -5
const LATE_MATCH: i32 = -6

/**
 * Distances from the ends that the fast loop keeps, behind all its budget: a short sequence reads 1 + 16 bytes of literals, a long run copies
 * up to 31 bytes too many, and a pattern 47.
 */
const INPUT_MARGIN: usize = 48
const OUTPUT_MARGIN: usize = 80

/** For each offset below 16 the swizzle that repeats a pattern of that length. */
const PATTERNS: usize = memory.data<u8>([
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
  0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1,
  0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0,
  0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3,
  0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0,
  0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3,
  0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6, 0, 1,
  0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7,
  0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 6,
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5,
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 1, 2, 3, 4,
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3,
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 1, 2,
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0, 1,
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0,
], 16)

/** The largest multiple of each offset that fits a vector: how far one store of the pattern gets. */
const STEPS: usize = memory.data<u8>([16, 16, 16, 15, 16, 15, 12, 14, 16, 9, 10, 11, 12, 13, 14, 15])

export function lz4Decode(src: usize, srcBytes: usize, dst: usize, dstBytes: usize, state: usize, wanted: usize): i32 {
  const sourceStart: usize = load<u32>(state)
  const outputStart: usize = load<u32>(state, 4)
  if (sourceStart > srcBytes || outputStart > dstBytes) return INPUT_TRUNCATED
  const inputEnd = src + srcBytes
  const outputEnd = dst + dstBytes
  let inputNear = srcBytes > INPUT_MARGIN ? inputEnd - INPUT_MARGIN : src
  const outputNear = dstBytes > OUTPUT_MARGIN ? dst + min(dstBytes - OUTPUT_MARGIN, wanted) : dst
  let next = src + sourceStart
  let out = dst + outputStart

  while (next < inputNear && out < outputNear) {
    const start = next
    let spare = ((min(inputNear - next, outputNear - out) - 1) >> 5) + 1
    do {
      const token: u32 = load<u8>(next)
      let literals: usize = token >> 4
      let from = next + 1
      let to = out
      if (literals < 15) {
        v128.store(to, v128.load(from))
      } else {
        let byte: u32
        do {
          byte = load<u8>(from++)
          literals += byte
          if (byte != 255) break
        } while (from < inputEnd && literals <= dstBytes)
        const units = unitsOf(literals)
        if (units >= spare) break
        spare -= units
        copyOver(from, to, to + literals)
      }
      from += literals
      to += literals

      const offset: usize = load<u16>(from)
      from += 2
      if (<u32>offset - 1 >= <u32>(to - dst)) break // 0 or too far, in one compare
      const match = to - offset
      let length: usize = token & 15
      if (length != 15) {
        if (offset >= 8) {
          store<u64>(to, load<u64>(match))
          store<u64>(to, load<u64>(match, 8), 8)
          store<u16>(to, load<u16>(match, 16), 16)
        } else {
          const pattern = i8x16.swizzle(v128.load(match), v128.load(PATTERNS + (offset << 4)))
          v128.store(to, pattern)
          v128.store(to + <usize>load<u8>(STEPS + offset), pattern)
        }
        out = to + length + 4
        next = from
        continue
      }
      length = 19
      let byte: u32
      do {
        byte = load<u8>(from++)
        length += byte
        if (byte != 255) break
      } while (from < inputEnd && length <= dstBytes)
      const units = unitsOf(length)
      if (units >= spare) break
      spare -= units
      out = to + length
      next = from
      if (offset >= 16) {
        copyOver(match, to, out)
      } else {
        const pattern = i8x16.swizzle(v128.load(match), v128.load(PATTERNS + (offset << 4)))
        const step: usize = load<u8>(STEPS + offset)
        let target = to
        do {
          v128.store(target, pattern)
          target += step
          v128.store(target, pattern)
          target += step
        } while (target < out)
      }
    } while (--spare != 0)
    if (next == start) break // the very next sequence is too long for the budget, or malformed
  }
  return finish(src, inputEnd, next, dst, outputEnd, out, state, wanted < dstBytes ? dst + wanted : 0)
}

/** Budget that a run of `length` bytes takes beside its sequence: its bytes and those of its length in the input, rounded up. */
// @ts-ignore: decorator
@inline
function unitsOf(length: usize): usize {
  return (length >> 5) + (length >> 8) + 1
}

/** Copies to [to, end) and up to 31 bytes behind it. The bytes may be those being written, from 16 back on. */
// @ts-ignore: decorator
@inline
function copyOver(from: usize, to: usize, end: usize): void {
  do {
    v128.store(to, v128.load(from))
    v128.store(to, v128.load(from, 16), 16)
    from += 32
    to += 32
  } while (to < end)
}

/** Exact decoding up to `stop`, or to the end of the input where that is 0. */
function finish(src: usize, inputEnd: usize, next: usize, dst: usize, outputEnd: usize, out: usize, state: usize, stop: usize): i32 {
  const complete = next == inputEnd && out == outputEnd && next > src
  while (!complete && (stop == 0 || out < stop)) {
    if (next >= inputEnd) return INPUT_TRUNCATED
    const token: u32 = load<u8>(next++)
    // here liblz4 takes a short cut that spares a sequence the rules for late matches
    const early = outputEnd - dst >= 32 && out <= outputEnd - 32 && inputEnd - next > 16

    let literals: usize = token >> 4
    if (literals == 15) {
      let byte: u32
      do {
        if (next >= inputEnd) return INPUT_TRUNCATED
        byte = load<u8>(next++)
        literals += byte
        if (literals > outputEnd - out) return OUTPUT_OVERFLOW
      } while (byte == 255)
    }
    if (literals > inputEnd - next) return INPUT_TRUNCATED
    if (literals > outputEnd - out) return OUTPUT_OVERFLOW
    memory.copy(out, next, literals)
    next += literals
    out += literals
    if (next == inputEnd) {
      if (out != outputEnd) return OUTPUT_SHORT
      break
    }

    if (out == outputEnd) return TRAILING_INPUT
    if (inputEnd - next < 2) return INPUT_TRUNCATED
    const offset: u32 = load<u16>(next)
    next += 2
    if (offset - 1 >= <u32>(out - dst)) return BAD_OFFSET
    let length: usize = (token & 15) + 4
    if (length == 19) {
      let byte: u32
      do {
        if (next >= inputEnd) return INPUT_TRUNCATED
        byte = load<u8>(next++)
        length += byte
        if (length > outputEnd - out) return OUTPUT_OVERFLOW
      } while (byte == 255)
    }
    if (length > outputEnd - out) return OUTPUT_OVERFLOW
    if (next >= inputEnd) return INPUT_TRUNCATED
    const spared = early && token < 0xf0 && (token & 15) < 15 && offset >= 8
    if (!spared && (outputEnd - out < 12 || outputEnd - out - length < 5)) return LATE_MATCH
    repeat(out, offset, length)
    out += length
  }
  store<u32>(state, <u32>(next - src))
  store<u32>(state, <u32>(out - dst), 4)
  return <i32>(out - dst)
}

/** Copies a match, writing nothing behind it. */
function repeat(to: usize, offset: usize, length: usize): void {
  const end = to + length
  if (offset >= 16) {
    for (; end - to >= 16; to += 16) v128.store(to, v128.load(to - offset))
  } else if (length >= 16) {
    const pattern = i8x16.swizzle(v128.load(to - offset), v128.load(PATTERNS + (offset << 4)))
    const step: usize = load<u8>(STEPS + offset)
    for (; end - to >= 16; to += step) v128.store(to, pattern)
  }
  for (; to < end; to++) store<u8>(to, load<u8>(to - offset))
}
