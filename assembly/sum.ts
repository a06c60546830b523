/**
 * Sums of a run of neighbouring elements.
 *
 * Contract: each adds `bytes` bytes of elements at `at` and counts in `taken` those not skipped. Integers up to 32 bits give their exact sum
 * (the bits of `flipBits` flipped in each: the caller corrects for the sign bit); 64-bit ones the sums of their low and high halves, both
 * unsigned; floats a sum in f64 of at most a block, which reduce.ts adds up pairwise. Up to 15 bytes behind the run are read.
 *
 * Why it is fast: lanes are widened as late as possible, in two to four independent accumulators. Integers to skip are masked to zero and
 * counted in lanes, without a branch, so that it does not matter how they lie. Floats take more registers than that leaves, and what is
 * missing of them tends to come in long stretches: groups of 64 bytes are tested as a whole and added plainly when there is nothing to skip.
 * The partial group at the end treats what lies behind it as skipped.
 */
import { addTaken, anySkipped, countLanes, countMasks, fillValue, flipBits, kept, skipMask, totalOf } from './lanes'

/** Vectors of 64 bytes that may be added before 16-bit partial sums of 8-bit elements overflow (2 * 32 * 256 = 2^14). */
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

export function sumInts<T>(at: usize, bytes: u32, skipping: bool): i64 {
  const flip = flipBits()
  const fill = fillValue()
  const mask = skipMask()
  let sum = i64x2.splat(0)
  let count: u32 = 0
  while (bytes > 0) {
    let a = i64x2.splat(0)
    let b = i64x2.splat(0)
    let counts = i64x2.splat(0)
    const groups = min(bytes >> 6, GROUPS)
    const end = at + (groups << 6)
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
      const v = v128.eq<T>(w, fill)
      const s = v128.eq<T>(x, fill)
      const t = v128.eq<T>(y, fill)
      const u = v128.eq<T>(z, fill)
      counts = countMasks<T>(counts, v, s, t, u)
      a = addWide<T>(a, v128.andnot(v128.xor(w, flip), v))
      b = addWide<T>(b, v128.andnot(v128.xor(x, flip), s))
      a = addWide<T>(a, v128.andnot(v128.xor(y, flip), t))
      b = addWide<T>(b, v128.andnot(v128.xor(z, flip), u))
    }
    bytes -= groups << 6
    count += (groups << 6) / sizeof<T>() - totalOf<T>(counts)
    sum = addPartial<T>(sum, b)
    if (bytes < 64) {
      for (const end = at + bytes; at < end; at += 16) {
        const x = v128.load(at)
        const keep = kept<T>(x, <u32>(end - at), fill, mask)
        count += countLanes<T>(keep)
        a = addWide<T>(a, v128.and(v128.xor(x, flip), keep))
      }
      bytes = 0
    }
    sum = addPartial<T>(sum, a)
  }
  addTaken(count)
  return addLanes(sum)
}

/**
 * Adds the halves of 64-bit elements to the cell of two i64 {low, high}. The sum of the low ones is what the sum modulo 2^64 is more than
 * that of the high ones: it has less than 64 bits as long as there are fewer than 2^32 elements.
 */
export function sumWide(at: usize, bytes: u32, skipping: bool, cell: usize): void {
  const flip = flipBits()
  const fill = fillValue()
  const mask = skipMask()
  let all = i64x2.splat(0)
  let more = all
  let high = all
  let higher = all
  let counts = all
  let count = bytes >> 3
  if (!skipping) {
    for (; bytes >= 64; at += 64, bytes -= 64) {
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
  for (; skipping && bytes >= 32; at += 32, bytes -= 32) {
    let x = v128.load(at)
    let y = v128.load(at, 16)
    const s = i64x2.eq(x, fill)
    const t = i64x2.eq(y, fill)
    counts = i64x2.add(counts, i64x2.add(s, t))
    x = v128.andnot(v128.xor(x, flip), s)
    y = v128.andnot(v128.xor(y, flip), t)
    all = i64x2.add(all, x)
    more = i64x2.add(more, y)
    high = i64x2.add(high, i64x2.shr_u(x, 32))
    higher = i64x2.add(higher, i64x2.shr_u(y, 32))
  }
  count += <u32>addLanes(counts) - (bytes >> 3)
  for (const end = at + bytes; at < end; at += 16) {
    let x = v128.load(at)
    const keep = kept<i64>(x, <u32>(end - at), fill, mask)
    count += countLanes<i64>(keep)
    x = v128.and(v128.xor(x, flip), keep)
    all = i64x2.add(all, x)
    high = i64x2.add(high, i64x2.shr_u(x, 32))
  }
  addTaken(count)
  const upper = addLanes(i64x2.add(high, higher))
  store<i64>(cell, load<i64>(cell) + addLanes(i64x2.add(all, more)) - (upper << 32))
  store<i64>(cell, load<i64>(cell, 8) + upper, 8)
}

/** The k-th pair of elements T from `at`, as f64. */
// @ts-ignore: decorator
@inline
function pair<T>(at: usize, k: usize): v128 {
  return sizeof<T>() == 4 ? f64x2.promote_low_f32x4(v128.load64_zero(at + (k << 3))) : v128.load(at + (k << 4))
}

/** The lower or upper two f32 of a vector as f64. */
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

export function sumFloats<T>(at: usize, bytes: u32, skipping: bool): f64 {
  const fill = fillValue()
  const mask = skipMask()
  const nans = v128.any_true(mask)
  let a = f64x2.splat(0)
  let b = f64x2.splat(0)
  let c = f64x2.splat(0)
  let d = f64x2.splat(0)
  let count: u32 = 0
  if (!skipping) {
    const group: u32 = 8 * sizeof<T>()
    count = (bytes / group) << 3
    for (; bytes >= group; at += group, bytes -= group) {
      a = f64x2.add(a, pair<T>(at, 0))
      b = f64x2.add(b, pair<T>(at, 1))
      c = f64x2.add(c, pair<T>(at, 2))
      d = f64x2.add(d, pair<T>(at, 3))
    }
  }
  while (bytes > 0) {
    for (; bytes >= 64; at += 64, bytes -= 64) {
      const w = v128.load(at)
      const x = v128.load(at, 16)
      const y = v128.load(at, 32)
      const z = v128.load(at, 48)
      if (anySkipped<T>(w, x, y, z, fill, nans)) break
      count += 64 / sizeof<T>()
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
    const end = at + min(bytes, 64)
    bytes -= min(bytes, 64)
    for (; at < end; at += 16) {
      let x = v128.load(at)
      const keep = kept<T>(x, <u32>(end - at), fill, mask)
      count += countLanes<T>(keep)
      x = v128.and(x, keep)
      if (sizeof<T>() == 4) {
        a = f64x2.add(a, lower(x))
        b = f64x2.add(b, upper(x))
      } else {
        const next = b // in turn, so that additions overlap
        b = f64x2.add(a, x)
        a = next
      }
    }
  }
  addTaken(count)
  const sum = f64x2.add(f64x2.add(a, b), f64x2.add(c, d))
  return f64x2.extract_lane(sum, 0) + f64x2.extract_lane(sum, 1)
}
