/**
 * Shared parts of the reductions: vectors of T, the lanes that count, and the parameters of the current
 * reduction.
 *
 * Memory: constants of one reduction, each repeated over a vector, set by `prepare` and `setFlip`:
 *
 *     FILL | MASK | FLIP:  the fill value, for floats NaN when there is none | all ones when elements are skipped: integers that are the fill
 *                          value, floats that are NaN | bits to flip in each element
 *
 * Kinds are the data types without their signedness: 0 to 3 are the integers of 1, 2, 4 and 8 bytes, 4 is
 * f32, 5 is f64. Flipping bits makes one kernel serve several orders. The sign bit turns unsigned into signed
 * order; all other bits (for floats: the sign) turn maximum into minimum.
 */
const FILL: usize = memory.data(48, 16)
const MASK: usize = FILL + 16
const FLIP: usize = FILL + 32

/** 64 bytes of ones, then 64 of zeros: loading from `EDGE - n` yields a mask of the first n bytes. */
const ONES: usize = memory.data<u8>([
  255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
  255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
  255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
], 16)
const EDGE: usize = ONES + 64

/** Bits that select the elements to skip. */
export const SKIP_FILL: i32 = 1
export const SKIP_NANS: i32 = 2

/** Number of elements skipped since the caller reset it to 0. */
export let passed: u32 = 0

export function resetPassed(): void {
  passed = 0
}

export function addPassed(count: u32): void {
  passed += count
}

export function kindOf(dtype: i32): i32 {
  return dtype < 4 ? dtype : dtype - 4
}

export function isUnsigned(dtype: i32): bool {
  return dtype >= 4 && dtype < 8
}

export function bytesOf(kind: i32): i32 {
  return kind < 4 ? 1 << kind : 1 << (kind - 2)
}

/** Returns the sign bit of every element of a kind: that of the first element, repeated over 64 bits. */
export function signBits(kind: i32): v128 {
  const bits: u64 = 8 * bytesOf(kind)
  return i64x2.splat((u64.MAX_VALUE / (u64.MAX_VALUE >> (64 - bits))) << (bits - 1))
}

/** Repeats an element of `bytes` bytes over a vector. */
export function splat(bytes: i32, at: usize): v128 {
  if (bytes == 1) return v128.load8_splat(at)
  if (bytes == 2) return v128.load16_splat(at)
  if (bytes == 4) return v128.load32_splat(at)
  return v128.load64_splat(at)
}

/** Sets the parameters except `setFlip`. */
export function prepare(kind: i32, skip: i32, fill: usize): void {
  // All ones are a NaN, which equals nothing.
  v128.store(FILL, skip & SKIP_FILL ? splat(bytesOf(kind), fill) : i64x2.splat(-1))
  v128.store(MASK, i64x2.splat(skip & (kind > 3 ? SKIP_NANS : SKIP_FILL) ? -1 : 0))
}

// @ts-ignore: decorator
@inline
export function setFlip(bits: v128): void {
  v128.store(FLIP, bits)
}

// @ts-ignore: decorator
@inline
export function flipBits(): v128 {
  return v128.load(FLIP)
}

// @ts-ignore: decorator
@inline
export function fillValue(): v128 {
  return v128.load(FILL)
}

// @ts-ignore: decorator
@inline
export function skipMask(): v128 {
  return v128.load(MASK)
}

/**
 * Returns the lanes of `x` to skip. The parameters are locals, because the engine would reload others
 * repeatedly.
 */
// @ts-ignore: decorator
@inline
export function skipped<T>(x: v128, fill: v128, mask: v128): v128 {
  const equal = v128.eq<T>(x, fill)
  return isFloat<T>() ? v128.or(equal, v128.and(v128.ne<T>(x, x), mask)) : v128.and(equal, mask)
}

/** Whether any element of four vectors is skipped. */
// @ts-ignore: decorator
@inline
export function anySkipped<T>(a: v128, b: v128, c: v128, d: v128, fill: v128, nans: bool): bool {
  let found = v128.or(v128.or(v128.eq<T>(a, fill), v128.eq<T>(b, fill)), v128.or(v128.eq<T>(c, fill), v128.eq<T>(d, fill)))
  if (isFloat<T>()) {
    if (nans) {
      const more = v128.or(v128.or(v128.ne<T>(a, a), v128.ne<T>(b, b)), v128.or(v128.ne<T>(c, c), v128.ne<T>(d, d)))
      found = v128.or(found, more)
    }
  }
  return v128.any_true(found)
}

