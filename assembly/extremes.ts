/**
 * Minimum and maximum of a run of contiguous elements.
 *
 * Contract: `leastAs` lowers the cell to the smallest taken element of `bytes` bytes, a multiple of 64, and
 * with `rest` also of the group at LAST. Bits in `flipBits` select unsigned order, or the maximum instead of
 * the minimum. It counts skipped elements in `passed`. A taken NaN makes the cell NaN, and a NaN cell stays
 * NaN. `stats` finds minimum, maximum and count in one pass; floats are in IEEE totalOrder there (-NaN < -inf
 * < ... < -0 < +0 < ... < +inf < +NaN).
 *
 *     out of stats:  8 bytes, minimum in the low ones | 8 bytes, maximum likewise | f64 elements taken
 *
 * Why it is fast: `pmin` with the running minimum first ignores NaN at no cost, so NaN needs only one
 * comparison and no order of its own. One test recognises groups of 64 bytes without skipped elements; other
 * groups leave the hot loop. The bits of a float, flipped below the sign if it is negative, are in total
 * order as a signed integer: exact, and one minimum instruction.
 */
import {
  addPassed,
  anySkipped,
  bytesOf,
  countLanes,
  fillValue,
  flipBits,
  greatest,
  isUnsigned,
  kindOf,
  LAST,
  least,
  leastLane,
  padGroup,
  passed,
  prepare,
  resetPassed,
  setFlip,
  signBits,
  skipMask,
  skipped,
  splat,
} from './lanes'

/** Returns the highest element in the order of `least`. */
// @ts-ignore: decorator
@inline
function highest<T>(): v128 {
  if (isFloat<T>()) return v128.splat<T>(<T>Infinity)
  return v128.splat<T>(<T>(<u64>-1 >> (65 - 8 * sizeof<T>())))
}

// @ts-ignore: decorator
@inline
function anyNaN<T>(w: v128, x: v128, y: v128, z: v128): v128 {
  return v128.or(v128.or(v128.ne<T>(w, w), v128.ne<T>(x, x)), v128.or(v128.ne<T>(y, y), v128.ne<T>(z, z)))
}

function leastInto<T>(at: usize, bytes: u32, rest: bool, skipping: bool, cell: usize): void {
  const flip = flipBits()
  const fill = fillValue()
  const mask = skipMask()
  const nans = v128.any_true(mask)
  const top = highest<T>()
  let a = top
  let b = top
  let c = top
  let d = top
  let found = i64x2.splat(0) // NaNs
  let count: u32 = 0
  let end = at + bytes
  while (true) {
    if (!skipping) {
      for (; at < end; at += 64) {
        const w = v128.xor(v128.load(at), flip)
        const x = v128.xor(v128.load(at, 16), flip)
        const y = v128.xor(v128.load(at, 32), flip)
        const z = v128.xor(v128.load(at, 48), flip)
        a = least<T>(a, w)
        b = least<T>(b, x)
        c = least<T>(c, y)
        d = least<T>(d, z)
        if (isFloat<T>()) found = v128.or(found, anyNaN<T>(w, x, y, z))
      }
    }
    while (at < end) {
      for (; at < end; at += 64) {
        const w = v128.load(at)
        const x = v128.load(at, 16)
        const y = v128.load(at, 32)
        const z = v128.load(at, 48)
        if (anySkipped<T>(w, x, y, z, fill, nans)) break
        a = least<T>(a, v128.xor(w, flip))
        b = least<T>(b, v128.xor(x, flip))
        c = least<T>(c, v128.xor(y, flip))
        d = least<T>(d, v128.xor(z, flip))
        if (isFloat<T>()) found = v128.or(found, anyNaN<T>(w, x, y, z))
      }
      for (const stop = min(at + 64, end); at < stop; at += 16) {
        const x = v128.load(at)
        const skip = skipped<T>(x, fill, mask)
        count += countLanes<T>(skip)
        a = least<T>(a, v128.bitselect(top, v128.xor(x, flip), skip))
        if (isFloat<T>()) found = v128.or(found, v128.andnot(v128.ne<T>(x, x), skip))
      }
    }
    if (!rest) break
    rest = false
    at = LAST
    end = LAST + 64
  }
  addPassed(count)
  a = leastLane<T>(least<T>(least<T>(a, b), least<T>(c, d)))
  // The cell comes first, so that a NaN in it stays.
  a = v128.xor(least<T>(v128.xor(v128.load_splat<T>(cell), flip), a), flip)
  if (isFloat<T>() && v128.any_true(found)) a = v128.splat<T>(<T>NaN)
  v128.store_lane<T>(cell, a, 0)
}

