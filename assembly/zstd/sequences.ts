import { patternAt, repeat, STEPS } from '../overlap'
import {
  ADDED_BITS,
  ADDED_MASK,
  BAD_OFFSET,
  BAD_SEQUENCES,
  BASE,
  INPUT_TRUNCATED,
  LAST_ERROR,
  LITERAL_LENGTHS,
  MATCH_LENGTHS,
  MOST_BATCH,
  NEXT_BITS,
  NEXT_MASK,
  OFFSETS,
  OUTPUT_OVERFLOW,
  REPEATED_OFFSETS,
} from './layout'
import { literalAccuracy, matchAccuracy, offsetAccuracy, readTables } from './sequence-tables'

/**
 * Sequences that are decoded without an inner loop: 16 bytes of literals and a match of 3 vectors, at most 64
 * bytes of output.
 */
const SHORT_LITERALS: usize = 16
const SHORT_MATCH: usize = 32
const SHORT_OUTPUT: usize = 64
/** Shorter literals and matches have no bits added to their base. */
const ADDED_LITERALS: usize = 16
const ADDED_MATCH: usize = 35
/** Least number of unread bits in a word that is loaded at the byte of its last bit. */
const WORD_BITS: u64 = 57

/**
 * Decodes the sequences of a block, executes them and appends the remaining literals. At least 64 KiB behind
 * the literals and 32 KiB before the stream are readable. Returns the end of the output, or an error.
 *
 *     sequences:  their number (0 to 127: 1 byte, 128 to 254: 2, 255: 3) | u8 modes | tables | stream, read backwards
 *     stream:     states of literal lengths, offsets, match lengths | a sequence: bits added to offset, match, literals; to the next states
 *
 * Why it is fast: most sequences have up to 16 literals and a match of up to 32 bytes. They are decoded and
 * copied in one loop without an inner loop or a call, so that the engine keeps most values in registers. A
 * state contains everything about its symbol, masks included, so that bits are extracted by one rotation. The
 * next word of the stream is loaded where the added bits of a sequence end. It contains the bits of the next
 * states and of the next offset, and the following load depends only on the number of bits of that offset.
 * Ends are checked once for many sequences, because their reach is bounded and the memory behind is this
 * module's. Literals and matches are copied in whole vectors beyond their end; small offsets repeat a pattern
 * that one swizzle builds. Longer sequences, and those near the end, are copied exactly.
 */
export function decodeSequences(src: usize, end: usize, literals: usize, literalsEnd: usize, dst: usize, out: usize, outputEnd: usize): usize {
  if (src >= end) return INPUT_TRUNCATED
  let count: u32 = load<u8>(src++)
  if (count >= 128) {
    if (count < 255) count = ((count - 128) << 8) + load<u8>(src++)
    else {
      count = <u32>load<u16>(src) + 0x7f00
      src += 2
    }
  }
  if (count > 0) {
    src = readTables(src, end)
    if (src <= LAST_ERROR) return src
    if (src >= end || load<u8>(end - 1) == 0) return BAD_SEQUENCES
    out = execute(src, end, count, literals, literalsEnd, dst, out, outputEnd)
    if (out <= LAST_ERROR) return out
    literals = literalsLeft
  } else if (src != end) return BAD_SEQUENCES
  const rest = literalsEnd - literals
  if (rest > outputEnd - out) return OUTPUT_OVERFLOW
  memory.copy(out, literals, rest)
  return out + rest
}

/** Start of the literals that `execute` has left. */
let literalsLeft: usize = 0

