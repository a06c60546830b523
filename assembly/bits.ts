/**
 * Bits of a stream, the most significant bit of each byte first.
 *
 * Contract: positions count bits from `src`. A load reads 8 bytes from the byte of its position on, so
 * readers compare positions with the end before each load; the arena keeps 64 readable bytes behind every
 * region.
 */

/** Number of bits that one load yields at any position. */
export const LOADED_BITS: u64 = 56

/** Returns the bits from a position on, at the top of a word. At least `LOADED_BITS` are of the stream. */
// @ts-ignore: decorator
@inline
export function bitsAt(src: usize, position: u64): u64 {
  return bswap<u64>(load<u64>(src + <usize>(position >> 3))) << (position & 7)
}

/** Returns a number of 1 to 64 bits. */
// @ts-ignore: decorator
@inline
export function numberAt(src: usize, position: u64, bits: u64): u64 {
  if (bits <= LOADED_BITS) return bitsAt(src, position) >> (64 - bits)
  const rest = bits - 32
  return ((bitsAt(src, position) >> 32) << rest) | (bitsAt(src, position + 32) >> (64 - rest))
}
