/**
 * Element-wise accumulation: element k of a run is accumulated into cell k of a row of cells.
 *
 * Contract: `n` is a multiple of 16; elements and cells are dense. Cells are those of reduce.ts: i64 for sums
 * of integers up to 32 bits, two i64 {low, high} for wider ones, f64 for floats, the element type for
 * extremes, f64 for counts. Skipped elements leave their cells unchanged.
 *
 * Why it is fast: lanes are never combined, so each vector of a run costs a load, a widening, an addition and
 * a store. Skipped lanes are masked to zero (for extremes, to the cell itself) instead of branched over.
 */
import { fillValue, flipBits, least, skipMask, skipped } from './lanes'

/** Loads four integers of at most 32 bits, sign-extended. */
// @ts-ignore: decorator
@inline
function four<T>(at: usize): v128 {
  if (sizeof<T>() == 1) return i32x4.extend_low_i16x8_s(i16x8.extend_low_i8x16_s(v128.load32_zero(at)))
  if (sizeof<T>() == 2) return i32x4.extend_low_i16x8_s(v128.load64_zero(at))
  return v128.load(at)
}

// @ts-ignore: decorator
@inline
function wideFill<T>(): v128 {
  if (isFloat<T>() || sizeof<T>() >= 4) return fillValue()
  if (sizeof<T>() == 1) return i32x4.extend_low_i16x8_s(i16x8.extend_low_i8x16_s(fillValue()))
  return i32x4.extend_low_i16x8_s(fillValue())
}

/** Returns which of the next four elements (two of 8 bytes) are skipped, as lanes of 32 (64) bits. */
// @ts-ignore: decorator
@inline
function skippedOf<T>(at: usize, fill: v128, mask: v128): v128 {
  if (isFloat<T>() || sizeof<T>() == 8) return skipped<T>(v128.load(at), fill, mask)
  return skipped<i32>(four<T>(at), fill, mask)
}

/** Adds integers up to 32 bits; `bits` clears the sign extension of unsigned ones. */
export function addInts<T>(at: usize, n: u32, cells: usize, bits: i64): void {
  const fill = wideFill<T>()
  const mask = skipMask()
  const value = i64x2.splat(bits)
  for (; n > 0; n -= 4, at += 4 * sizeof<T>(), cells += 32) {
    const x = v128.andnot(four<T>(at), skippedOf<T>(at, fill, mask))
    const low = v128.and(i64x2.extend_low_i32x4_s(x), value)
    const high = v128.and(i64x2.extend_high_i32x4_s(x), value)
    v128.store(cells, i64x2.add(v128.load(cells), low))
    v128.store(cells, i64x2.add(v128.load(cells, 16), high), 16)
  }
}

/** Adds 64-bit integers: low halves unsigned, high halves by their sign. */
export function addWides(at: usize, n: u32, cells: usize, unsigned: bool): void {
  const fill = fillValue()
  const mask = skipMask()
  for (; n > 0; n--, at += 8, cells += 16) {
    if (v128.any_true(skipped<i64>(v128.load64_splat(at), fill, mask))) continue
    const high: i64 = unsigned ? load<u32>(at, 4) : load<i32>(at, 4)
    const low: i64 = load<u32>(at)
    store<i64>(cells, load<i64>(cells) + low)
    store<i64>(cells, load<i64>(cells, 8) + high, 8)
  }
}

export function addFloats<T>(at: usize, n: u32, cells: usize): void {
  const fill = fillValue()
  const mask = skipMask()
  for (; n > 0; n -= 4, at += 4 * sizeof<T>(), cells += 32) {
    let low = v128.load(at)
    low = v128.andnot(low, skipped<T>(low, fill, mask))
    let high: v128
    if (sizeof<T>() == 4) {
      high = f64x2.promote_low_f32x4(i64x2.shuffle(low, low, 1, 1))
      low = f64x2.promote_low_f32x4(low)
    } else {
      high = v128.load(at, 16)
      high = v128.andnot(high, skipped<T>(high, fill, mask))
    }
    v128.store(cells, f64x2.add(v128.load(cells), low))
    v128.store(cells, f64x2.add(v128.load(cells, 16), high), 16)
  }
}

export function addLeast<T>(at: usize, n: u32, cells: usize): void {
  const flip = flipBits()
  const fill = fillValue()
  const mask = skipMask()
  for (let bytes: u32 = n * sizeof<T>(); bytes > 0; bytes -= 16, at += 16, cells += 16) {
    const x = v128.load(at)
    const skip = skipped<T>(x, fill, mask)
    const cell = v128.load(cells)
    let result = v128.xor(least<T>(v128.xor(cell, flip), v128.xor(x, flip)), flip)
    if (isFloat<T>()) result = v128.bitselect(x, result, v128.ne<T>(x, x))
    v128.store(cells, v128.bitselect(cell, result, skip))
  }
}

/** Adds 1 to the count of each element taken. */
export function addCounts<T>(at: usize, n: u32, counts: usize): void {
  const fill = wideFill<T>()
  const mask = skipMask()
  const one = f64x2.splat(1)
  for (; n > 0; at += 16 < 4 * sizeof<T>() ? 16 : 4 * sizeof<T>()) {
    const skip = skippedOf<T>(at, fill, mask)
    if (sizeof<T>() == 8) {
      v128.store(counts, f64x2.add(v128.load(counts), v128.andnot(one, skip)))
      counts += 16
      n -= 2
    } else {
      const low = v128.andnot(one, i64x2.extend_low_i32x4_s(skip))
      const high = v128.andnot(one, i64x2.extend_high_i32x4_s(skip))
      v128.store(counts, f64x2.add(v128.load(counts), low))
      v128.store(counts, f64x2.add(v128.load(counts, 16), high), 16)
      counts += 32
      n -= 4
    }
  }
}
