// RFC 1950 and 1951. A zlib stream is 2 bytes of header, blocks, and the Adler-32 checksum. It does not say
// its length, so only its codes tell where it ends.

const HEADER_BYTES = 2
const SUM_BYTES = 4
const MOST_CODE_BITS = 15
const END_OF_BLOCK = 256
/** Order in which lengths of the codes of lengths are stored. */
const LENGTH_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

/** A canonical Huffman code: the number of codes of each length, and symbols in the order of codes. */
interface HuffmanCode {
  readonly counts: Uint16Array
  readonly symbols: Uint16Array
}

/**
 * Returns the length of the zlib stream that the bytes begin with; undefined if it is malformed or
 * incomplete. Nothing is decoded or compared. For platforms whose decoders refuse bytes behind a stream.
 */
export function findZlibEnd(bytes: Uint8Array): number | undefined {
  const bits = new BitReader(bytes, HEADER_BYTES)
  for (let isLast = false; !isLast; ) {
    isLast = bits.take(1) === 1
    const type = bits.take(2)
    if (type === 0) bits.skipStored()
    else if (type === 3 || !skipCoded(bits, type === 1 ? fixedCodes() : readCodes(bits))) return undefined
    if (bits.isOver) return undefined
  }
  const end = bits.byteEnd + SUM_BYTES
  return end <= bytes.length ? end : undefined
}

/** Reads bits, the least significant of each byte first. Behind the end it reads zeros. */
class BitReader {
  readonly #bytes: Uint8Array
  /** Position in bits. */
  #at: number

  constructor(bytes: Uint8Array, start: number) {
    this.#bytes = bytes
    this.#at = 8 * start
  }

  get isOver(): boolean {
    return this.#at > 8 * this.#bytes.length
  }

  /** Position of the next whole byte. */
  get byteEnd(): number {
    return Math.ceil(this.#at / 8)
  }

  take(count: number): number {
    let value = 0
    for (let i = 0; i < count; i++, this.#at++)
      value |= (((this.#bytes[Math.floor(this.#at / 8)] ?? 0) >> (this.#at % 8)) & 1) << i
    return value
  }

  /** Skips a stored block: its length and the complement of this, then its bytes. */
  skipStored(): void {
    this.#at = 8 * this.byteEnd
    const length = this.take(16)
    this.#at += 16 + 8 * length
  }

  /** Reads a symbol; returns -1 if no code matches. */
  symbol({ counts, symbols }: HuffmanCode): number {
    let code = 0
    let first = 0
    let index = 0
    for (let length = 1; length <= MOST_CODE_BITS; length++) {
      code |= this.take(1)
      const count = counts[length]!
      if (code - count < first) return symbols[index + code - first]!
      index += count
      first = (first + count) << 1
      code <<= 1
    }
    return -1
  }
}

/** Skips the codes of a block; returns whether they are valid. */
function skipCoded(bits: BitReader, codes: readonly [HuffmanCode, HuffmanCode] | undefined): boolean {
  if (codes === undefined) return false
  const [literals, distances] = codes
  while (!bits.isOver) {
    const symbol = bits.symbol(literals)
    if (symbol === END_OF_BLOCK) return true
    if (symbol < 0 || symbol > 285) return false
    if (symbol < END_OF_BLOCK) continue
    // Lengths and distances have more extra bits every four and every two symbols.
    bits.take(symbol < 265 || symbol === 285 ? 0 : (symbol - 261) >> 2)
    const distance = bits.symbol(distances)
    if (distance < 0 || distance > 29) return false
    bits.take(distance < 2 ? 0 : (distance - 2) >> 1)
  }
  return false
}

function toCode(lengths: ArrayLike<number>): HuffmanCode {
  const counts = new Uint16Array(MOST_CODE_BITS + 1)
  for (let i = 0; i < lengths.length; i++) counts[lengths[i]!]!++
  counts[0] = 0
  const next = new Uint16Array(MOST_CODE_BITS + 2)
  for (let length = 1; length <= MOST_CODE_BITS; length++) next[length + 1] = next[length]! + counts[length]!
  const symbols = new Uint16Array(lengths.length)
  for (let i = 0; i < lengths.length; i++) if (lengths[i] !== 0) symbols[next[lengths[i]!]!++] = i
  return { counts, symbols }
}

const fixedCodes = (): [HuffmanCode, HuffmanCode] => [
  toCode(Array.from({ length: 288 }, (_, i) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8))),
  toCode(new Array<number>(30).fill(5)),
]

/** Reads the codes of a block; returns undefined if they are invalid. */
function readCodes(bits: BitReader): [HuffmanCode, HuffmanCode] | undefined {
  const [literals, distances, stored] = [bits.take(5) + 257, bits.take(5) + 1, bits.take(4) + 4]
  const first = new Uint8Array(LENGTH_ORDER.length)
  for (const symbol of LENGTH_ORDER.slice(0, stored)) first[symbol] = bits.take(3)
  const code = toCode(first)
  const lengths = new Uint8Array(literals + distances)
  for (let i = 0; i < lengths.length; ) {
    const symbol = bits.symbol(code)
    if (symbol < 0 || bits.isOver) return undefined
    if (symbol < 16) lengths[i++] = symbol
    else {
      if (symbol === 16 && i === 0) return undefined
      const value = symbol === 16 ? lengths[i - 1]! : 0
      const times = symbol === 16 ? 3 + bits.take(2) : symbol === 17 ? 3 + bits.take(3) : 11 + bits.take(7)
      if (i + times > lengths.length) return undefined
      lengths.fill(value, i, i + times)
      i += times
    }
  }
  return [toCode(lengths.subarray(0, literals)), toCode(lengths.subarray(literals))]
}