export function leastAs(kind: i32, at: usize, bytes: u32, rest: bool, skipping: bool, cell: usize): void {
  if (kind == 0) leastInto<i8>(at, bytes, rest, skipping, cell)
  else if (kind == 1) leastInto<i16>(at, bytes, rest, skipping, cell)
  else if (kind == 2) leastInto<i32>(at, bytes, rest, skipping, cell)
  else if (kind == 3) leastInto<i64>(at, bytes, rest, skipping, cell)
  else if (kind == 4) leastInto<f32>(at, bytes, rest, skipping, cell)
  else leastInto<f64>(at, bytes, rest, skipping, cell)
}

/** Running minimum and maximum of `stats`, as integers in the order of the elements. */
const LEAST: usize = memory.data(32, 16)
const GREATEST: usize = LEAST + 16

/** Largest number of bytes per call of the loop: the engine replaces slow first code between calls only. */
const BLOCK: u32 = 65536

export function stats(dtype: i32, skip: i32, fill: usize, src: usize, count: u32, out: usize): void {
  const kind = kindOf(dtype)
  const size = bytesOf(kind)
  const sign = signBits(kind)
  const none = i64x2.splat(0)
  prepare(kind, skip, fill)
  // Integers of 64 bits are compared as signed ones, all others as unsigned ones.
  const wide = size == 8
  setFlip(wide == isUnsigned(dtype) ? sign : none)
  v128.store(LEAST, wide ? v128.not(sign) : v128.not(none))
  v128.store(GREATEST, wide ? sign : none)
  const bytes = count * size
  const rest = bytes & 63
  const end = src + bytes - rest
  resetPassed()
  for (; src < end; src += BLOCK) widenAs(kind, src, <u32>min(end - src, BLOCK), skip != 0)
  if (rest != 0) {
    padGroup(end, rest, size, skip != 0, splat(size, end))
    widenAs(kind, LAST, 64, skip != 0)
  }
  store<f64>(out, <f64>(count - passed), 16)
  const back = flipBits()
  const order = wide ? none : sign
  setFlip(order)
  putEnd(kind, LEAST, back, out)
  setFlip(v128.not(order))
  putEnd(kind, GREATEST, back, out + 8)
}

/**
 * Writes the element of the first lane, in the order set by `setFlip`, among the lanes at `ends` to `out`.
 */
function putEnd(kind: i32, ends: usize, back: v128, out: usize): void {
  const lanes = v128.load(ends)
  for (let k: usize = 0; k < 64; k += 16) v128.store(LAST + k, lanes)
  v128.store64_lane(out, lanes, 0)
  leastAs(kind > 3 ? kind - 2 : kind, LAST, 64, false, false, out)
  let end = v128.xor(v128.load64_zero(out), back)
  if (kind == 4) end = ordered<f32, u32>(end)
  if (kind == 5) end = ordered<f64, i64>(end)
  store<u64>(out, i64x2.extract_lane(end, 0) & (<u64>-1 >> (64 - 8 * bytesOf(kind))))
}

function widenAs(kind: i32, at: usize, bytes: u32, skipping: bool): void {
  if (kind == 0) widen<i8, u8>(at, bytes, skipping)
  else if (kind == 1) widen<i16, u16>(at, bytes, skipping)
  else if (kind == 2) widen<i32, u32>(at, bytes, skipping)
  else if (kind == 3) widen<i64, i64>(at, bytes, skipping)
  else if (kind == 4) widen<f32, u32>(at, bytes, skipping)
  else if (!widenNumbers(at, bytes, skipping)) widen<f64, i64>(at, bytes, skipping)
}

/** Converts floats to signed integers in the same order; it is its own inverse. */
// @ts-ignore: decorator
@inline
function ordered<T, I>(x: v128): v128 {
  if (!isFloat<T>()) return x
  if (sizeof<I>() == 4) return v128.xor(x, i32x4.shr_u(i32x4.shr_s(x, 31), 1))
  return v128.xor(x, i64x2.shr_u(i64x2.lt_s(x, i64x2.splat(0)), 1))
}

