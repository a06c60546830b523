import {
  ACCURACIES,
  BAD_BLOCK,
  INPUT_TRUNCATED,
  LAST_ERROR,
  NONE,
  OUTPUT_OVERFLOW,
  OUTPUT_SHORT,
  REPEATED_OFFSETS,
  TRAILING_INPUT,
} from './layout'
import { forgetHuffman, literalsBytes, literalsStart, readLiterals } from './literals'
import { decodeSequences } from './sequences'

const RAW: u32 = 0
const RLE: u32 = 1

/**
 * Decodes the blocks of a Zstandard frame (RFC 8878), without the frame's header and checksum.
 *
 * Contract: any input is safe: nothing outside [dst, dst + dstBytes) is written except this module's tables
 * and literals, and nothing outside the input and the decoded output influences the result. `dstBytes` is the
 * exact size of the content, and all of it is the window. `literals` are 192 KiB for those of a block, above
 * the other regions. Sequences of damaged blocks are executed before the damage is detected, so up to 64 KiB
 * behind the valid literals are read, too. All regions come from the arena. Returns 0, or an error of
 * layout.ts as a negative number.
 *
 *     block:  u24 {last (1), type (2), bytes (21)} | raw bytes, one byte to repeat, or literals and sequences
 */
export function zstdDecode(src: usize, srcBytes: usize, dst: usize, dstBytes: usize, literals: usize): i32 {
  const end = decodeBlocks(src, src + srcBytes, dst, dst + dstBytes, literals)
  if (end <= LAST_ERROR) return -(<i32>end)
  return end == dst + dstBytes ? 0 : -(<i32>OUTPUT_SHORT)
}

/**
 * Decodes the blocks of a frame to at most `mostBytes` bytes; otherwise like `zstdDecode`. Returns the number
 * of bytes, or a negative error code.
 */
export function zstdDecodeUpTo(src: usize, srcBytes: usize, dst: usize, mostBytes: usize, literals: usize): f64 {
  const end = decodeBlocks(src, src + srcBytes, dst, dst + mostBytes, literals)
  return end <= LAST_ERROR ? -(<f64>end) : <f64>(end - dst)
}

function decodeBlocks(src: usize, inputEnd: usize, dst: usize, outputEnd: usize, buffer: usize): usize {
  forgetHuffman()
  store<u32>(REPEATED_OFFSETS, 1)
  store<u32>(REPEATED_OFFSETS, 4, 4)
  store<u32>(REPEATED_OFFSETS, 8, 8)
  for (let i: usize = 0; i < 3; i++) store<u32>(ACCURACIES + (i << 2), NONE)

  let out = dst
  let last: u32
  do {
    if (inputEnd - src < 3) return INPUT_TRUNCATED
    const header: u32 = load<u32>(src) & 0xffffff
    src += 3
    last = header & 1
    const type = (header >> 1) & 3
    const bytes: usize = header >> 3
    const taken: usize = type == RLE ? 1 : bytes
    if (taken > inputEnd - src) return INPUT_TRUNCATED
    if (type <= RLE) {
      if (bytes > outputEnd - out) return OUTPUT_OVERFLOW
      if (type == RAW) memory.copy(out, src, bytes)
      else memory.fill(out, load<u8>(src), bytes)
      out += bytes
    } else {
      if (type != 2) return BAD_BLOCK
      out = decodeBlock(src, src + bytes, dst, out, outputEnd, buffer)
      if (out <= LAST_ERROR) return out
    }
    src += taken
  } while (last == 0)
  return src == inputEnd ? out : TRAILING_INPUT
}

function decodeBlock(src: usize, end: usize, dst: usize, out: usize, outputEnd: usize, buffer: usize): usize {
  const next = readLiterals(src, end, buffer)
  if (next <= LAST_ERROR) return next
  return decodeSequences(next, end, literalsStart, literalsStart + literalsBytes, dst, out, outputEnd)
}
