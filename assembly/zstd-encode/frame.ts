import { BLOCK_BYTES, LITERALS, SEQUENCES } from './layout'
import { writeLiterals } from './literals'
import { findMatches, forgetBlock, literalsEnd, sequencesEnd, startMatches } from './matches'
import { writeSequences } from './sequences'

const RAW: u32 = 0
const RLE: u32 = 1
const COMPRESSED: u32 = 2

/** Least gain in bytes: saving less, or less than a 64th, is not worth decoding. */
const LEAST_GAIN: usize = 2

const MAGIC: u32 = 0xfd2fb528
/** Largest window that all decoders support: 8 MiB. */
const WINDOW_BYTES: usize = 0x800000
const WINDOW_DESCRIPTOR: u8 = (23 - 10) << 3

/**
 * Encodes a Zstandard frame (RFC 8878) with its size and without a checksum.
 *
 * Contract: `src` is in the arena, and 64 bytes behind it are read. `dst` has room for the bytes of the
 * source, 3 for each block of 128 KiB, including a partial one, and 2 KiB. `work` has `zstdWorkBytes`.
 * Returns the number of bytes of the frame.
 */
export function zstdEncode(src: usize, srcBytes: usize, dst: usize, work: usize): usize {
  let to = writeHeader(dst, srcBytes)
  const end = src + srcBytes
  startMatches(work, srcBytes)
  let at = src
  do {
    const bytes = min(end - at, BLOCK_BYTES)
    const blockEnd = at + bytes
    to = writeBlock(to, at, blockEnd, src, end, work)
    at = blockEnd
  } while (at < end)
  return to - dst
}

/**
 * Writes the header. Its descriptor contains the length of the size field, and whether the window is the
 * whole content.
 */
function writeHeader(to: usize, bytes: usize): usize {
  store<u32>(to, MAGIC)
  if (bytes > WINDOW_BYTES) {
    store<u8>(to, 0x80, 4)
    store<u8>(to, WINDOW_DESCRIPTOR, 5)
    store<u32>(to, <u32>bytes, 6)
    return to + 10
  }
  if (bytes < 256) {
    store<u8>(to, 0x20, 4)
    store<u8>(to, <u8>bytes, 5)
    return to + 6
  }
  if (bytes < 65536 + 256) {
    store<u8>(to, 0x60, 4)
    store<u16>(to, <u16>(bytes - 256), 5)
    return to + 7
  }
  store<u8>(to, 0xa0, 4)
  store<u32>(to, <u32>bytes, 5)
  return to + 9
}

/** Writes a block of [from, end) in the shortest form; returns its end. */
function writeBlock(to: usize, from: usize, end: usize, frame: usize, frameEnd: usize, work: usize): usize {
  const bytes = end - from
  const start = to + 3
  let type = COMPRESSED
  let written: usize = 0
  if (bytes > 1 && isRun(from, end)) {
    type = RLE
    store<u8>(start, load<u8>(from))
    written = 1
  } else if (bytes > LEAST_GAIN) {
    const low = end - frame > WINDOW_BYTES ? end - WINDOW_BYTES : frame
    findMatches(from, end, frame, low, work)
    written = compress(start, bytes - LEAST_GAIN - (bytes >> 6), work)
    if (written == 0) forgetBlock()
  }
  if (written == 0) {
    type = RAW
    memory.copy(start, from, bytes)
    written = bytes
  }
  const header = <u32>(end == frameEnd) | (type << 1) | (<u32>(type == RLE ? bytes : written) << 3)
  store<u16>(to, <u16>header)
  store<u8>(to, <u8>(header >> 16), 2)
  return start + written
}

function isRun(from: usize, end: usize): bool {
  const byte = load<u8>(from)
  if (load<u8>(end - 1) != byte) return false
  const run = i8x16.splat(byte)
  for (; end - from >= 16; from += 16) if (i8x16.bitmask(i8x16.eq(v128.load(from), run)) != 0xffff) return false
  for (; from < end; from++) if (load<u8>(from) != byte) return false
  return true
}

/** Writes literals and sequences; returns their number of bytes, or 0 if it exceeds `most`. */
function compress(to: usize, most: usize, work: usize): usize {
  const literals = work + LITERALS
  const next = writeLiterals(to, literals, literalsEnd - literals)
  if (next - to >= most) return 0
  const end = writeSequences(next, to + most, work + SEQUENCES, sequencesEnd)
  return end == 0 || end - to > most ? 0 : end - to
}
