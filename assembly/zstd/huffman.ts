import { HUFFMAN } from './layout'

/**
 * Huffman streams, read backwards from a last byte whose highest bit marks the start. Each function returns
 * whether its streams are valid.
 *
 * Why it is fast: a stream is one word, with its next bits uppermost. The word is loaded with its lowest bit
 * set, which no code reaches. That bit shows how much of the word is used, so nothing is counted: a symbol
 * costs a shift, a load, a shift and a store. A word contains at least five codes; four streams are decoded
 * in turn, none waiting for another. The number of turns that all of them can take is known beforehand: each
 * takes at most 7 bytes of each stream.
 */
const BYTES_A_TURN: usize = 7
const SYMBOLS_A_TURN: usize = 5

export function decodeHuffman4(src: usize, end: usize, out: usize, bytes: usize): bool {
  if (end - src < 6) return false
  const from0 = src + 6
  const from1 = from0 + <usize>load<u16>(src)
  const from2 = from1 + <usize>load<u16>(src, 2)
  const from3 = from2 + <usize>load<u16>(src, 4)
  const part = (bytes + 3) >> 2
  if (from3 >= end || bytes < 3 * part || from0 == from1 || from1 == from2 || from2 == from3) return false
  let at0 = from1 - 8
  let at1 = from2 - 8
  let at2 = from3 - 8
  let at3 = end - 8
  if (load<u8>(at0, 7) == 0 || load<u8>(at1, 7) == 0 || load<u8>(at2, 7) == 0 || load<u8>(at3, 7) == 0) return false
  let bits0 = firstBits(at0)
  let bits1 = firstBits(at1)
  let bits2 = firstBits(at2)
  let bits3 = firstBits(at3)
  let out1 = out + part
  let out2 = out1 + part
  let out3 = out2 + part
  const end1 = out1
  const end2 = out2
  const end3 = out3
  const outEnd = out + bytes
  for (;;) {
    const spare = min(min(spareOf(at0, from0), spareOf(at1, from1)), min(spareOf(at2, from2), spareOf(at3, from3)))
    let turns = min(spare / BYTES_A_TURN, (outEnd - out3) / SYMBOLS_A_TURN)
    if (turns == 0) break
    do {
      bits0 = symbol(bits0, out, 0)
      bits1 = symbol(bits1, out1, 0)
      bits2 = symbol(bits2, out2, 0)
      bits3 = symbol(bits3, out3, 0)
      bits0 = symbol(bits0, out, 1)
      bits1 = symbol(bits1, out1, 1)
      bits2 = symbol(bits2, out2, 1)
      bits3 = symbol(bits3, out3, 1)
      bits0 = symbol(bits0, out, 2)
      bits1 = symbol(bits1, out1, 2)
      bits2 = symbol(bits2, out2, 2)
      bits3 = symbol(bits3, out3, 2)
      bits0 = symbol(bits0, out, 3)
      bits1 = symbol(bits1, out1, 3)
      bits2 = symbol(bits2, out2, 3)
      bits3 = symbol(bits3, out3, 3)
      bits0 = symbol(bits0, out, 4)
      bits1 = symbol(bits1, out1, 4)
      bits2 = symbol(bits2, out2, 4)
      bits3 = symbol(bits3, out3, 4)
      const used0 = ctz(bits0)
      at0 -= <usize>(used0 >> 3)
      bits0 = reload(at0, used0)
      const used1 = ctz(bits1)
      at1 -= <usize>(used1 >> 3)
      bits1 = reload(at1, used1)
      const used2 = ctz(bits2)
      at2 -= <usize>(used2 >> 3)
      bits2 = reload(at2, used2)
      const used3 = ctz(bits3)
      at3 -= <usize>(used3 >> 3)
      bits3 = reload(at3, used3)
      out += SYMBOLS_A_TURN
      out1 += SYMBOLS_A_TURN
      out2 += SYMBOLS_A_TURN
      out3 += SYMBOLS_A_TURN
    } while (--turns > 0)
  }
  return (
    finish(at0, bits0, from0, out, end1) &&
    finish(at1, bits1, from1, out1, end2) &&
    finish(at2, bits2, from2, out2, end3) &&
    finish(at3, bits3, from3, out3, outEnd)
  )
}

export function decodeHuffman(src: usize, end: usize, out: usize, outEnd: usize): bool {
  const at = end - 8
  return src < end && load<u8>(at, 7) != 0 && finish(at, firstBits(at), src, out, outEnd)
}

/**
 * Decodes the rest of a stream, whose word is at `at`. Bits of a word from before the stream are either
 * unused, or detected as an error.
 */
function finish(at: usize, bits: u64, from: usize, out: usize, outEnd: usize): bool {
  for (; out < outEnd; out++) {
    bits = symbol(bits, out, 0)
    const used = ctz(bits)
    at -= <usize>(used >> 3)
    bits = reload(at, used)
    if (at + 8 < from) return false
  }
  return <u64>(at + 8 - from) << 3 == ctz(bits)
}

// @ts-ignore: decorator
@inline
function firstBits(at: usize): u64 {
  const bits = load<u64>(at)
  return (bits | 1) << (clz(bits) + 1)
}

// @ts-ignore: decorator
@inline
function reload(at: usize, used: u64): u64 {
  return (load<u64>(at) | 1) << (used & 7)
}

/** Writes the next symbol. The shift uses the lowest 6 bits of its count: the code's length. */
// @ts-ignore: decorator
@inline
function symbol(bits: u64, out: usize, index: usize): u64 {
  const entry: u32 = load<u16>(<usize>(bits >> 53) << 1, HUFFMAN)
  store<u8>(out + index, entry >> 8)
  return bits << <u64>entry
}

/** Returns how far a word can move and still be within the stream. */
// @ts-ignore: decorator
@inline
function spareOf(at: usize, from: usize): usize {
  return at > from ? at - from : 0
}
