import { BAD_TABLE, BASES, COUNTS, INPUT_TRUNCATED, NEXT_STATES } from './layout'

/** Accuracy of the counts that were read last: the table has 2^accuracy states. */
export let accuracy: u32 = 0

/**
 * Reads the number of states of each of up to `symbols` (64 at most) symbols, -1 for less than one, to
 * COUNTS. Returns the end of the counts, or an error.
 *
 * A count is as short as the remaining states of the table allow. After a count of 0, numbers of further
 * zeros follow, 2 bits each.
 */
export function readCounts(src: usize, end: usize, symbols: u32, mostAccuracy: u32): usize {
  if (src >= end) return INPUT_TRUNCATED
  const bitsEnd = <u32>min<usize>(end - src, 0x1000) << 3
  accuracy = (<u32>load<u8>(src) & 15) + 5
  if (accuracy > mostAccuracy) return BAD_TABLE
  memory.fill(COUNTS, 0, 128)
  let bit: u32 = 4
  let left: u32 = (1 << accuracy) + 1
  let symbol: u32 = 0
  while (left > 1) {
    if (symbol >= symbols) return BAD_TABLE
    const bits: u32 = load<u32>(src + (bit >> 3)) >> (bit & 7)
    const width: u32 = 31 - clz(left)
    const half: u32 = 1 << width
    const short: u32 = 2 * half - 1 - left
    let value = bits & (half - 1)
    bit += width
    if (value >= short) {
      value = bits & (2 * half - 1)
      if (value >= half) value -= short
      bit++
    }
    const count = <i32>value - 1
    left -= count < 0 ? 1 : count
    store<i16>(COUNTS + (<usize>symbol << 1), <i16>count)
    symbol++
    if (count == 0) {
      let more: u32
      do {
        if (bit > bitsEnd) return INPUT_TRUNCATED
        more = (load<u16>(src + (bit >> 3)) >> (bit & 7)) & 3
        bit += 2
        symbol += more
      } while (more == 3)
    }
    if (bit > bitsEnd) return INPUT_TRUNCATED
  }
  return src + ((bit + 7) >> 3)
}

/** Sets the counts that the format predefines: i8 for each symbol. */
export function knownCounts(from: usize, symbols: u32, log: u32): void {
  memory.fill(COUNTS, 0, 128)
  for (let i: usize = 0; i < <usize>symbols; i++) store<i16>(COUNTS + (i << 1), load<i8>(from + i))
  accuracy = log
}

/**
 * Builds the table of COUNTS, which add up to its size. Symbol i covers `2^added[i]` bases, which begin where
 * those of i - 1 end, the first at `base`.
 */
export function buildTable(table: usize, symbols: u32, added: usize, base: u32): void {
  const size: u32 = 1 << accuracy
  const mask = size - 1
  let high = <i32>mask
  for (let symbol: usize = 0; symbol < <usize>symbols; symbol++) {
    const count = <i32>load<i16>(COUNTS + (symbol << 1))
    store<u32>(BASES + (symbol << 2), base)
    base += 1 << <u32>load<u8>(added + symbol)
    store<u16>(NEXT_STATES + (symbol << 1), count < 0 ? 1 : count)
    if (count < 0) {
      store<u8>(table + (<usize>high << 4), symbol)
      high--
    }
  }
  const step = (size >> 1) + (size >> 3) + 3
  let at: u32 = 0
  for (let symbol: usize = 0; symbol < <usize>symbols; symbol++) {
    for (let count = <i32>load<i16>(COUNTS + (symbol << 1)); count > 0; count--) {
      store<u8>(table + (<usize>at << 4), symbol)
      do at = (at + step) & mask
      while (<i32>at > high)
    }
  }
  for (let i: u32 = 0; i < size; i++) {
    const state = table + (<usize>i << 4)
    const symbol: usize = load<u8>(state)
    const next = NEXT_STATES + (symbol << 1)
    const number: u32 = load<u16>(next)
    store<u16>(next, number + 1)
    const bits = accuracy - (31 - clz(number))
    const first = (number << bits) - size
    const more: u32 = load<u8>(added + symbol)
    store<u32>(state, (first << 4) | (more << 16) | (bits << 24))
    store<u32>(state, load<u32>(BASES + (symbol << 2)), 4)
    store<u32>(state, ((1 << bits) - 1) << 4, 8)
    store<u32>(state, (1 << more) - 1, 12)
  }
}

/** Builds a table of one state, for one symbol. */
export function buildSingle(table: usize, symbol: u32, added: usize, base: u32): void {
  for (let i: usize = 0; i < <usize>symbol; i++) base += 1 << <u32>load<u8>(added + i)
  const more: u32 = load<u8>(added + symbol)
  store<u32>(table, more << 16)
  store<u32>(table, base, 4)
  store<u32>(table, 0, 8)
  store<u32>(table, (1 << more) - 1, 12)
  accuracy = 0
}
