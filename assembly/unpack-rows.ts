/**
 * Unpacking of the samples of a picture.
 *
 * Contract: rows begin at whole bytes. `unpackRows` reads samples of `bits` bits (1 to 32), the most
 * significant bit first, and writes unsigned integers of `bytes` bytes (1, 2 or 4). `widenTriples` reads
 * `count` floats of three bytes (1 bit of sign, 7 of exponent, 16 of fraction) and writes float32.
 * `reverseBits` reverses the bits of each byte in place, and may change 7 bytes behind them.
 */
import { bitsAt } from './bits'

export function unpackRows(src: usize, dst: usize, rows: usize, rowSamples: usize, bits: u64, bytes: usize): void {
  const rowBytes = (rowSamples * <usize>bits + 7) >> 3
  for (; rows > 0; rows--, src += rowBytes, dst += rowSamples * bytes) {
    if (bytes == 1) unpack<u8>(src, dst, rowSamples, bits)
    else if (bytes == 2) unpack<u16>(src, dst, rowSamples, bits)
    else unpack<u32>(src, dst, rowSamples, bits)
  }
}

function unpack<T>(src: usize, dst: usize, count: usize, bits: u64): void {
  const end = dst + count * sizeof<T>()
  for (let position: u64 = 0; dst < end; dst += sizeof<T>(), position += bits)
    store<T>(dst, <T>(bitsAt(src, position) >> (64 - bits)))
}

export function widenTriples(src: usize, dst: usize, count: usize, isBigEndian: i32): void {
  const end = src + 3 * count
  for (; src < end; src += 3, dst += 4) {
    const low = src + (isBigEndian ? 2 : 0)
    const high = src + (isBigEndian ? 0 : 2)
    const value = <u32>load<u8>(low) | (<u32>load<u8>(src, 1) << 8) | (<u32>load<u8>(high) << 16)
    store<u32>(dst, floatOf(value))
  }
}

/** Returns the bits of the float32 of the same value. */
function floatOf(triple: u32): u32 {
  const sign = (triple >> 23) << 31
  const exponent = (triple >> 16) & 127
  const fraction = triple & 0xffff
  if (exponent == 127) return sign | 0x7f800000 | (fraction << 7)
  if (exponent != 0) return sign | ((exponent + 64) << 23) | (fraction << 7)
  // Its smallest numbers have no leading one: fraction * 2^-78.
  return sign | reinterpret<u32>(<f32>fraction * reinterpret<f32>((127 - 78) << 23))
}

export function reverseBits(at: usize, bytes: usize): void {
  const end = at + bytes
  for (; at < end; at += 8) {
    let word = load<u64>(at)
    word = ((word >> 1) & 0x5555555555555555) | ((word & 0x5555555555555555) << 1)
    word = ((word >> 2) & 0x3333333333333333) | ((word & 0x3333333333333333) << 2)
    word = ((word >> 4) & 0x0f0f0f0f0f0f0f0f) | ((word & 0x0f0f0f0f0f0f0f0f) << 4)
    store<u64>(at, word)
  }
}
