/**
 * Sums of a run of contiguous elements.
 *
 * Contract: each function adds `bytes` bytes of elements at `at`, a multiple of 64, and with `rest` also the
 * group at LAST. It counts skipped elements in `passed`. Integers are added to the cell. Integers up to 32
 * bits add their exact sum, with the bits of `flipBits` flipped in each; the caller corrects for the sign
 * bit. Integers of 64 bits add the sums of their low and high halves, both unsigned. Floats replace the cell
 * by the sum in f64 of at most a block, which reduce.ts adds pairwise.
 *
 * Why it is fast: lanes are widened as late as possible, in two to four independent accumulators. Skipped
 * integers are masked to zero and counted in lanes, without a branch, so that their distribution does not
 * matter. Floats leave too few registers for that, and their missing values tend to come in long stretches.
 * Groups of 64 bytes are therefore tested as a whole, and masked if they contain skipped elements.
 */
import { addPassed, anySkipped, countLanes, countMasks, fillValue, flipBits, LAST, skipMask, skipped, totalOf } from './lanes'

/**
 * Vectors of 64 bytes that may be added before 16-bit partial sums of 8-bit elements overflow (2 * 32 * 256 =
 * 2^14).
 */
const GROUPS: u32 = 16

// @ts-ignore: decorator
@inline
function addWide<T>(sum: v128, x: v128): v128 {
  if (sizeof<T>() == 1) return i16x8.add(sum, i16x8.extadd_pairwise_i8x16_s(x))
  if (sizeof<T>() == 2) return i32x4.add(sum, i32x4.extadd_pairwise_i16x8_s(x))
  return i64x2.add(sum, i64x2.add(i64x2.extend_low_i32x4_s(x), i64x2.extend_high_i32x4_s(x)))
}

/** Adds partial sums of elements T to sums in i64. */
// @ts-ignore: decorator
@inline
function addPartial<T>(sum: v128, partial: v128): v128 {
  if (sizeof<T>() == 4) return i64x2.add(sum, partial)
  return addWide<i32>(sum, sizeof<T>() == 1 ? i32x4.extadd_pairwise_i16x8_s(partial) : partial)
}

// @ts-ignore: decorator
@inline
function addLanes(sum: v128): i64 {
  return i64x2.extract_lane(sum, 0) + i64x2.extract_lane(sum, 1)
}

export function sumInts<T>(at: usize, bytes: u32, rest: bool, skipping: bool, cell: usize): void {
  const flip = flipBits()
  const fill = fillValue()
  let sum = i64x2.splat(0)
  let counts = sum
  while (true) {
    let a = i64x2.splat(0)
    let b = i64x2.splat(0)
    const part = min(bytes, 64 * GROUPS)
    const end = at + part
    if (!skipping) {
      for (; at < end; at += 64) {
        a = addWide<T>(a, v128.xor(v128.load(at), flip))
        b = addWide<T>(b, v128.xor(v128.load(at, 16), flip))
        a = addWide<T>(a, v128.xor(v128.load(at, 32), flip))
        b = addWide<T>(b, v128.xor(v128.load(at, 48), flip))
      }
    }
    for (; at < end; at += 64) {
      const w = v128.load(at)
      const x = v128.load(at, 16)
      const y = v128.load(at, 32)
      const z = v128.load(at, 48)
      const p = v128.eq<T>(w, fill)
      const q = v128.eq<T>(x, fill)
      const r = v128.eq<T>(y, fill)
      const s = v128.eq<T>(z, fill)
      counts = countMasks<T>(counts, p, q, r, s)
      a = addWide<T>(a, v128.andnot(v128.xor(w, flip), p))
      b = addWide<T>(b, v128.andnot(v128.xor(x, flip), q))
      a = addWide<T>(a, v128.andnot(v128.xor(y, flip), r))
      b = addWide<T>(b, v128.andnot(v128.xor(z, flip), s))
    }
    bytes -= part
    sum = addPartial<T>(addPartial<T>(sum, a), b)
    if (bytes == 0) {
      if (!rest) break
      rest = false
      at = LAST
      bytes = 64
    }
  }
  addPassed(totalOf(counts))
  store<i64>(cell, load<i64>(cell) + addLanes(sum))
}

/**
 * Adds the halves of 64-bit elements to the cell of two i64 {low, high}. The sum of the low halves is the sum
 * modulo 2^64 minus the shifted sum of the high ones. It has less than 64 bits as long as there are fewer
 * than 2^32 elements.
 */
