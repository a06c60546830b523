import { endBits, putBits, startBits } from './bits'
import { bitsOf, buildSingle, buildTable, changeTo, codedBits, firstState, nextState, share, writeShares } from './fse'
import { ACCURACY, COUNTS, LITERAL_LENGTHS, MATCH_LENGTHS, OFFSETS, SEQUENCE_BYTES, SHARES } from './layout'

const PREDEFINED: u32 = 0
const SINGLE: u32 = 1
const COUNTED: u32 = 2

/** Codes of lengths below 64 and below 128; longer ones have one code for each power of 2. */
const LITERAL_CODES: usize = memory.data<u8>([
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 16, 17, 17, 18, 18, 19, 19, 20, 20, 20, 20, 21, 21, 21, 21,
  22, 22, 22, 22, 22, 22, 22, 22, 23, 23, 23, 23, 23, 23, 23, 23, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24,
])
const MATCH_CODES: usize = memory.data<u8>([
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
  32, 32, 33, 33, 34, 34, 35, 35, 36, 36, 36, 36, 37, 37, 37, 37, 38, 38, 38, 38, 38, 38, 38, 38, 39, 39, 39, 39, 39, 39, 39, 39,
  40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41,
  42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42,
])

/** Number of bits of a length that follow its code. */
const LITERAL_BITS: usize = memory.data<u8>([
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
])
const MATCH_BITS: usize = memory.data<u8>([
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4,
  5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
])

/** Shares of the predefined tables. */
const LITERAL_SHARES: usize = memory.data<i8>([
  4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1,
])
const MATCH_SHARES: usize = memory.data<i8>([
  1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
  1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
])
const OFFSET_SHARES: usize = memory.data<i8>([
  1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1,
])

/**
 * Writes the sequences of [from, end); see `decodeSequences` of the decoder. Returns their end, or 0 if it
 * would be behind `most`; up to 1 KiB more may be written.
 */
export function writeSequences(to: usize, most: usize, from: usize, end: usize): usize {
  const count = <u32>((end - from) / SEQUENCE_BYTES)
  if (count < 128) store<u8>(to++, <u8>count)
  else if (count < 0x7f00) {
    store<u8>(to++, <u8>((count >> 8) + 128))
    store<u8>(to++, <u8>count)
  } else {
    store<u8>(to++, 255)
    store<u16>(to, <u16>(count - 0x7f00))
    to += 2
  }
  if (count == 0) return to
  countCodes(from, end)
  const modes = to++
  to = writeTable(to, LITERAL_LENGTHS, load<u8>(from, 13), count, 36, 9, LITERAL_SHARES, 36, 6)
  const literalMode = mode
  to = writeTable(to, OFFSETS, load<u8>(from, 12), count, 32, 8, OFFSET_SHARES, 29, 5)
  const offsetMode = mode
  to = writeTable(to, MATCH_LENGTHS, load<u8>(from, 14), count, 53, 9, MATCH_SHARES, 53, 6)
  store<u8>(modes, <u8>((literalMode << 6) | (offsetMode << 4) | (mode << 2)))
  return writeStates(to, most, from, end)
}

/** Adds the codes to each sequence, and counts them. */
function countCodes(from: usize, end: usize): void {
  memory.fill(LITERAL_LENGTHS + COUNTS, 0, 256)
  memory.fill(OFFSETS + COUNTS, 0, 256)
  memory.fill(MATCH_LENGTHS + COUNTS, 0, 256)
  for (let at = from; at < end; at += SEQUENCE_BYTES) {
    const offset: u32 = 31 - clz(load<u32>(at))
    const literals = load<u32>(at, 4)
    const match = load<u32>(at, 8)
    const literalCode: u32 = literals < 64 ? load<u8>(LITERAL_CODES + <usize>literals) : 50 - clz(literals)
    const matchCode: u32 = match < 128 ? load<u8>(MATCH_CODES + <usize>match) : 67 - clz(match)
    store<u32>(at, offset | (literalCode << 8) | (matchCode << 16), 12)
    countCode(OFFSETS, offset)
    countCode(LITERAL_LENGTHS, literalCode)
    countCode(MATCH_LENGTHS, matchCode)
  }
}

// @ts-ignore: decorator
@inline
function countCode(table: usize, code: u32): void {
  const count = table + COUNTS + (<usize>code << 2)
  store<u32>(count, load<u32>(count) + 1)
}

/** Mode of the table that was written last. */
let mode: u32 = 0

