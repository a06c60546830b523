/**
 * LZ4 block encoding.
 *
 * Contract: `lz4Encode` writes one raw block into at most `dstCap` bytes and returns its size, or 0 when it does not fit (`lz4Bound` bytes
 * always do). Blocks keep the end rules: the last 5 bytes are literals, and the last match starts at least 12 bytes before the end. The
 * source lies in the arena. Up to 16 bytes behind it are read; nothing behind `dst + dstCap` is written.
 *
 *     TABLE, sources up to 64 KiB:  8192 u16, the last place, relative to `src`, whose 4 bytes had this hash
 *            longer ones:           4096 u32, the address of the last place whose 5 bytes had this hash; 0 is too far away to be a match
 *
 * Why it is fast: greedy, one probe a place; the table fits the first-level cache. Places without a match are visited ever more sparsely
 * (one step wider for each 64 misses), so that incompressible data costs little. Most matches end within the 8 bytes that are compared
 * first, and most extend backwards by fewer than 8: both lengths are counts of zero bits, without a loop.
 */
const TABLE_BYTES: usize = 16384
const TABLE: usize = memory.data(16384, 16)
/** 2^64 divided by the golden ratio: spreads the bytes of a product over its upper bits. */
const SPREAD: u64 = 0x9e3779b97f4a7c15

const MOST_INPUT: usize = 0x7e000000
const LAST_LITERALS: usize = 5
const LAST_MATCH: usize = 12
const REACH: usize = 65535

/** Bytes that suffice for `bytes` bytes of any input; 0 for more than a block can hold. */
export function lz4Bound(bytes: usize): usize {
  return bytes > MOST_INPUT ? 0 : bytes + bytes / 255 + 16
}

export function lz4Encode(src: usize, srcBytes: usize, dst: usize, dstCap: usize): i32 {
  if (srcBytes > MOST_INPUT) return 0
  return srcBytes <= REACH + 1 ? encode<u16>(src, src + srcBytes, dst, dst + dstCap) : encode<u32>(src, src + srcBytes, dst, dst + dstCap)
}

/** Entry of the table for the first bytes of `bytes`. */
// @ts-ignore: decorator
@inline
function slotOf<T>(bytes: u64): usize {
  return sizeof<T>() == 2
    ? TABLE + (<usize>(((bytes << 32) * SPREAD) >> 51) << 1)
    : TABLE + (<usize>(((bytes << 24) * SPREAD) >> 52) << 2)
}

/** @typeParam T u16 or u32: what the table holds */
function encode<T>(src: usize, end: usize, dst: usize, outputEnd: usize): i32 {
  const base = sizeof<T>() == 2 ? src : 0
  let out = dst
  let anchor = src // first byte that no sequence holds yet
  if (end - src > LAST_MATCH) {
    memory.fill(TABLE, 0, TABLE_BYTES)
    const lastMatch = end - LAST_MATCH
    const matchEnd = end - LAST_LITERALS
    let at = src + 1
    let misses: u32 = 64
    while (at <= lastMatch) {
      const bytes = load<u64>(at)
      const slot = slotOf<T>(bytes)
      let match: usize = base + load<T>(slot)
      store<T>(slot, <T>(at - base))
      const differ = bytes ^ load<u64>(match)
      // two tests, as the engine would compute both for one
      if (<u32>differ != 0) {
        at += misses++ >> 6
        continue
      }
      if (sizeof<T>() > 2 && at - match > REACH) {
        at += misses++ >> 6
        continue
      }
      const offset = at - match
      const after = differ != 0 ? at + <usize>(ctz(differ) >> 3) : runEnd(at + 8, match + 8, matchEnd)
      let back: usize
      do {
        // may look at bytes in front of the source, but does not count them
        back = min(min(<usize>(clz(load<u64>(at - 8) ^ load<u64>(match - 8)) >> 3), at - anchor), match - src)
        at -= back
        match -= back
      } while (back == 8)
      out = writeSequence(out, outputEnd, anchor, at - anchor, offset, after - at - 4)
      if (out == 0) return 0
      at = after
      anchor = after
      misses = 64
      if (at <= lastMatch) store<T>(slotOf<T>(load<u64>(at - 2)), <T>(at - 2 - base))
    }
  }
  return writeLast(dst, outputEnd, out, anchor, end - anchor)
}

/** End of the run from `at` that equals the bytes from `match`, at most `end`. */
function runEnd(at: usize, match: usize, end: usize): usize {
  for (; at < end; at += 16, match += 16) {
    const same = i8x16.bitmask(i8x16.eq(v128.load(at), v128.load(match)))
    if (same != 0xffff) return min(at + <usize>ctz(~same), end)
  }
  return end
}

/** Bytes that a length takes beyond the token. */
// @ts-ignore: decorator
@inline
function extraBytes(length: usize): usize {
  return length < 15 ? 0 : (length - 15) / 255 + 1
}

function writeExtra(out: usize, length: usize): usize {
  let rest = length - 15
  for (; rest >= 255; rest -= 255) store<u8>(out++, 255)
  store<u8>(out++, <u8>rest)
  return out
}

/** Writes token, literals and match; returns where the next sequence goes, or 0 when there is no room. */
// @ts-ignore: decorator
@inline
function writeSequence(out: usize, outputEnd: usize, anchor: usize, literals: usize, offset: usize, match: usize): usize {
  const room = outputEnd - out
  if (room >= 32 && literals < 15 && match < 15) {
    store<u8>(out, <u8>((literals << 4) | match))
    v128.store(out, v128.load(anchor), 1)
    store<u16>(out + literals, <u16>offset, 1)
    return out + literals + 3
  }
  return writeLong(out, room, anchor, literals, offset, match)
}

function writeLong(out: usize, room: usize, anchor: usize, literals: usize, offset: usize, match: usize): usize {
  if (1 + extraBytes(literals) + literals + 2 + extraBytes(match) > room) return 0
  store<u8>(out++, <u8>((min(literals, 15) << 4) | min(match, 15)))
  if (literals >= 15) out = writeExtra(out, literals)
  memory.copy(out, anchor, literals)
  out += literals
  store<u16>(out, <u16>offset)
  out += 2
  return match >= 15 ? writeExtra(out, match) : out
}

/** Writes the last sequence, literals only, and returns the size of the block; 0 when there is no room. */
function writeLast(dst: usize, outputEnd: usize, out: usize, anchor: usize, literals: usize): i32 {
  if (1 + extraBytes(literals) + literals > outputEnd - out) return 0
  store<u8>(out++, <u8>(min(literals, 15) << 4))
  if (literals >= 15) out = writeExtra(out, literals)
  memory.copy(out, anchor, literals)
  return <i32>(out + literals - dst)
}