function execute(src: usize, end: usize, count: u32, literals: usize, literalsEnd: usize, dst: usize, out: usize, outputEnd: usize): usize {
  // The position of a bit in memory, minus the bits of a word below it, so that its byte is the address to
  // load.
  const first = (<u64>src << 3) - WORD_BITS
  let at = (<u64>end << 3) - WORD_BITS - (<u64>clz(<u32>load<u8>(end - 1)) - 23)
  let bits = load<u64>(<usize>(at >> 3))
  let left = (at & 7) + WORD_BITS - <u64>literalAccuracy()
  let literalState = <usize>take(bits, left, <u64>literalAccuracy()) << 4
  left -= <u64>offsetAccuracy()
  let offsetState = <usize>take(bits, left, <u64>offsetAccuracy()) << 4
  left -= <u64>matchAccuracy()
  let matchState = <usize>take(bits, left, <u64>matchAccuracy()) << 4
  at -= <u64>literalAccuracy() + <u64>offsetAccuracy() + <u64>matchAccuracy()
  let sequenceEnd: u64
  let repeat1: u32 = load<u32>(REPEATED_OFFSETS)
  let repeat2: u32 = load<u32>(REPEATED_OFFSETS, 4)
  let repeat3: u32 = load<u32>(REPEATED_OFFSETS, 8)

  for (;;) {
    let run: usize
    let length: usize
    let offset: u32
    if (at < first || literals > literalsEnd) return BAD_SEQUENCES
    let batch = min<u32>(min<u32>(count, MOST_BATCH), <u32>((outputEnd - out) / SHORT_OUTPUT))
    const isNearEnd = batch == 0
    const behind = count - batch
    do {
      const offsetBits = <u64>load<u8>(offsetState, OFFSETS + ADDED_BITS)
      at -= offsetBits
      left -= offsetBits
      offset = load<u32>(offsetState, OFFSETS + BASE) + (<u32>(bits >> left) & load<u32>(offsetState, OFFSETS + ADDED_MASK))
      length = load<u32>(matchState, MATCH_LENGTHS + BASE)
      run = load<u32>(literalState, LITERAL_LENGTHS + BASE)
      if (run >= ADDED_LITERALS || length >= ADDED_MATCH) {
        if (at < first) return BAD_SEQUENCES
        bits = load<u64>(<usize>(at >> 3))
        left = (at & 7) + WORD_BITS - <u64>load<u8>(matchState, MATCH_LENGTHS + ADDED_BITS)
        length += <usize>(bits >> left) & load<u32>(matchState, MATCH_LENGTHS + ADDED_MASK)
        left -= <u64>load<u8>(literalState, LITERAL_LENGTHS + ADDED_BITS)
        run += <usize>(bits >> left) & load<u32>(literalState, LITERAL_LENGTHS + ADDED_MASK)
        at -= (at & 7) + WORD_BITS - left
      }
      // Behind the last sequence, there are no bits of next states.
      sequenceEnd = at
      bits = load<u64>(<usize>(at >> 3))
      const literalBits = <u64>load<u8>(literalState, LITERAL_LENGTHS + NEXT_BITS)
      const matchBits = literalBits + <u64>load<u8>(matchState, MATCH_LENGTHS + NEXT_BITS)
      const allBits = matchBits + <u64>load<u8>(offsetState, OFFSETS + NEXT_BITS)
      // Minus 4: rotating by that yields states times 16, the size of a state.
      left = (at & 7) + (WORD_BITS - 4)
      at -= allBits
      const literalNext = <usize>rotr(bits, left - literalBits) & load<u32>(literalState, LITERAL_LENGTHS + NEXT_MASK)
      const matchNext = <usize>rotr(bits, left - matchBits) & load<u32>(matchState, MATCH_LENGTHS + NEXT_MASK)
      left -= allBits
      const offsetNext = <usize>rotr(bits, left) & load<u32>(offsetState, OFFSETS + NEXT_MASK)
      left += 4
      literalState = <usize>load<u16>(literalState, LITERAL_LENGTHS) + literalNext
      matchState = <usize>load<u16>(matchState, MATCH_LENGTHS) + matchNext
      offsetState = <usize>load<u16>(offsetState, OFFSETS) + offsetNext

      if (offsetBits > 1) {
        repeat3 = repeat2
        repeat2 = repeat1
        repeat1 = offset
      } else {
        const index = offset + 2 + u32(run == 0)
        if (index > 0) {
          offset = index == 1 ? repeat2 : index == 2 ? repeat3 : repeat1 - 1
          if (index > 1) repeat3 = repeat2
          repeat2 = repeat1
          repeat1 = offset
        } else offset = repeat1
      }

      if (run > SHORT_LITERALS || length > SHORT_MATCH || isNearEnd) break
      const to = out + run
      if (<usize>(offset - 1) >= to - dst) return BAD_OFFSET
      v128.store(out, v128.load(literals))
      literals += run
      const match = to - <usize>offset
      if (offset >= 16) {
        v128.store(to, v128.load(match))
        v128.store(to, v128.load(match, 16), 16)
      } else {
        const pattern = patternAt(match, <usize>offset)
        const step = <usize>load<u8>(STEPS + <usize>offset)
        v128.store(to, pattern)
        v128.store(to + step, pattern)
        v128.store(to + 2 * step, pattern)
      }
      out = to + length
    } while (--batch > 0)
    count = behind + batch
    if (batch == 0 && !isNearEnd) {
      if (count == 0) break
      continue
    }

    if (literals > literalsEnd || run > literalsEnd - literals) return BAD_SEQUENCES
    if (run + length > outputEnd - out) return OUTPUT_OVERFLOW
    const to = out + run
    if (<usize>(offset - 1) >= to - dst) return BAD_OFFSET
    memory.copy(out, literals, run)
    literals += run
    repeat(to, <usize>offset, length)
    out = to + length
    if (--count == 0) break
  }
  if (sequenceEnd != first || literals > literalsEnd) return BAD_SEQUENCES
  store<u32>(REPEATED_OFFSETS, repeat1)
  store<u32>(REPEATED_OFFSETS, repeat2, 4)
  store<u32>(REPEATED_OFFSETS, repeat3, 8)
  literalsLeft = literals
  return out
}

/** Returns `count` bits, above which all are read and below which `left` remain. */
// @ts-ignore: decorator
@inline
function take(bits: u64, left: u64, count: u64): u64 {
  return (bits >> left) & ((<u64>1 << count) - 1)
}
