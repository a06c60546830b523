import { accuracy, buildTable, readCounts } from './fse'
import { BAD_HUFFMAN, BAD_TABLE, FILLS, HUFFMAN, INPUT_TRUNCATED, LAST_ERROR, WEIGHT_STATES, WEIGHTS } from './layout'

/** Length of the longest code in bits. */
const MOST_BITS: u32 = 11
const MOST_WEIGHTS: usize = 255
const NOTHING_ADDED: usize = memory.data<u8>([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])

/**
 * Reads the weights of a Huffman code and builds its table, indexed by 11 bits whatever the longest code.
 * Returns the start of the streams, or an error.
 *
 *     weights:  u8 127 + how many | 4 bits each, the first of a byte in its upper half
 *               u8 bytes | FSE counts | two states that take turns
 *
 * A symbol of weight w > 0 has 2^(w - 1) shares of the code. The weight of the last symbol is not stored; it
 * makes the sum of all shares a power of 2.
 */
export function readWeights(src: usize, end: usize): usize {
  if (src >= end) return INPUT_TRUNCATED
  const head: usize = load<u8>(src++)
  const symbols = head < 128 ? head : head - 127
  const taken = head < 128 ? head : (symbols + 1) >> 1
  if (taken > end - src) return INPUT_TRUNCATED
  let found = symbols
  if (head < 128) {
    found = readFseWeights(src, src + taken)
    if (found == 0) return BAD_TABLE
  } else {
    for (let i: usize = 0; i < symbols; i++) {
      const pair: u32 = load<u8>(src + (i >> 1))
      store<u8>(WEIGHTS + i, (i & 1) == 0 ? pair >> 4 : pair & 15)
    }
  }
  return buildHuffman(found) ? src + taken : BAD_HUFFMAN
}

/** Reads weights that are coded by FSE; returns their number, or 0. */
function readFseWeights(src: usize, end: usize): usize {
  const start = readCounts(src, end, MOST_BITS + 1, 6)
  if (start <= LAST_ERROR || start >= end) return 0
  buildTable(WEIGHT_STATES, MOST_BITS + 1, NOTHING_ADDED, 0)
  const marker: u32 = load<u8>(end - 1)
  if (marker == 0) return 0
  let left = (<i32>(end - start) << 3) - <i32>(clz(marker) - 23)
  left -= accuracy
  let turn = WEIGHT_STATES + (<usize>bitsAt(start, left, accuracy) << 4)
  left -= accuracy
  let other = WEIGHT_STATES + (<usize>bitsAt(start, left, accuracy) << 4)
  if (left < 0) return 0
  let found: usize = 0
  for (;;) {
    if (found > MOST_WEIGHTS - 2) return 0
    store<u8>(WEIGHTS + found++, load<u32>(turn, 4))
    const bits: u32 = load<u8>(turn, 3)
    left -= bits
    if (left < 0) break
    const next = WEIGHT_STATES + <usize>load<u16>(turn) + (<usize>bitsAt(start, left, bits) << 4)
    turn = other
    other = next
  }
  store<u8>(WEIGHTS + found++, load<u32>(other, 4))
  return found
}

/** Returns up to 6 bits from bit `at` on; slightly before `start`, they are undefined. */
function bitsAt(start: usize, at: i32, bits: u32): u32 {
  return (<u32>load<u16>(start + (at >> 3)) >> (at & 7)) & ((1 << bits) - 1)
}

function buildHuffman(told: usize): bool {
  let sum: u32 = 0
  for (let i: usize = 0; i < told; i++) sum += (1 << <u32>load<u8>(WEIGHTS + i)) >> 1
  if (sum == 0) return false
  const longest: u32 = 32 - clz(sum)
  const rest: u32 = (1 << longest) - sum
  if (longest > MOST_BITS || (rest & (rest - 1)) != 0) return false
  store<u8>(WEIGHTS + told, 32 - clz(rest))

  // Start of the codes of each weight: the shortest codes, of the largest weights, come last.
  memory.fill(FILLS, 0, 64)
  for (let i: usize = 0; i <= told; i++) {
    const weight: u32 = load<u8>(WEIGHTS + i)
    const fill = FILLS + (<usize>weight << 2)
    store<u32>(fill, load<u32>(fill) + ((1 << weight) >> 1))
  }
  let start: u32 = 0
  for (let fill = FILLS; fill < FILLS + 64; fill += 4) {
    const shares = load<u32>(fill)
    store<u32>(fill, start)
    start += shares << (MOST_BITS - longest)
  }
  for (let i: usize = 0; i <= told; i++) {
    const weight: u32 = load<u8>(WEIGHTS + i)
    if (weight == 0) continue
    const fill = FILLS + (<usize>weight << 2)
    const from: u32 = load<u32>(fill)
    const to = from + (1 << (weight - 1 + MOST_BITS - longest))
    store<u32>(fill, to)
    fillEntries(HUFFMAN + (<usize>from << 1), HUFFMAN + (<usize>to << 1), <u16>((longest + 1 - weight) | (<u32>i << 8)))
  }
  return true
}

function fillEntries(at: usize, end: usize, entry: u16): void {
  const entries = i16x8.splat(<i16>entry)
  for (; end - at >= 16; at += 16) v128.store(at, entries)
  for (; at < end; at += 2) store<u16>(at, entry)
}