/** Builds the table that codes the counts in the fewest bits, and writes the part of it that readers need. */
function writeTable(
  to: usize,
  table: usize,
  anyCode: usize,
  count: u32,
  symbols: u32,
  mostAccuracy: u32,
  known: usize,
  knownSymbols: u32,
  knownAccuracy: u32,
): usize {
  const single = load<u32>(table + COUNTS + (anyCode << 2)) == count
  let end = to
  let bits: u32 = 8
  let accuracy: u32 = 0
  if (!single) {
    accuracy = share(table, symbols, count, mostAccuracy)
    end = writeShares(to, accuracy)
    bits = (<u32>(end - to) << 3) + codedBits(table, symbols, accuracy)
    mode = COUNTED
  } else mode = SINGLE
  const counted = mode
  useKnown(known, knownSymbols)
  if (codedBits(table, symbols, knownAccuracy) <= bits) {
    mode = PREDEFINED
    buildTable(table, symbols, knownAccuracy)
    return to
  }
  if (counted == SINGLE) {
    store<u8>(to, <u8>anyCode)
    buildSingle(table, anyCode)
    return to + 1
  }
  share(table, symbols, count, mostAccuracy)
  buildTable(table, symbols, accuracy)
  return end
}

/** Copies the shares of a predefined table to SHARES. */
function useKnown(from: usize, symbols: u32): void {
  memory.fill(SHARES, 0, 128)
  for (let i: usize = 0; i < <usize>symbols; i++) store<i16>(SHARES + (i << 1), load<i8>(from + i))
}

/**
 * Writes the stream of the states and of the bits that follow codes; the bits read last come first. Returns
 * its end, or 0 if it would be behind `most`.
 */
function writeStates(to: usize, most: usize, from: usize, end: usize): usize {
  let at = end - SEQUENCE_BYTES
  let codes = load<u32>(at, 12)
  let offset = firstState(OFFSETS, codes & 0xff)
  let literals = firstState(LITERAL_LENGTHS, (codes >> 8) & 0xff)
  let match = firstState(MATCH_LENGTHS, (codes >> 16) & 0xff)
  let word: u64 = 0
  let used: u32 = 0
  for (;;) {
    // At most 7 bits are left, those of states are at most 26, others 16 and below 32: no word overflows.
    const literalBits: u32 = load<u8>(LITERAL_BITS + <usize>((codes >> 8) & 0xff))
    word |= lowest(load<u32>(at, 4), literalBits) << used
    used += literalBits
    store<u64>(to, word)
    to += <usize>(used >> 3)
    word >>= used & 56
    used &= 7
    const matchBits: u32 = load<u8>(MATCH_BITS + <usize>((codes >> 16) & 0xff))
    word |= lowest(load<u32>(at, 8), matchBits) << used
    used += matchBits
    const offsetBits = codes & 0xff
    word |= lowest(load<u32>(at), offsetBits) << used
    used += offsetBits
    store<u64>(to, word)
    to += <usize>(used >> 3)
    word >>= used & 56
    used &= 7
    if (to > most) return 0
    if (at == from) break
    at -= SEQUENCE_BYTES
    codes = load<u32>(at, 12)
    const offsetChange = changeTo(OFFSETS, codes & 0xff)
    const fromOffset = bitsOf(offsetChange, offset)
    word |= lowest(offset, fromOffset) << used
    used += fromOffset
    offset = nextState(OFFSETS, offsetChange, offset, fromOffset)
    const matchChange = changeTo(MATCH_LENGTHS, (codes >> 16) & 0xff)
    const fromMatch = bitsOf(matchChange, match)
    word |= lowest(match, fromMatch) << used
    used += fromMatch
    match = nextState(MATCH_LENGTHS, matchChange, match, fromMatch)
    const literalChange = changeTo(LITERAL_LENGTHS, (codes >> 8) & 0xff)
    const fromLiterals = bitsOf(literalChange, literals)
    word |= lowest(literals, fromLiterals) << used
    used += fromLiterals
    literals = nextState(LITERAL_LENGTHS, literalChange, literals, fromLiterals)
  }
  startBits(to)
  putBits(<u32>word, used)
  putState(MATCH_LENGTHS, match)
  putState(OFFSETS, offset)
  putState(LITERAL_LENGTHS, literals)
  putBits(1, 1)
  return endBits()
}

// @ts-ignore: decorator
@inline
function lowest(value: u32, bits: u32): u64 {
  return <u64>(value & ((1 << bits) - 1))
}

function putState(table: usize, state: u32): void {
  const accuracy = load<u32>(table + ACCURACY)
  putBits(state & ((1 << accuracy) - 1), accuracy)
}
