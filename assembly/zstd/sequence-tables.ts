import { accuracy, buildSingle, buildTable, knownCounts, readCounts } from './fse'
import { ACCURACIES, BAD_TABLE, INPUT_TRUNCATED, LAST_ERROR, LITERAL_LENGTHS, MATCH_LENGTHS, NONE, OFFSETS } from './layout'

const PREDEFINED: u32 = 0
const SINGLE: u32 = 1
const COUNTED: u32 = 2

/** Number of bits that are added to the base of each symbol. */
const LITERAL_BITS: usize = memory.data<u8>([
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
])
const MATCH_BITS: usize = memory.data<u8>([
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4,
  5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
])
const OFFSET_BITS: usize = memory.data<u8>([
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
])

/** Counts of the predefined tables. */
const LITERAL_COUNTS: usize = memory.data<i8>([
  4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1,
])
const MATCH_COUNTS: usize = memory.data<i8>([
  1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
  1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
])
const OFFSET_COUNTS: usize = memory.data<i8>([
  1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1,
])

export function literalAccuracy(): u32 {
  return load<u32>(ACCURACIES)
}

export function offsetAccuracy(): u32 {
  return load<u32>(ACCURACIES, 4)
}

export function matchAccuracy(): u32 {
  return load<u32>(ACCURACIES, 8)
}

/**
 * Prepares the tables of a block's sequences by the modes at `src`: predefined, a single symbol, counted, or
 * that of the block before. Returns the start of the stream, or an error. Offsets have a base 3 lower,
 * because the first three stand for previous offsets.
 */
export function readTables(src: usize, end: usize): usize {
  if (src >= end) return INPUT_TRUNCATED
  const modes: u32 = load<u8>(src++)
  if ((modes & 3) != 0) return BAD_TABLE
  src = readTable(src, end, modes >> 6, ACCURACIES, LITERAL_LENGTHS, 36, 9, LITERAL_BITS, 0, LITERAL_COUNTS, 36, 6)
  if (src <= LAST_ERROR) return src
  src = readTable(src, end, (modes >> 4) & 3, ACCURACIES + 4, OFFSETS, 32, 8, OFFSET_BITS, -2, OFFSET_COUNTS, 29, 5)
  if (src <= LAST_ERROR) return src
  return readTable(src, end, (modes >> 2) & 3, ACCURACIES + 8, MATCH_LENGTHS, 53, 9, MATCH_BITS, 3, MATCH_COUNTS, 53, 6)
}

function readTable(
  src: usize,
  end: usize,
  mode: u32,
  kept: usize,
  table: usize,
  symbols: u32,
  mostAccuracy: u32,
  added: usize,
  base: u32,
  known: usize,
  knownSymbols: u32,
  knownAccuracy: u32,
): usize {
  if (mode == SINGLE) {
    if (src >= end) return INPUT_TRUNCATED
    const symbol: u32 = load<u8>(src++)
    if (symbol >= symbols) return BAD_TABLE
    buildSingle(table, symbol, added, base)
  } else if (mode == PREDEFINED || mode == COUNTED) {
    if (mode == PREDEFINED) knownCounts(known, knownSymbols, knownAccuracy)
    else {
      src = readCounts(src, end, symbols, mostAccuracy)
      if (src <= LAST_ERROR) return src
    }
    buildTable(table, symbols, added, base)
  } else return load<u32>(kept) == NONE ? BAD_TABLE : src
  store<u32>(kept, accuracy)
  return src
}
