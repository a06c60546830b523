import { endBits, putBits, startBits } from './bits'
import { bitsOf, buildTable, changeTo, firstState, nextState, share, writeShares } from './fse'
import { BYTE_COUNTS, CODES, COUNTS, ORDER, STARTS, TREE, WEIGHT_TABLE, WEIGHTS } from './layout'

/** Length of the longest code in bits. */
const MOST_BITS: u32 = 11
const MOST_DIRECT: usize = 128
const MOST_WEIGHTS_ACCURACY: u32 = 6

/** Results of `countBytes`: the number of distinct bytes, and the count of the most frequent one. */
export let distinct: u32 = 0
export let mostFrequent: u32 = 0
/** The largest byte that occurs. */
let lastSymbol: usize = 0
/** Length of the longest code in use. */
let longest: u32 = 0

/**
 * Counts bytes to the first part of BYTE_COUNTS. Neighbours are counted in separate tables, so that equal
 * ones do not wait for each other.
 */
export function countBytes(at: usize, end: usize): void {
  memory.fill(BYTE_COUNTS, 0, 0x1000)
  for (; end - at >= 8; at += 8) {
    const bytes = load<u64>(at)
    countByte(<u32>bytes, 0)
    countByte(<u32>(bytes >> 8), 0x400)
    countByte(<u32>(bytes >> 16), 0x800)
    countByte(<u32>(bytes >> 24), 0xc00)
    countByte(<u32>(bytes >> 32), 0)
    countByte(<u32>(bytes >> 40), 0x400)
    countByte(<u32>(bytes >> 48), 0x800)
    countByte(<u32>(bytes >> 56), 0xc00)
  }
  for (; at < end; at++) countByte(load<u8>(at), 0)
  distinct = 0
  mostFrequent = 0
  for (let symbol: usize = 0; symbol < 256; symbol++) {
    const place = BYTE_COUNTS + (symbol << 2)
    const count = load<u32>(place) + load<u32>(place, 0x400) + load<u32>(place, 0x800) + load<u32>(place, 0xc00)
    store<u32>(place, count)
    if (count == 0) continue
    store<u32>(ORDER + (<usize>distinct << 2), (count << 8) | <u32>symbol)
    distinct++
    lastSymbol = symbol
    mostFrequent = max(mostFrequent, count)
  }
}

// @ts-ignore: decorator
@inline
function countByte(byte: u32, part: usize): void {
  const place = BYTE_COUNTS + part + (<usize>(byte & 0xff) << 2)
  store<u32>(place, load<u32>(place) + 1)
}

/**
 * Builds a Huffman code of the counted bytes, at least two of which are distinct. Returns the number of bits
 * of all of them.
 */
export function makeCodes(): u32 {
  sortOrder()
  makeLengths()
  limitLengths()
  longest = 0
  for (let i: u32 = 0; i < distinct; i++) longest = max(longest, get(i))
  memory.fill(WEIGHTS, 0, 256)
  memory.fill(STARTS, 0, 64)
  let bits: u32 = 0
  for (let i: u32 = 0; i < distinct; i++) {
    const key = load<u32>(ORDER + (<usize>i << 2))
    const weight = longest + 1 - get(i)
    bits += (key >> 8) * get(i)
    store<u8>(WEIGHTS + <usize>(key & 0xff), <u8>weight)
    const start = STARTS + (<usize>weight << 2)
    store<u32>(start, load<u32>(start) + 1)
  }
  // The longest codes, of the smallest weights, come first; codes of one weight are in the order of symbols.
  let shares: u32 = 0
  for (let weight: u32 = 1; weight <= longest; weight++) {
    const start = STARTS + (<usize>weight << 2)
    const codes = load<u32>(start)
    store<u32>(start, shares >> (weight - 1))
    shares += codes << (weight - 1)
  }
  for (let symbol: usize = 0; symbol <= lastSymbol; symbol++) {
    const weight: u32 = load<u8>(WEIGHTS + symbol)
    if (weight == 0) continue
    const start = STARTS + (<usize>weight << 2)
    const code = load<u32>(start)
    store<u32>(start, code + 1)
    store<u32>(CODES + (symbol << 2), (longest + 1 - weight) | (code << 8))
  }
  return bits
}

