/**
 * Widens numbers of 16 bits to float32.
 *
 * Contract: `n` numbers at `src` are written to `dst`, a separate region; payloads of NaN stay. Nothing but
 * the `4 * n` bytes of the destination is written; up to 15 bytes behind the source are read.
 *
 * Why it is fast: four at once, without a branch. A float16 has the bits of a float32 with a smaller
 * exponent: multiplying by a power of two converts it, subnormal numbers included.
 */

/** float16: sign, 5 bits of exponent, 10 of the fraction. */
export function widenHalf(src: usize, dst: usize, n: usize): void {
  const end = dst + ((n & ~3) << 2)
  for (; dst < end; src += 8, dst += 16) v128.store(dst, halves(v128.load(src)))
  if ((n & 3) != 0) storeSome(halves(v128.load(src)), dst, n & 3)
}

/** bfloat16: the upper half of a float32. */
export function widenBrain(src: usize, dst: usize, n: usize): void {
  const end = dst + ((n & ~3) << 2)
  for (; dst < end; src += 8, dst += 16) v128.store(dst, brains(v128.load(src)))
  if ((n & 3) != 0) storeSome(brains(v128.load(src)), dst, n & 3)
}

// @ts-ignore: decorator
@inline
function halves(packed: v128): v128 {
  const bits = i32x4.extend_low_i16x8_u(packed)
  const magnitude = v128.and(bits, i32x4.splat(0x7fff))
  const sign = i32x4.shl(v128.xor(bits, magnitude), 16)
  const scaled = f32x4.mul(i32x4.shl(magnitude, 13), i32x4.splat(0x77800000))
  // Infinity and NaN have all bits of the exponent set.
  const special = v128.and(i32x4.gt_s(magnitude, i32x4.splat(0x7bff)), i32x4.splat(0x7f800000))
  return v128.or(v128.or(scaled, special), sign)
}

// @ts-ignore: decorator
@inline
function brains(packed: v128): v128 {
  return i32x4.shl(i32x4.extend_low_i16x8_u(packed), 16)
}

/** Stores the first one, two or three numbers of a vector. */
function storeSome(x: v128, dst: usize, count: usize): void {
  v128.store32_lane(dst, x, 0)
  if (count > 1) v128.store32_lane(dst, x, 1, 4)
  if (count > 2) v128.store32_lane(dst, x, 2, 8)
}
