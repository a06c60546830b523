import { endBits, log2, putBits, startBits } from './bits'
import { ACCURACY, CHANGES, COUNTS, SHARES, SPREAD, STARTS } from './layout'

const LEAST_ACCURACY: u32 = 5

/**
 * Distributes the states of a table among `symbols` symbols in proportion to their counts in `table`, which
 * add up to `total`, and writes the result to SHARES. Returns the accuracy: the table has 2^accuracy states.
 * At least two symbols occur.
 */
export function share(table: usize, symbols: u32, total: u32, mostAccuracy: u32): u32 {
  const counts = table + COUNTS
  let distinct: u32 = 0
  for (let i: usize = 0; i < <usize>symbols; i++) distinct += <u32>(load<u32>(counts + (i << 2)) != 0)
  // About one state for four coded symbols, and at least one for each distinct symbol.
  const wanted: i32 = 29 - clz(total)
  const accuracy = min(max(max(wanted, <i32>LEAST_ACCURACY), 33 - clz(distinct)), <i32>mostAccuracy)
  const size: u32 = 1 << accuracy
  let left = <i32>size
  for (let i: usize = 0; i < <usize>symbols; i++) {
    const count = load<u32>(counts + (i << 2))
    const states = count == 0 ? 0 : max((count * size + (total >> 1)) / total, 1)
    store<i16>(SHARES + (i << 1), <i16>states)
    left -= <i32>states
  }
  while (left != 0) {
    // The largest share absorbs the rounding error.
    let largest = SHARES
    for (let at = SHARES; at < SHARES + (<usize>symbols << 1); at += 2) if (load<i16>(at) > load<i16>(largest)) largest = at
    const change = left > 0 ? left : -1
    store<i16>(largest, <i16>(<i32>load<i16>(largest) + change))
    left -= change
  }
  return accuracy
}

/**
 * Returns the number of bits for coding the counts of `table` by SHARES; u32.MAX_VALUE if a counted symbol
 * has no state.
 */
export function codedBits(table: usize, symbols: u32, accuracy: u32): u32 {
  let bits: u32 = 0
  for (let i: usize = 0; i < <usize>symbols; i++) {
    const count = load<u32>(table + COUNTS + (i << 2))
    if (count == 0) continue
    const states = <i32>load<i16>(SHARES + (i << 1))
    if (states == 0) return u32.MAX_VALUE
    bits += count * ((accuracy << 8) - log2(max(states, 1)))
  }
  return bits >> 8
}

/** Writes SHARES in the form that readers expect; returns the end. See `readCounts` of the decoder. */
export function writeShares(to: usize, accuracy: u32): usize {
  startBits(to)
  putBits(accuracy - LEAST_ACCURACY, 4)
  let left: u32 = (1 << accuracy) + 1
  for (let at = SHARES; left > 1; ) {
    const states = <i32>load<i16>(at)
    at += 2
    const width: u32 = 31 - clz(left)
    const half: u32 = 1 << width
    const short: u32 = 2 * half - 1 - left
    left -= <u32>abs(states)
    let value = <u32>(states + 1)
    if (value >= half) value += short
    putBits(value, value < short ? width : width + 1)
    if (states != 0) continue
    let zeros: u32 = 0
    for (; load<i16>(at) == 0; at += 2) zeros++
    for (; zeros >= 3; zeros -= 3) putBits(3, 2)
    putBits(zeros, 2)
  }
  return endBits()
}

/**
 * Builds the table that encodes by SHARES. The transition from a state to that of a symbol writes the lowest
 * bits of the state, `(state + bits) >> 16` of them. The remaining bits, plus `state`, are the position of
 * the next state. States count from the size of the table on.
 */
export function buildTable(table: usize, symbols: u32, accuracy: u32): void {
  const size: u32 = 1 << accuracy
  const mask = size - 1
  let high = <i32>mask
  let start: u32 = 0
  for (let i: usize = 0; i < <usize>symbols; i++) {
    store<u16>(STARTS + (i << 1), <u16>start)
    const states = <i32>load<i16>(SHARES + (i << 1))
    if (states == 0) continue
    const many = max(states, 1)
    if (states < 0) {
      store<u8>(SPREAD + <usize>high, <u8>i)
      high--
    }
    const change = table + CHANGES + (i << 3)
    const bits = many == 1 ? accuracy : accuracy - (31 - clz(many - 1))
    store<i32>(change, <i32>(bits << 16) - (many << bits))
    store<i32>(change, <i32>start - many, 4)
    start += many
  }
  const step = (size >> 1) + (size >> 3) + 3
  let at: u32 = 0
  for (let i: usize = 0; i < <usize>symbols; i++)
    for (let states = <i32>load<i16>(SHARES + (i << 1)); states > 0; states--) {
      store<u8>(SPREAD + <usize>at, <u8>i)
      do at = (at + step) & mask
      while (<i32>at > high)
    }
  for (let i: u32 = 0; i < size; i++) {
    const place = STARTS + (<usize>load<u8>(SPREAD + <usize>i) << 1)
    const next: u32 = load<u16>(place)
    store<u16>(place, <u16>(next + 1))
    store<u16>(table + (<usize>next << 1), <u16>(size + i))
  }
  store<u32>(table + ACCURACY, accuracy)
}

/** Builds a table of one state, for one symbol: no bits are written. */
export function buildSingle(table: usize, symbol: usize): void {
  store<u16>(table, 0)
  store<u64>(table + CHANGES + (symbol << 3), 0)
  store<u32>(table + ACCURACY, 0)
}

/** Returns a state of the first symbol written, which is the last one read. */
export function firstState(table: usize, symbol: u32): u32 {
  const change = changeTo(table, symbol)
  const added = load<i32>(change)
  const bits = (added + 0x8000) >> 16
  return nextState(table, change, (bits << 16) - added, bits)
}

/** Returns the entry for the transition from any state to one of a symbol. */
// @ts-ignore: decorator
@inline
export function changeTo(table: usize, symbol: u32): usize {
  return table + CHANGES + (<usize>symbol << 3)
}

/** Returns the number of bits of a state that its transition writes. */
// @ts-ignore: decorator
@inline
export function bitsOf(change: usize, state: u32): u32 {
  return (state + load<u32>(change)) >> 16
}

// @ts-ignore: decorator
@inline
export function nextState(table: usize, change: usize, state: u32, bits: u32): u32 {
  return load<u16>(table + <usize>(((state >> bits) + load<u32>(change, 4)) << 1))
}