/** Sorts the symbols that occur by ascending count (Shell sort). */
function sortOrder(): void {
  const end = ORDER + (<usize>distinct << 2)
  for (let gap: usize = 57 << 2; gap != 0; gap = gap == 57 << 2 ? 23 << 2 : gap == 23 << 2 ? 10 << 2 : gap == 10 << 2 ? 4 << 2 : gap == 4 << 2 ? 4 : 0)
    for (let at = ORDER + gap; at < end; at += 4) {
      const key = load<u32>(at)
      let to = at
      for (; to >= ORDER + gap && load<u32>(to - gap) > key; to -= gap) store<u32>(to, load<u32>(to - gap))
      store<u32>(to, key)
    }
}

/**
 * Computes the code lengths of the symbols in ORDER, to TREE. Uses the algorithm of Moffat and Katajainen,
 * which needs no memory except its result.
 */
function makeLengths(): void {
  const n = distinct
  for (let i: u32 = 0; i < n; i++) set(i, load<u32>(ORDER + (<usize>i << 2)) >> 8)
  // Join the two smallest nodes, among the leaves and the joined ones; joined entries become the numbers of
  // their parents.
  set(0, get(0) + get(1))
  let root: u32 = 0
  let leaf: u32 = 2
  for (let next: u32 = 1; next < n - 1; next++) {
    let sum: u32
    if (leaf >= n || get(root) < get(leaf)) {
      sum = get(root)
      set(root++, next)
    } else sum = get(leaf++)
    if (leaf >= n || (root < next && get(root) < get(leaf))) {
      sum += get(root)
      set(root++, next)
    } else sum += get(leaf++)
    set(next, sum)
  }
  // Depths of the joined nodes.
  set(n - 2, 0)
  for (let i = <i32>n - 3; i >= 0; i--) set(i, get(get(i)) + 1)
  // Depths of the leaves.
  let free: u32 = 1
  let inner = <i32>n - 2
  let next = <i32>n - 1
  for (let depth: u32 = 0; free > 0; depth++) {
    let joined: u32 = 0
    for (; inner >= 0 && get(inner) == depth; inner--) joined++
    for (; free > joined; free--) set(next--, depth)
    free = 2 * joined
  }
}

// @ts-ignore: decorator
@inline
function get(i: u32): u32 {
  return load<u32>(TREE + (<usize>i << 2))
}

// @ts-ignore: decorator
@inline
function set(i: u32, value: u32): void {
  store<u32>(TREE + (<usize>i << 2), value)
}

/** Shortens codes to MOST_BITS. Others get longer, so that together they remain a complete code. */
function limitLengths(): void {
  const whole: u32 = 1 << MOST_BITS
  let taken: u32 = 0
  for (let i: u32 = 0; i < distinct; i++) {
    set(i, min(get(i), MOST_BITS))
    taken += 1 << (MOST_BITS - get(i))
  }
  // Codes are sorted, the longest first.
  while (taken > whole)
    for (let i: u32 = 0; i < distinct; i++) {
      const length = get(i)
      if (length == MOST_BITS) continue
      set(i, length + 1)
      taken -= 1 << (MOST_BITS - length - 1)
      break
    }
  // The rest is a multiple of the share of the longest code, so that the last of them can be shortened.
  while (taken < whole)
    for (let i = distinct - 1; ; i--) {
      const more: u32 = 1 << (MOST_BITS - get(i))
      if (more > whole - taken) continue
      set(i, get(i) - 1)
      taken += more
      break
    }
}

