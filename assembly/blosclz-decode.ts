/**
 * Decoding of BloscLZ, the compressor of Blosc itself, a relative of FastLZ.
 *
 * Contract: any input is safe: nothing outside [dst, dst + dstBytes) is written, and nothing outside the
 * input and the decoded output influences the result. `dstBytes` is the exact size. Returns 0 or an error
 * below.
 *
 *     literals:  u8 count - 1, below 32 | bytes
 *     match:     u8 {length - 2 (3 bits; 7: more follows), upper bits of the distance (5)} | 255... rest | u8 lower bits | far: u16 big-endian
 *
 * The first byte starts literals, whatever its upper bits. A distance is counted from 1; one with all 13 bits
 * set means a far match, at 8191 plus the next number.
 *
 * Why it is fast: while both ends are far away, literals (at most 32) and matches of that length are copied
 * in two vectors beyond their end, without a call.
 */
import { repeat } from './overlap'

const INPUT_TRUNCATED: i32 = -1
const BAD_OFFSET: i32 = -2
const OUTPUT_OVERFLOW: i32 = -3
const OUTPUT_SHORT: i32 = -4

const FAR: usize = 8191
/** Size of two vectors, and the distance from the ends at which they are used. */
const SHORT: usize = 32

export function bloscLzDecode(src: usize, srcBytes: usize, dst: usize, dstBytes: usize): i32 {
  const inputEnd = src + srcBytes
  const outputEnd = dst + dstBytes
  const inputNear = srcBytes > SHORT ? inputEnd - SHORT : src
  const outputNear = dstBytes > SHORT ? outputEnd - SHORT : dst
  let out = dst
  if (src >= inputEnd) return INPUT_TRUNCATED
  let control: usize = load<u8>(src++) & 31
  while (true) {
    if (control < 32) {
      const literals = control + 1
      if (src < inputNear && out < outputNear) {
        v128.store(out, v128.load(src))
        v128.store(out, v128.load(src, 16), 16)
      } else {
        if (literals > inputEnd - src) return INPUT_TRUNCATED
        if (literals > outputEnd - out) return OUTPUT_OVERFLOW
        memory.copy(out, src, literals)
      }
      out += literals
      src += literals
    } else {
      let length = (control >> 5) + 2
      if (length == 9) {
        let byte: usize
        do {
          if (inputEnd - src < 2) return INPUT_TRUNCATED
          byte = load<u8>(src++)
          length += byte
          // A longer run would overflow the output: fail now.
          if (length > outputEnd - out) return OUTPUT_OVERFLOW
        } while (byte == 255)
      }
      if (inputEnd - src < 2) return INPUT_TRUNCATED
      let distance = ((control & 31) << 8) + <usize>load<u8>(src++)
      if (distance == FAR) {
        if (inputEnd - src < 2) return INPUT_TRUNCATED
        distance += (<usize>load<u8>(src) << 8) | <usize>load<u8>(src, 1)
        src += 2
      }
      if (length > outputEnd - out) return OUTPUT_OVERFLOW
      if (distance >= out - dst) return BAD_OFFSET
      if (src >= inputEnd) return INPUT_TRUNCATED
      if (distance >= 15 && length <= SHORT && out < outputNear) {
        const match = out - distance - 1
        v128.store(out, v128.load(match))
        v128.store(out, v128.load(match, 16), 16)
      } else repeat(out, distance + 1, length)
      out += length
    }
    if (src >= inputEnd) return out == outputEnd ? 0 : OUTPUT_SHORT
    control = load<u8>(src++)
  }
}