export function sumWide(at: usize, bytes: u32, rest: bool, skipping: bool, cell: usize): void {
  const flip = flipBits()
  const fill = fillValue()
  let all = i64x2.splat(0)
  let more = all
  let high = all
  let higher = all
  let counts = all
  let end = at + bytes
  while (true) {
    if (!skipping) {
      for (; at < end; at += 64) {
        const w = v128.xor(v128.load(at), flip)
        const x = v128.xor(v128.load(at, 16), flip)
        const y = v128.xor(v128.load(at, 32), flip)
        const z = v128.xor(v128.load(at, 48), flip)
        all = i64x2.add(i64x2.add(all, w), y)
        more = i64x2.add(i64x2.add(more, x), z)
        high = i64x2.add(i64x2.add(high, i64x2.shr_u(w, 32)), i64x2.shr_u(y, 32))
        higher = i64x2.add(i64x2.add(higher, i64x2.shr_u(x, 32)), i64x2.shr_u(z, 32))
      }
    }
    for (; at < end; at += 32) {
      let x = v128.load(at)
      let y = v128.load(at, 16)
      const p = i64x2.eq(x, fill)
      const q = i64x2.eq(y, fill)
      counts = i64x2.sub(i64x2.sub(counts, p), q)
      x = v128.andnot(v128.xor(x, flip), p)
      y = v128.andnot(v128.xor(y, flip), q)
      all = i64x2.add(all, x)
      more = i64x2.add(more, y)
      high = i64x2.add(high, i64x2.shr_u(x, 32))
      higher = i64x2.add(higher, i64x2.shr_u(y, 32))
    }
    if (!rest) break
    rest = false
    at = LAST
    end = LAST + 64
  }
  addPassed(totalOf(counts))
  const upper = addLanes(i64x2.add(high, higher))
  store<i64>(cell, load<i64>(cell) + addLanes(i64x2.add(all, more)) - (upper << 32))
  store<i64>(cell, load<i64>(cell, 8) + upper, 8)
}

/** Returns the k-th pair of elements T from `at`, as f64. */
// @ts-ignore: decorator
@inline
function pair<T>(at: usize, k: usize): v128 {
  return sizeof<T>() == 4 ? f64x2.promote_low_f32x4(v128.load64_zero(at + (k << 3))) : v128.load(at + (k << 4))
}

/** Returns the lower or upper two f32 of a vector as f64. */
// @ts-ignore: decorator
@inline
function lower(x: v128): v128 {
  return f64x2.promote_low_f32x4(x)
}

// @ts-ignore: decorator
@inline
function upper(x: v128): v128 {
  return f64x2.promote_low_f32x4(i64x2.shuffle(x, x, 1, 1))
}

export function sumFloats<T>(at: usize, bytes: u32, rest: bool, skipping: bool, cell: usize): void {
  const fill = fillValue()
  const mask = skipMask()
  const nans = v128.any_true(mask)
  let a = f64x2.splat(0)
  let b = f64x2.splat(0)
  let c = f64x2.splat(0)
  let d = f64x2.splat(0)
  let count: u32 = 0
  let end = at + bytes
  while (true) {
    if (!skipping) {
      for (; at < end; at += 8 * sizeof<T>()) {
        a = f64x2.add(a, pair<T>(at, 0))
        b = f64x2.add(b, pair<T>(at, 1))
        c = f64x2.add(c, pair<T>(at, 2))
        d = f64x2.add(d, pair<T>(at, 3))
      }
    }
    while (at < end) {
      for (; at < end; at += 64) {
        const w = v128.load(at)
        const x = v128.load(at, 16)
        const y = v128.load(at, 32)
        const z = v128.load(at, 48)
        if (anySkipped<T>(w, x, y, z, fill, nans)) break
        if (sizeof<T>() == 4) {
          a = f64x2.add(f64x2.add(a, lower(w)), lower(y))
          b = f64x2.add(f64x2.add(b, upper(w)), upper(y))
          c = f64x2.add(f64x2.add(c, lower(x)), lower(z))
          d = f64x2.add(f64x2.add(d, upper(x)), upper(z))
        } else {
          a = f64x2.add(a, w)
          b = f64x2.add(b, x)
          c = f64x2.add(c, y)
          d = f64x2.add(d, z)
        }
      }
      for (const stop = min(at + 64, end); at < stop; at += 32) {
        let x = v128.load(at)
        let y = v128.load(at, 16)
        const p = skipped<T>(x, fill, mask)
        const q = skipped<T>(y, fill, mask)
        count += countLanes<T>(p) + countLanes<T>(q)
        x = v128.andnot(x, p)
        y = v128.andnot(y, q)
        if (sizeof<T>() == 4) {
          a = f64x2.add(a, lower(x))
          b = f64x2.add(b, upper(x))
          c = f64x2.add(c, lower(y))
          d = f64x2.add(d, upper(y))
        } else {
          a = f64x2.add(a, x)
          b = f64x2.add(b, y)
        }
      }
    }
    if (!rest) break
    rest = false
    at = LAST
    end = LAST + 64
  }
  addPassed(count)
  const sum = f64x2.add(f64x2.add(a, b), f64x2.add(c, d))
  store<f64>(cell, f64x2.extract_lane(sum, 0) + f64x2.extract_lane(sum, 1))
}