/** Position of the last elements of a run, padded to a whole group by `padGroup`. */
export const LAST: usize = memory.data(64, 16)

/**
 * Builds a group of the `bytes` bytes at `at`, padded by skipped elements, which do not count in `passed`, or
 * by `neutral` ones. Up to 63 bytes behind the run are read.
 */
export function padGroup(at: usize, bytes: u32, elementBytes: u32, skipping: bool, neutral: v128): void {
  if (skipping) passed -= (64 - bytes) / elementBytes
  const pad = skipping ? fillValue() : neutral
  const edge = EDGE - bytes
  v128.store(LAST, v128.bitselect(v128.load(at), pad, v128.load(edge)))
  v128.store(LAST, v128.bitselect(v128.load(at, 16), pad, v128.load(edge, 16)), 16)
  v128.store(LAST, v128.bitselect(v128.load(at, 32), pad, v128.load(edge, 32)), 32)
  v128.store(LAST, v128.bitselect(v128.load(at, 48), pad, v128.load(edge, 48)), 48)
}

/** Returns the number of lanes set in a mask. */
// @ts-ignore: decorator
@inline
export function countLanes<T>(mask: v128): u32 {
  if (sizeof<T>() == 1) return popcnt(i8x16.bitmask(mask))
  if (sizeof<T>() == 2) return popcnt(i16x8.bitmask(mask))
  if (sizeof<T>() == 4) return popcnt(i32x4.bitmask(mask))
  return popcnt(i64x2.bitmask(mask))
}

/** Adds the numbers of lanes of T set in four masks to counts, in lanes of 32 bits (64 if T has 64). */
// @ts-ignore: decorator
@inline
export function countMasks<T>(counts: v128, w: v128, x: v128, y: v128, z: v128): v128 {
  if (sizeof<T>() == 8) return i64x2.sub(counts, i64x2.add(i64x2.add(w, x), i64x2.add(y, z)))
  let set: v128
  if (sizeof<T>() == 1) set = i16x8.extadd_pairwise_i8x16_s(i8x16.add(i8x16.add(w, x), i8x16.add(y, z)))
  else if (sizeof<T>() == 2) set = i16x8.add(i16x8.add(w, x), i16x8.add(y, z))
  else set = i32x4.add(i32x4.add(w, x), i32x4.add(y, z))
  return i32x4.sub(counts, sizeof<T>() == 4 ? set : i32x4.extadd_pairwise_i16x8_s(set))
}

/** Returns the sum of such counts. */
// @ts-ignore: decorator
@inline
export function totalOf(counts: v128): u32 {
  counts = i32x4.add(counts, i64x2.shuffle(counts, counts, 1, 0))
  return i32x4.extract_lane(counts, 0) + i32x4.extract_lane(counts, 1)
}

/**
 * Returns the lesser of each lane, signed for integers. For floats, the second operand wins only if it is
 * less, so its NaNs are ignored.
 */
// @ts-ignore: decorator
@inline
export function least<T>(a: v128, b: v128): v128 {
  if (isFloat<T>()) return v128.pmin<T>(a, b)
  if (sizeof<T>() == 8) return v128.bitselect(a, b, i64x2.lt_s(a, b))
  return v128.min<T>(a, b)
}

/** Returns the greater of each lane, for signed integers. */
// @ts-ignore: decorator
@inline
export function greatest<T>(a: v128, b: v128): v128 {
  if (sizeof<T>() == 8) return v128.bitselect(a, b, i64x2.gt_s(a, b))
  return v128.max<T>(a, b)
}

/** Returns the least of all lanes, in the first one. */
export function leastLane<T>(x: v128): v128 {
  x = least<T>(x, i64x2.shuffle(x, x, 1, 0))
  if (sizeof<T>() <= 4) x = least<T>(x, i64x2.shr_u(x, 32))
  if (sizeof<T>() <= 2) x = least<T>(x, i64x2.shr_u(x, 16))
  if (sizeof<T>() == 1) x = least<T>(x, i64x2.shr_u(x, 8))
  return x
}
