/**
 * Decoding of LZW as TIFF stores it.
 *
 * Contract: writes at most `dstBytes` bytes at `dst`, and up to 7 bytes behind them; returns the number of
 * decoded bytes, or -1 for a code that the stream has not defined yet. A stream may begin without a clear
 * code, and end without an end code. Once 4096 codes are defined, no further ones are. `work` has 32 KiB.
 *
 *     TIFF 6.0:  codes of 9 to 12 bits, the most significant bit first; a code early they get wider
 *     isOld:     the least significant bit first, and they get wider when they have to
 *
 * Why it is fast: the text of a code lies in the output, one byte longer than the text of the code before it.
 * So an entry is a position and a length, and its text is copied by words.
 */
import { bitsAt } from './bits'

const CLEAR: u32 = 256
const END: u32 = 257
const FIRST: u32 = 258
const MOST: u32 = 4096

export function lzwDecode(src: usize, srcBytes: usize, dst: usize, dstBytes: usize, work: usize, isOld: i32): i32 {
  const start = dst
  const stop = dst + dstBytes
  const end = <u64>srcBytes << 3
  const early: u32 = isOld ? 0 : 1
  let position: u64 = 0
  let width: u64 = 9
  let next = FIRST
  let previous: usize = 0
  let previousBytes: usize = 0
  while (dst < stop && position + width <= end) {
    const code = isOld ? lowBitsAt(src, position, width) : <u32>(bitsAt(src, position) >> (64 - width))
    position += width
    if (code == END) break
    if (code == CLEAR) {
      width = 9
      next = FIRST
      previousBytes = 0
      continue
    }
    let bytes: usize = 1
    if (code < CLEAR) store<u8>(dst, <u8>code)
    else {
      let from = previous
      if (code < next) {
        const entry = work + (<usize>code << 3)
        from = load<u32>(entry)
        bytes = load<u32>(entry, 4)
      } else if (code == next && previousBytes != 0 && next < MOST) bytes = previousBytes + 1
      else return -1
      bytes = min(bytes, stop - dst)
      copy(from, dst, bytes)
    }
    if (previousBytes != 0 && next < MOST) {
      const entry = work + (<usize>next << 3)
      store<u32>(entry, <u32>previous)
      store<u32>(entry, <u32>previousBytes + 1, 4)
      next++
      if (width < 12 && next + early >= <u32>1 << <u32>width) width++
    }
    previous = dst
    previousBytes = bytes
    dst += bytes
  }
  return <i32>(dst - start)
}

// @ts-ignore: decorator
@inline
function lowBitsAt(src: usize, position: u64, width: u64): u32 {
  return <u32>((load<u64>(src + <usize>(position >> 3)) >> (position & 7)) & ((<u64>1 << width) - 1))
}

/** Copies bytes that may overlap: those that were written first are read again. */
// @ts-ignore: decorator
@inline
function copy(from: usize, to: usize, bytes: usize): void {
  const end = to + bytes
  if (to - from >= 8) for (; to < end; to += 8, from += 8) store<u64>(to, load<u64>(from))
  else for (; to < end; to++, from++) store<u8>(to, load<u8>(from))
}
