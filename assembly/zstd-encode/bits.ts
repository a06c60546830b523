/**
 * Writes bits one after another, the first ones lowest. For short output; long streams keep these three
 * variables in registers.
 */
let to: usize = 0
let word: u64 = 0
let used: u32 = 0

export function startBits(at: usize): void {
  to = at
  word = 0
  used = 0
}

/** @param width up to 32 */
export function putBits(value: u32, width: u32): void {
  word |= (<u64>value) << used
  used += width
  store<u64>(to, word)
  to += <usize>(used >> 3)
  word >>= used & 56
  used &= 7
}

/** Returns the end, after the last byte that contains a bit. */
export function endBits(): usize {
  return to + <usize>(used != 0)
}

/** Approximates the binary logarithm in 1/256, with an error of at most 3 of these. */
export function log2(value: u32): u32 {
  const whole: u32 = 31 - clz(value)
  const part: u32 = ((value << (31 - whole)) << 1) >> 24
  return (whole << 8) + part + ((part * (256 - part) * 88) >> 16)
}