/** Sets lanes in `skip` to a value that no element exceeds. */
// @ts-ignore: decorator
@inline
function above<I>(x: v128, skip: v128): v128 {
  return sizeof<I>() == 8 ? v128.bitselect(i64x2.splat(i64.MAX_VALUE), x, skip) : v128.or(x, skip)
}

// @ts-ignore: decorator
@inline
function below<I>(x: v128, skip: v128): v128 {
  return sizeof<I>() == 8 ? v128.bitselect(i64x2.splat(i64.MIN_VALUE), x, skip) : v128.andnot(x, skip)
}

/** Extends LEAST and GREATEST by a block. */
function widen<T, I>(at: usize, bytes: u32, skipping: bool): void {
  const flip = flipBits()
  const fill = fillValue()
  const mask = skipMask()
  const nans = v128.any_true(mask)
  let low = v128.load(LEAST)
  let high = v128.load(GREATEST)
  let lower = low
  let higher = high
  let count: u32 = 0
  const end = at + bytes
  while (at < end) {
    for (; at < end; at += 64) {
      let w = v128.load(at)
      let x = v128.load(at, 16)
      let y = v128.load(at, 32)
      let z = v128.load(at, 48)
      if (skipping && anySkipped<T>(w, x, y, z, fill, nans)) break
      w = v128.xor(ordered<T, I>(w), flip)
      x = v128.xor(ordered<T, I>(x), flip)
      y = v128.xor(ordered<T, I>(y), flip)
      z = v128.xor(ordered<T, I>(z), flip)
      low = least<I>(least<I>(low, w), y)
      lower = least<I>(least<I>(lower, x), z)
      high = greatest<I>(greatest<I>(high, w), y)
      higher = greatest<I>(greatest<I>(higher, x), z)
    }
    for (const stop = min(at + 64, end); at < stop; at += 16) {
      const raw = v128.load(at)
      const skip = skipped<T>(raw, fill, mask)
      count += countLanes<T>(skip)
      const x = v128.xor(ordered<T, I>(raw), flip)
      low = least<I>(low, above<I>(x, skip))
      high = greatest<I>(high, below<I>(x, skip))
    }
  }
  addPassed(count)
  v128.store(LEAST, least<I>(low, lower))
  v128.store(GREATEST, greatest<I>(high, higher))
}

/**
 * Does the same for f64 in numeric order, twice as fast, because there is no minimum instruction for 64-bit
 * integers. Returns false, with nothing done, if a NaN is among the elements, or if an extreme is zero, whose
 * sign that order ignores.
 */
function widenNumbers(at: usize, bytes: u32, skipping: bool): bool {
  const fill = fillValue()
  const mask = skipMask()
  const nans = v128.any_true(mask)
  const zero = i64x2.splat(0)
  let low = f64x2.splat(Infinity)
  let high = f64x2.splat(-Infinity)
  let lower = low
  let higher = high
  let count: u32 = 0
  let found = zero
  const end = at + bytes
  while (at < end) {
    for (; at < end; at += 64) {
      const w = v128.load(at)
      const x = v128.load(at, 16)
      const y = v128.load(at, 32)
      const z = v128.load(at, 48)
      if (skipping && anySkipped<f64>(w, x, y, z, fill, nans)) break
      found = v128.or(found, anyNaN<f64>(w, x, y, z))
      low = f64x2.pmin(f64x2.pmin(low, w), y)
      lower = f64x2.pmin(f64x2.pmin(lower, x), z)
      high = f64x2.pmax(f64x2.pmax(high, w), y)
      higher = f64x2.pmax(f64x2.pmax(higher, x), z)
    }
    for (const stop = min(at + 64, end); at < stop; at += 16) {
      const raw = v128.load(at)
      const skip = skipped<f64>(raw, fill, mask)
      count += countLanes<f64>(skip)
      found = v128.or(found, v128.andnot(f64x2.ne(raw, raw), skip))
      const x = v128.or(raw, skip) // all ones are a NaN, which these pass over
      low = f64x2.pmin(low, x)
      high = f64x2.pmax(high, x)
    }
  }
  low = f64x2.pmin(low, lower)
  high = f64x2.pmax(high, higher)
  found = v128.or(found, v128.or(f64x2.eq(low, zero), f64x2.eq(high, zero)))
  if (v128.any_true(found)) return false
  addPassed(count)
  v128.store(LEAST, least<i64>(v128.load(LEAST), ordered<f64, i64>(low)))
  v128.store(GREATEST, greatest<i64>(v128.load(GREATEST), ordered<f64, i64>(high)))
  return true
}
