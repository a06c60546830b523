import { patternAt, repeat, STEPS } from '../overlap'
import {
  BAD_OFFSET,
  BAD_SEQUENCES,
  INPUT_TRUNCATED,
  LAST_ERROR,
  LITERAL_LENGTHS,
  MATCH_LENGTHS,
  OFFSETS,
  OUTPUT_OVERFLOW,
  REPEATED_OFFSETS,
} from './layout'
import { literalAccuracy, matchAccuracy, offsetAccuracy, readTables } from './sequence-tables'

/** What a short sequence writes at most: 16 bytes of literals and a match of 3 vectors. */
const OUTPUT_MARGIN: usize = 64
const SHORT_LITERALS: usize = 16
const SHORT_MATCH: usize = 32

/**
 * Decodes the sequences of a block, carries them out and appends what literals are left. At least 32 bytes
 * behind the literals can be read. Returns the end of the output, or an error.
 *
 *     sequences:  their number (0 to 127: 1 byte, 128 to 254: 2, 255: 3) | u8 modes | tables | stream, read backwards
 *     stream:     states of literal lengths, offsets, match lengths | a sequence: bits added to offset, match, literals; to the next states
 *
 * Why it is fast: what most sequences are, up to 16 literals and a match of up to 32 bytes, is decoded and
 * copied in one loop that has no loop and no call in it, which lets the engine keep everything in registers.
 * A state is one word that says all of its symbol. A load of the stream brings at least 57 bits, and nearly
 * all sequences take fewer, so that a second one is rare. Literals and matches are copied in whole vectors
 * past their end; small offsets repeat a pattern that one swizzle builds. What is longer or near the end is
 * left to exact copies.
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

/** Where the literals start that `execute` has left. */
let literalsLeft: usize = 0

function execute(src: usize, end: usize, count: u32, literals: usize, literalsEnd: usize, dst: usize, out: usize, outputEnd: usize): usize {
  const outputNear = outputEnd - dst > OUTPUT_MARGIN ? outputEnd - OUTPUT_MARGIN : 0
  const floor = src - 8
  let at = end - 8
  let bits = load<u64>(at)
  let used = clz(bits) + 1
  let literalState = take(bits, used, <u64>literalAccuracy()) << 3
  used += <u64>literalAccuracy()
  let offsetState = take(bits, used, <u64>offsetAccuracy()) << 3
  used += <u64>offsetAccuracy()
  let matchState = take(bits, used, <u64>matchAccuracy()) << 3
  used += <u64>matchAccuracy()
  let repeat1: u32 = load<u32>(REPEATED_OFFSETS)
  let repeat2: u32 = load<u32>(REPEATED_OFFSETS, 4)
  let repeat3: u32 = load<u32>(REPEATED_OFFSETS, 8)
  let unused: u64

  for (;;) {
    let run: usize
    let length: usize
    let offset: u32
    do {
      at -= <usize>(used >> 3)
      used &= 7
      bits = load<u64>(at)
      if (at < floor) return BAD_SEQUENCES
      const offsetEntry = load<u64>(<usize>offsetState, OFFSETS)
      const matchEntry = load<u64>(<usize>matchState, MATCH_LENGTHS)
      const literalEntry = load<u64>(<usize>literalState, LITERAL_LENGTHS)

      const offsetBits = (offsetEntry >> 16) & 255
      offset = <u32>(offsetEntry >> 32) + <u32>take(bits, used, offsetBits)
      used += offsetBits
      if (used > 32) {
        at -= <usize>(used >> 3)
        used &= 7
        bits = load<u64>(at)
      }
      const matchBits = (matchEntry >> 16) & 255
      length = <usize>((matchEntry >> 32) + take(bits, used, matchBits))
      used += matchBits
      const literalBits = (literalEntry >> 16) & 255
      run = <usize>((literalEntry >> 32) + take(bits, used, literalBits))
      used += literalBits
      if (used > 38) {
        at -= <usize>(used >> 3)
        used &= 7
        bits = load<u64>(at)
      }
      // behind the last sequence there are none of these bits
      const literalNext = (literalEntry >> 24) & 255
      const matchNext = (matchEntry >> 24) & 255
      const offsetNext = (offsetEntry >> 24) & 255
      literalState = (literalEntry & 0xffff) + (take(bits, used, literalNext) << 3)
      matchState = (matchEntry & 0xffff) + (take(bits, used + literalNext, matchNext) << 3)
      unused = literalNext + matchNext + offsetNext
      used += unused
      offsetState = (offsetEntry & 0xffff) + (take(bits, used - offsetNext, offsetNext) << 3)

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

      if (run > SHORT_LITERALS || length > SHORT_MATCH || out >= outputNear || run > literalsEnd - literals) break
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
    } while (--count > 0)
    if (count == 0) break

    if (run > literalsEnd - literals) return BAD_SEQUENCES
    if (run + length > outputEnd - out) return OUTPUT_OVERFLOW
    const to = out + run
    if (<usize>(offset - 1) >= to - dst) return BAD_OFFSET
    memory.copy(out, literals, run)
    literals += run
    repeat(to, <usize>offset, length)
    out = to + length
    if (--count == 0) break
  }
  if ((<i64>(at - floor) << 3) - <i64>(used - unused) != 0) return BAD_SEQUENCES
  store<u32>(REPEATED_OFFSETS, repeat1)
  store<u32>(REPEATED_OFFSETS, repeat2, 4)
  store<u32>(REPEATED_OFFSETS, repeat3, 8)
  literalsLeft = literals
  return out
}

/** `count` bits behind `used` of the uppermost; none where that is 0, by which a word cannot be shifted. */
// @ts-ignore: decorator
@inline
function take(bits: u64, used: u64, count: u64): u64 {
  return ((bits << used) >> 1) >> (63 - count)
}
