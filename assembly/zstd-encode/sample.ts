import { log2 } from './bits'
import { BYTE_COUNTS } from './layout'

const SAMPLES_BITS: usize = 12

/** Estimates the bits per byte of [from, end) by itself, in 1/256, from 4096 sampled bytes, or from all. */
export function sampledBits(from: usize, end: usize): u32 {
  memory.fill(BYTE_COUNTS, 0, 0x400)
  // Odd, so that the samples cover all bytes of elements.
  const step = ((end - from) >> SAMPLES_BITS) | 1
  let total: u32 = 0
  for (; from < end; from += step) {
    const count = BYTE_COUNTS + (<usize>load<u8>(from) << 2)
    store<u32>(count, load<u32>(count) + 1)
    total++
  }
  let bits: u32 = 0
  const whole = log2(total)
  for (let at = BYTE_COUNTS; at < BYTE_COUNTS + 0x400; at += 4) {
    const count = load<u32>(at)
    if (count != 0) bits += count * (whole - log2(count))
  }
  return bits / total
}
