/**
 * LZ4 block decoding.
 *
 * Contract: any input is safe: nothing outside [dst, dst + dstBytes) is written, and nothing outside the
 * input and the decoded output influences the result. `dstBytes` is the exact size of the decoded block.
 * `state` contains two u32 {source position, destination position}, zero at the start. Decoding stops at the
 * first sequence boundary at which `wanted` bytes are decoded; a later call continues there. If `wanted`
 * equals `dstBytes`, the block is decoded, and checked, to its end. Returns the destination position or an
 * error below.
 *
 *     sequence:  token (literals << 4 | match - 4) | 255... rest | literals | u16 offset | 255... rest      the last one ends after its literals
 *
 * Verdicts are those of liblz4's LZ4_decompress_safe for a buffer of exactly the right size, except for
 * offset 0, which is an error here.
 *
 * Why it is fast: while both ends are far away, literals and matches are copied in whole vectors beyond their
 * end, without a call. Most sequences have runs up to 32 bytes and matches up to 64. They are decoded in a
 * loop without an inner loop, so that the engine keeps everything in registers. It commits a sequence once
 * all of it is known to be of that kind. It loads the next token before it copies, because every step depends
 * on that load. Bounds cost one decrement per sequence: a budget in units of 32 bytes, of which a short
 * sequence takes one and longer runs what they need. Small offsets repeat a pattern that one swizzle builds.
 * Sequences near an end, and runs too long for the budget, are left to `finish`, which is exact.
 */
import { copyOver, patternAt, repeat, STEPS } from './overlap'

const INPUT_TRUNCATED: i32 = -1
const BAD_OFFSET: i32 = -2
const OUTPUT_OVERFLOW: i32 = -3
const OUTPUT_SHORT: i32 = -4
const TRAILING_INPUT: i32 = -5
const LATE_MATCH: i32 = -6

/**
 * Distances from the ends that the fast loops keep, in addition to their budget. A short sequence reads up to
 * 18 bytes of input and writes up to 14 + 64 bytes of output. A long match may end 31 bytes behind its
 * budget, and a pattern continues for 47.
 */
const INPUT_MARGIN: usize = 48
const OUTPUT_MARGIN: usize = 80

export function lz4Decode(src: usize, srcBytes: usize, dst: usize, dstBytes: usize, state: usize, wanted: usize): i32 {
  const before = load<u64>(state)
  const done = decode(src, srcBytes, dst, dstBytes, state, wanted)
  if (done < 0 && done >= LATE_MATCH) store<u64>(state, before)
  return done
}

