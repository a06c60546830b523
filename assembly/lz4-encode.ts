/**
 * LZ4 block encoding.
 *
 * Contract: `lz4Encode` writes one raw block to `dst`, which has room for `lz4Bound` bytes, and returns its
 * size, or 0 if the input exceeds a block. Blocks keep the end rules: the last 5 bytes are literals, and the
 * last match starts at least 12 bytes before the end. The source is in the arena. Up to 32 bytes behind it
 * are read; nothing behind the bound is written.
 *
 * With `carry`, the address of a u32, the source is a segment of a block, and no match reaches to before it.
 * The u32 contains the number of bytes in front of it that belong to no sequence yet; they become literals of
 * its first sequence. The last bytes are not written, and their number is stored there.
 *
 *     TABLE, sources up to 64 KiB:  8192 u16, the last place, relative to `src`, whose 4 bytes had this hash
 *            longer ones:           4096 u32, the address of the last place whose 5 bytes had this hash;
 *                                   0 is too far away to be a match
 *
 * Why it is fast: greedy, one probe per position; the table fits the first-level cache. Positions without a
 * match are visited ever more sparsely (one step wider for each 64 misses), so that incompressible data cost
 * little. The search is a loop of its own, without a call or an inner loop, which the engine keeps in
 * registers. Most matches end within the 16 bytes that are compared at once, and most extend backwards by
 * fewer than 8: both lengths are counts of zero bits. Room is never checked. A sequence exceeds its input by
 * no more than the bound allows for. Behind the last match, at least 12 bytes of input follow, which with the
 * 16 of the bound leave room for whole vectors.
 */
import { copyOver } from './overlap'

const TABLE_BYTES: usize = 16384
const TABLE: usize = memory.data(16384, 16)
/** 2^64 divided by the golden ratio: spreads the bytes of a product over its upper bits. */
const SPREAD: u64 = 0x9e3779b97f4a7c15

const MOST_INPUT: usize = 0x7e000000
const LAST_LITERALS: usize = 5
const LAST_MATCH: usize = 12
const REACH: usize = 65535

/** Returns the bytes that suffice for `bytes` bytes of any input; 0 for more than a block can contain. */
export function lz4Bound(bytes: usize): usize {
  return bytes > MOST_INPUT ? 0 : bytes + bytes / 255 + 16
}

export function lz4Encode(src: usize, srcBytes: usize, dst: usize, carry: usize): i32 {
  if (srcBytes > MOST_INPUT) return 0
  const end = src + srcBytes
  const out = srcBytes <= REACH + 1 ? encode<u16>(src, end, dst, carry) : encode<u32>(src, end, dst, carry)
  return <i32>(out - dst)
}

/** Returns the table entry for the first bytes of `bytes`. */
// @ts-ignore: decorator
@inline
function slotOf<T>(bytes: u64): usize {
  return sizeof<T>() == 2
    ? TABLE + (<usize>(((bytes << 32) * SPREAD) >> 51) << 1)
    : TABLE + (<usize>(((bytes << 24) * SPREAD) >> 52) << 2)
}

/**
 * Encodes a block and returns its end.
 * @typeParam T u16 or u32: element type of the table
 */
function encode<T>(src: usize, end: usize, dst: usize, carry: usize): usize {
  const base = sizeof<T>() == 2 ? src : 0
  let out = dst
  let anchor = src // first byte that no sequence holds yet
  if (carry != 0) anchor -= load<u32>(carry)
  if (end - src <= LAST_MATCH) return writeLast(out, anchor, end, carry)
  memory.fill(TABLE, 0, TABLE_BYTES)
  const lastMatch = end - LAST_MATCH
  const matchEnd = end - LAST_LITERALS
  let at = src + 1
  while (true) {
    let match: usize
    let misses: u32 = 64
    do {
      if (at > lastMatch) return writeLast(out, anchor, end, carry)
      const bytes = load<u64>(at)
      const slot = slotOf<T>(bytes)
      match = base + load<T>(slot)
      store<T>(slot, <T>(at - base))
      // Two tests, because the engine would compute both sides of one.
      if (<u32>bytes != load<u32>(match)) {
        at += misses++ >> 6
        continue
      }
      if (sizeof<T>() > 2 && at - match > REACH) {
        at += misses++ >> 6
        continue
      }
      break
    } while (true)

    const offset = at - match
    const differ = ~i8x16.bitmask(i8x16.eq(v128.load(at, 4), v128.load(match, 4)))
    const after = <u16>differ != 0 ? min(at + 4 + <usize>ctz(differ), matchEnd) : runEnd(at + 20, match + 20, matchEnd)
    let literals = at - anchor
    if (literals != 0) {
      let back: usize
      do {
        // May read bytes in front of the source, but does not count them.
        back = min(min(<usize>(clz(load<u64>(at - 8) ^ load<u64>(match - 8)) >> 3), literals), match - src)
        literals -= back
        at -= back
        match -= back
      } while (back == 8)
    }
    const length = after - at - 4
    if (literals < 15) {
      store<u8>(out, <u8>((literals << 4) | min(length, 15)))
      v128.store(out, v128.load(anchor), 1)
      store<u16>(out + literals, <u16>offset, 1)
      out += literals + 3
    } else {
      out = writeLong(out, anchor, literals, offset, length)
    }
    if (length >= 15) out = writeExtra(out, length)
    at = after
    anchor = after
    if (at <= lastMatch) store<T>(slotOf<T>(load<u64>(at - 2)), <T>(at - 2 - base))
  }
}

/** Returns the end of the run from `at` that equals the bytes from `match`, at most `end`. */
// @ts-ignore: decorator
@inline
function runEnd(at: usize, match: usize, end: usize): usize {
  for (; at < end; at += 32, match += 32) {
    const first = i8x16.bitmask(i8x16.eq(v128.load(at), v128.load(match)))
    const second = i8x16.bitmask(i8x16.eq(v128.load(at, 16), v128.load(match, 16)))
    const same = first | (second << 16)
    if (same != -1) return min(at + <usize>ctz(~same), end)
  }
  return end
}

function writeExtra(out: usize, length: usize): usize {
  let rest = length - 15
  for (; rest >= 255; rest -= 255) store<u8>(out++, 255)
  store<u8>(out++, <u8>rest)
  return out
}

/** Writes a token, literals and the offset of a match; returns the position for the rest of its length. */
function writeLong(out: usize, anchor: usize, literals: usize, offset: usize, match: usize): usize {
  store<u8>(out, <u8>(0xf0 | min(match, 15)))
  out = writeExtra(out + 1, literals)
  const end = out + literals
  if (literals > 1024) memory.copy(out, anchor, literals)
  else copyOver(anchor, out, end)
  store<u16>(end, <u16>offset)
  return end + 2
}

/** Writes the last sequence, literals only, and returns its end. */
function writeLast(out: usize, anchor: usize, end: usize, carry: usize): usize {
  const literals = end - anchor
  if (carry != 0) {
    store<u32>(carry, <u32>literals)
    return out
  }
  store<u8>(out++, <u8>(min(literals, 15) << 4))
  if (literals >= 15) out = writeExtra(out, literals)
  memory.copy(out, anchor, literals)
  return out + literals
}