/** Writes the weights of the code. Returns the end, or 0 if they cannot be written. */
export function writeWeights(to: usize): usize {
  const coded = writeCodedWeights(to + 1)
  const directBytes = (lastSymbol + 1) >> 1
  if (coded != 0 && (coded - to - 1 < directBytes || lastSymbol > MOST_DIRECT)) {
    if (coded - to - 1 >= 128) return 0
    store<u8>(to, <u8>(coded - to - 1))
    return coded
  }
  if (lastSymbol > MOST_DIRECT) return 0
  store<u8>(to++, <u8>(127 + lastSymbol))
  store<u8>(WEIGHTS + lastSymbol, 0)
  for (let i: usize = 0; i < lastSymbol; i += 2) store<u8>(to++, <u8>((load<u8>(WEIGHTS + i) << 4) | load<u8>(WEIGHTS + i, 1)))
  return to
}

/** Writes all weights except the last by FSE, with two alternating states. Returns the end, or 0. */
function writeCodedWeights(to: usize): usize {
  memory.fill(WEIGHT_TABLE + COUNTS, 0, 64)
  let most: u32 = 0
  for (let i: usize = 0; i < lastSymbol; i++) {
    const count = WEIGHT_TABLE + COUNTS + (<usize>load<u8>(WEIGHTS + i) << 2)
    store<u32>(count, load<u32>(count) + 1)
    most = max(most, load<u32>(count))
  }
  if (lastSymbol < 2 || most == <u32>lastSymbol) return 0
  const accuracy = share(WEIGHT_TABLE, MOST_BITS + 1, <u32>lastSymbol, MOST_WEIGHTS_ACCURACY)
  to = writeShares(to, accuracy)
  buildTable(WEIGHT_TABLE, MOST_BITS + 1, accuracy)
  startBits(to)
  let i = lastSymbol - 1
  let turn = firstState(WEIGHT_TABLE, load<u8>(WEIGHTS + i))
  let other = firstState(WEIGHT_TABLE, load<u8>(WEIGHTS + i - 1))
  for (i--; i > 0; i--) {
    const change = changeTo(WEIGHT_TABLE, load<u8>(WEIGHTS + i - 1))
    const bits = bitsOf(change, turn)
    putBits(turn & ((1 << bits) - 1), bits)
    const next = nextState(WEIGHT_TABLE, change, turn, bits)
    turn = other
    other = next
  }
  // The state of the first weight is read first, so it is written last.
  putBits(turn & ((1 << accuracy) - 1), accuracy)
  putBits(other & ((1 << accuracy) - 1), accuracy)
  putBits(1, 1)
  return endBits()
}

/**
 * Writes the codes of [from, end), the last byte first; returns the end. Up to 8 bytes behind it are written.
 *
 * Why it is fast: four codes have at most 44 bits, so there is one store for four of them.
 */
export function writeStream(to: usize, from: usize, end: usize): usize {
  let word: u64 = 0
  let used: u64 = 0
  for (; (end - from) & 3; ) {
    const entry = <u64>load<u32>(CODES + (<usize>load<u8>(--end) << 2))
    word |= (entry >> 8) << used
    used += entry & 0xff
  }
  for (;;) {
    store<u64>(to, word)
    to += <usize>(used >> 3)
    word >>= used & 56
    used &= 7
    if (end == from) break
    end -= 4
    const bytes = load<u32>(end)
    const entry3 = <u64>load<u32>(CODES + (<usize>(bytes >> 24) << 2))
    word |= (entry3 >> 8) << used
    used += entry3 & 0xff
    const entry2 = <u64>load<u32>(CODES + (<usize>((bytes >> 16) & 0xff) << 2))
    word |= (entry2 >> 8) << used
    used += entry2 & 0xff
    const entry1 = <u64>load<u32>(CODES + (<usize>((bytes >> 8) & 0xff) << 2))
    word |= (entry1 >> 8) << used
    used += entry1 & 0xff
    const entry0 = <u64>load<u32>(CODES + (<usize>(bytes & 0xff) << 2))
    word |= (entry0 >> 8) << used
    used += entry0 & 0xff
  }
  store<u64>(to, word | ((<u64>1) << used))
  return to + 1
}