function decode(src: usize, srcBytes: usize, dst: usize, dstBytes: usize, state: usize, wanted: usize): i32 {
  const sourceStart: usize = load<u32>(state)
  const outputStart: usize = load<u32>(state, 4)
  if (sourceStart > srcBytes || outputStart > dstBytes) return INPUT_TRUNCATED
  const inputEnd = src + srcBytes
  const outputEnd = dst + dstBytes
  const inputNear = srcBytes > INPUT_MARGIN ? inputEnd - INPUT_MARGIN : src
  const outputNear = dstBytes > OUTPUT_MARGIN ? dst + min(dstBytes - OUTPUT_MARGIN, wanted) : dst
  let next = src + sourceStart
  let out = dst + outputStart

  while (next < inputNear && out < outputNear) {
    const start = next
    let spare = ((min(inputNear - next, outputNear - out) - 1) >> 5) + 1
    do {
      let token: u32 = load<u8>(next)
      do {
        let from = next
        let literals: usize = token >> 4
        if (literals < 15) {
          v128.store(out, v128.load(from, 1))
        } else {
          const more: usize = load<u8>(++from)
          if (more > 17 || spare < 4) break
          v128.store(out, v128.load(from, 1))
          v128.store(out, v128.load(from, 17), 16)
          literals += more
          spare--
        }
        from += literals
        const to = out + literals
        const offset: usize = load<u16>(from, 1)
        let length: usize = token & 15
        const match = to - offset
        if (match < dst) break
        if (length < 13) {
          token = load<u8>(from, 3)
          if (offset >= 8) {
            store<u64>(to, load<u64>(match))
            store<u64>(to, load<u64>(match, 8), 8)
          } else {
            if (offset == 0) return BAD_OFFSET
            const pattern = patternAt(match, offset)
            v128.store(to, pattern)
            v128.store(to + <usize>load<u8>(STEPS + offset), pattern)
          }
        } else {
          if (length == 15) {
            const more: usize = load<u8>(from, 3)
            if (more > 45 || spare < 4) break
            length += more
            spare -= 2
            from++
          }
          token = load<u8>(from, 3)
          if (offset >= 16) {
            v128.store(to, v128.load(match))
            v128.store(to, v128.load(match, 16), 16)
            v128.store(to, v128.load(match, 32), 32)
            v128.store(to, v128.load(match, 48), 48)
          } else {
            if (offset == 0) return BAD_OFFSET
            const pattern = patternAt(match, offset)
            const step: usize = load<u8>(STEPS + offset)
            v128.store(to, pattern)
            v128.store(to + step, pattern)
            v128.store(to + step * 2, pattern)
            v128.store(to + step * 3, pattern)
            if (length + 4 > step * 4) break
          }
        }
        next = from + 3
        out = to + length + 4
      } while (--spare != 0)
      if (spare == 0) break

      // A sequence of any kind: an attempt aborted above wrote nothing that is not rewritten here.
      let from = next
      let to = out
      token = load<u8>(from)
      let literals: usize = token >> 4
      if (literals < 15) {
        v128.store(to, v128.load(from, 1))
      } else {
        let byte: u32
        do {
          byte = load<u8>(++from)
          literals += byte
          if (byte != 255) break
        } while (from < inputEnd && literals <= dstBytes)
        const units = unitsOf(literals)
        if (units >= spare) break
        spare -= units
        copyOver(from + 1, to, to + literals)
      }
      from += literals
      to += literals
      const offset: usize = load<u16>(from, 1)
      const match = to - offset
      if (match < dst || offset == 0) break
      from += 3
      let length: usize = (token & 15) + 4
      if (length == 19) {
        let byte: u32
        do {
          byte = load<u8>(from++)
          length += byte
          if (byte != 255) break
        } while (from < inputEnd && length <= dstBytes)
        const units = unitsOf(length)
        if (units >= spare) break
        spare -= units
      }
      next = from
      out = to + length
      if (offset >= 16) {
        copyOver(match, to, out)
      } else {
        const pattern = patternAt(match, offset)
        const step: usize = load<u8>(STEPS + offset)
        do {
          v128.store(to, pattern)
          to += step
          v128.store(to, pattern)
          to += step
        } while (to < out)
      }
    } while (--spare != 0)
    if (next != start) continue
    // The next sequence is too long for the budget, or malformed.
    const done = finish(src, inputEnd, next, dst, outputEnd, out, state, out + 1)
    if (done < 0 && done >= LATE_MATCH) return done
    next = src + <usize>load<u32>(state)
    out = dst + <usize>load<u32>(state, 4)
  }
  return finish(src, inputEnd, next, dst, outputEnd, out, state, wanted < dstBytes ? dst + wanted : 0)
}

/**
 * Returns the budget that a run of `length` bytes takes in addition to its sequence: its bytes, and those of
 * its length in the input, rounded up.
 */
// @ts-ignore: decorator
@inline
function unitsOf(length: usize): usize {
  return (length >> 5) + (length >> 8) + 1
}

/** Decodes exactly up to `stop`, or to the end of the input if that is 0. */
function finish(src: usize, inputEnd: usize, next: usize, dst: usize, outputEnd: usize, out: usize, state: usize, stop: usize): i32 {
  const complete = next == inputEnd && out == outputEnd && next > src
  while (!complete && (stop == 0 || out < stop)) {
    if (next >= inputEnd) return INPUT_TRUNCATED
    const token: u32 = load<u8>(next++)
    // Here liblz4 takes a shortcut that exempts a sequence from the rules for late matches.
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
