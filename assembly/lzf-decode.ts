/**
 * Decoding of LZF.
 *
 * Contract: any input is safe: nothing outside [dst, dst + dstBytes) is written, and nothing outside the
 * input and the decoded output influences the result. `dstBytes` is the exact size. Returns 0 or an error
 * below.
 *
 *     literals:  u8 count - 1, below 32 | bytes
 *     match:     u8 {length - 2 (3 bits; 7: a byte follows that is added), upper bits of the distance (5)} | u8 rest of length | u8 lower bits of the distance
 *
 * A distance is counted from 1.
 */
import { repeat } from './overlap'

const INPUT_TRUNCATED: i32 = -1
const BAD_OFFSET: i32 = -2
const OUTPUT_OVERFLOW: i32 = -3
const OUTPUT_SHORT: i32 = -4

/** Size of two vectors, and the distance from the ends at which they are used. */
const SHORT: usize = 32

export function lzfDecode(src: usize, srcBytes: usize, dst: usize, dstBytes: usize): i32 {
  const inputEnd = src + srcBytes
  const outputEnd = dst + dstBytes
  const inputNear = srcBytes > SHORT ? inputEnd - SHORT : src
  const outputNear = dstBytes > SHORT ? outputEnd - SHORT : dst
  let out = dst
  while (src < inputEnd) {
    const control: usize = load<u8>(src++)
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
        if (src >= inputEnd) return INPUT_TRUNCATED
        length += load<u8>(src++)
      }
      if (src >= inputEnd) return INPUT_TRUNCATED
      const distance = ((control & 31) << 8) + <usize>load<u8>(src++) + 1
      if (length > outputEnd - out) return OUTPUT_OVERFLOW
      if (distance > out - dst) return BAD_OFFSET
      if (distance >= 16 && length <= SHORT && out < outputNear) {
        const match = out - distance
        v128.store(out, v128.load(match))
        v128.store(out, v128.load(match, 16), 16)
      } else repeat(out, distance, length)
      out += length
    }
  }
  return out == outputEnd ? 0 : OUTPUT_SHORT
}
