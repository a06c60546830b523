/**
 * Sums of squares about shifts: the difference of element k of a run and shift k is squared and added to cell
 * k.
 *
 * Contract: `n` is even; elements, cells and shifts are dense, the last two f64. Elements are squared as f64:
 * (x - shift)^2, rounded twice; 64-bit integers are rounded to the nearest f64 before. Skipped elements leave
 * their cells unchanged. FILL and MASK of lanes.ts are those of f64, except for 64-bit integers, which are
 * compared before they are rounded. Up to 15 bytes behind the elements are read.
 *
 * Why it is fast: as in accumulate.ts, lanes are never combined. Two elements become f64 without a branch:
 * smaller integers are put into the low bits of a number whose last bits are units; that number is then
 * subtracted. This also works for unsigned integers.
 */
import { fillValue, skipMask, skipped } from './lanes'

/**
 * 2^52 + 2^51: adding an integer of up to 50 bits, signed or not, to its bits increases it by the integer.
 */
const UNITS: f64 = 6755399441055744

export function addSquares<T>(at: usize, n: u32, cells: usize, shifts: usize, unsigned: bool): void {
  const fill = fillValue()
  const mask = skipMask()
  const bits = i64x2.splat(unsigned ? (<i64>1 << (8 * sizeof<T>())) - 1 : -1)
  const units = f64x2.splat(UNITS)
  for (; n > 0; n -= 2, at += 2 * sizeof<T>(), cells += 16, shifts += 16) {
    let x = sizeof<T>() == 8 ? v128.load(at) : sizeof<T>() == 4 ? v128.load64_zero(at) : v128.load32_zero(at)
    let skip = skipped<i64>(x, fill, mask)
    if (isFloat<T>()) {
      if (sizeof<T>() == 4) x = f64x2.promote_low_f32x4(x)
    } else if (sizeof<T>() == 8) {
      x = f64x2.splat(unsigned ? <f64>load<u64>(at) : <f64>load<i64>(at))
      x = f64x2.replace_lane(x, 1, unsigned ? <f64>load<u64>(at, 8) : <f64>load<i64>(at, 8))
    } else {
      if (sizeof<T>() == 1) x = i16x8.extend_low_i8x16_s(x)
      if (sizeof<T>() < 4) x = i32x4.extend_low_i16x8_s(x)
      x = f64x2.sub(i64x2.add(v128.and(i64x2.extend_low_i32x4_s(x), bits), units), units)
    }
    if (isFloat<T>() || sizeof<T>() < 8) skip = skipped<f64>(x, fill, mask)
    const off = f64x2.sub(x, v128.load(shifts))
    v128.store(cells, f64x2.add(v128.load(cells), v128.andnot(f64x2.mul(off, off), skip)))
  }
}
