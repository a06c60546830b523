import { LEAST_MATCH, LITERALS, MOST_HASH_BITS, SEQUENCE_BYTES, SEQUENCES } from './layout'
import { sampledBits } from './sample'

/** Least number of bytes behind the last match of a block. */
const TAIL: usize = 8
/** 2^64 divided by the golden ratio: spreads the bytes of a product over its upper bits. */
const SPREAD: u64 = 0x9e3779b97f4a7c15
/** Least number of hashed bytes; shorter matches are found only by the last offset. */
const LEAST_HASHED: u32 = 5
const MOST_HASHED: u32 = 7
const LEAST_HASH_BITS: u32 = 8
/** After each 2^PATIENCE misses, the search step grows by one. */
const PATIENCE: u32 = 7

/** Results of the last call of `findMatches`. */
export let literalsEnd: usize = 0
export let sequencesEnd: usize = 0

/** Offsets of the last three matches, the last one first. */
let last: usize = 1
let second: usize = 4
let third: usize = 8
/** The same offsets before the last block. */
let lastBefore: usize = 1
let secondBefore: usize = 4
let thirdBefore: usize = 8

let hashBits: u32 = 0

/** Resets the state for a frame of `bytes` bytes. */
export function startMatches(work: usize, bytes: usize): void {
  hashBits = min(max(32 - clz(<u32>bytes), LEAST_HASH_BITS), MOST_HASH_BITS)
  memory.fill(work, 0, <usize>4 << hashBits)
  last = 1
  second = 4
  third = 8
}

/** Restores the offsets before the last block, which is written without sequences. */
export function forgetBlock(): void {
  last = lastBefore
  second = secondBefore
  third = thirdBefore
}

/**
 * Returns the number of bytes that must equal those of another position to be a match: about as many as take
 * more bits by themselves, `byteBits` 256ths per byte, than a match does. The offset of a match is as long as
 * the searched range.
 */
function hashedBytes(byteBits: u32): u32 {
  const matchBits = 2 * hashBits - 4
  return min(max((matchBits << 8) / (byteBits + 1) + 1, LEAST_HASHED), MOST_HASHED)
}

/** Returns the table entry for the first of `bytes`, without the last `skipped` bits. */
// @ts-ignore: decorator
@inline
function slotOf(table: usize, bytes: u64, skipped: u64, shift: u64): usize {
  return table + (<usize>(((bytes << skipped) * SPREAD) >> shift) << 2)
}

/**
 * Finds the sequences of a block: literals, and a match with earlier bytes, no further back than `low`. Both
 * are written to `work`, see layout.ts. `first` is the start of the frame. 64 bytes behind `end` are
 * readable.
 *
 * Why it is fast: greedy, one probe per position in a table that fits the second-level cache, and one of the
 * last offset. Positions without a match are visited ever more sparsely, one step wider for each 128 misses,
 * so that incompressible data cost little.
 */
export function findMatches(src: usize, end: usize, first: usize, low: usize, work: usize): void {
  lastBefore = last
  secondBefore = second
  thirdBefore = third
  let literals = work + LITERALS
  let sequence = work + SEQUENCES
  let anchor = src
  if (end - src <= TAIL) return finish(literals, sequence, anchor, end)
  const lastMatch = end - TAIL
  const shift = <u64>(64 - hashBits)
  const skipped = <u64>(64 - 8 * hashedBytes(sampledBits(src, end)))
  let offset1 = last
  let at = src == first ? src + 1 : src
  while (true) {
    let match: usize
    let misses: u32 = 1 << PATIENCE
    do {
      if (at > lastMatch) return finish(literals, sequence, anchor, end)
      const bytes = load<u64>(at)
      const slot = slotOf(work, bytes, skipped, shift)
      match = load<u32>(slot)
      store<u32>(slot, <u32>at)
      if (<u32>(bytes >> 8) == load<u32>(at + 1 - offset1)) {
        at++
        match = at - offset1
        break
      }
      // Two tests, because the engine would compute both sides of one.
      if (<u32>bytes == load<u32>(match)) {
        if (match >= low) break
      }
      at += misses++ >> PATIENCE
    } while (true)

    const start = at
    let matchEnd = endOfMatch(at + LEAST_MATCH, match + LEAST_MATCH, end)
    const offset = at - match
    let literalBytes = at - anchor
    // Without literals, the last offset has no code of its own.
    let room = min(literalBytes - <usize>(offset == offset1 && literalBytes != 0), match - first)
    while (room > 0 && load<u8>(at - 1) == load<u8>(match - 1)) {
      at--
      match--
      room--
    }
    literalBytes = at - anchor
    v128.store(literals, v128.load(anchor))
    if (literalBytes > 16) copyMore(literals, anchor, literalBytes)
    literals += literalBytes
    store<u32>(sequence, codeOf(offset, literalBytes))
    store<u32>(sequence, <u32>literalBytes, 4)
    store<u32>(sequence, <u32>(matchEnd - at - 3), 8)
    sequence += SEQUENCE_BYTES
    at = matchEnd
    anchor = at
    offset1 = last
    if (at > lastMatch) return finish(literals, sequence, anchor, end)
    store<u32>(slotOf(work, load<u64>(start + 2), skipped, shift), <u32>(start + 2))
    store<u32>(slotOf(work, load<u64>(at - 2), skipped, shift), <u32>(at - 2))
    while (at <= lastMatch && load<u32>(at) == load<u32>(at - second)) {
      matchEnd = endOfMatch(at + LEAST_MATCH, at + LEAST_MATCH - second, end)
      store<u32>(slotOf(work, load<u64>(at), skipped, shift), <u32>at)
      store<u32>(sequence, codeOf(second, 0))
      store<u32>(sequence, 0, 4)
      store<u32>(sequence, <u32>(matchEnd - at - 3), 8)
      sequence += SEQUENCE_BYTES
      at = matchEnd
      anchor = at
      offset1 = last
    }
  }
}

/** Appends the last literals. */
function finish(literals: usize, sequence: usize, anchor: usize, end: usize): void {
  memory.copy(literals, anchor, end - anchor)
  literalsEnd = literals + (end - anchor)
  sequencesEnd = sequence
}

/** Copies the bytes behind the first 16, and up to 15 bytes more. */
function copyMore(to: usize, from: usize, bytes: usize): void {
  for (let at: usize = 16; at < bytes; at += 16) v128.store(to + at, v128.load(from + at))
}

/** Returns the end of the run from `at` that equals the bytes from `match`, at most `end`. */
// @ts-ignore: decorator
@inline
function endOfMatch(at: usize, match: usize, end: usize): usize {
  for (; at < end; at += 16, match += 16) {
    const differ = ~i8x16.bitmask(i8x16.eq(v128.load(at), v128.load(match)))
    if (<u16>differ != 0) return min(at + <usize>ctz(differ), end)
  }
  return end
}

/** Returns the code of an offset: 1 to 3 for those of the last matches, the offset plus 3 for others. */
function codeOf(offset: usize, literalBytes: usize): u32 {
  // Without literals, these codes begin with the second of the last offsets.
  const skipped = <u32>(literalBytes == 0)
  if (offset == last && skipped == 0) return 1
  if (offset == second) {
    second = last
    last = offset
    return 2 - skipped
  }
  const code = offset == third ? 3 - skipped : <u32>offset + 3
  third = second
  second = last
  last = offset
  return code
}
