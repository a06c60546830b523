/**
 * Minimum and maximum of a run of neighbouring elements.
 *
 * Contract: `leastInto` lowers the cell of type T to the least element taken; with `flipBits` set it sees unsigned order, or raises the cell
 * to the greatest. A NaN that is taken makes the cell NaN, and a cell that is NaN stays so. `stats` finds both ends and the count in one
 * pass; floats are in IEEE totalOrder there (-NaN < -inf < ... < -0 < +0 < ... < +inf < +NaN). Up to 15 bytes behind the run are read.
 *
 *     out of stats:  8 bytes, minimum in the low ones | 8 bytes, maximum likewise | f64 elements taken
 *
 * Why it is fast: `pmin` with the running minimum first passes over NaN at no cost, so NaN needs only one compare and no order of its own.
 * Groups of 64 bytes in which nothing is skipped are told apart by one test. The bits of a float, less the sign where negative, are in
 * total order as a signed integer: exact, and one minimum instruction.
 */
import {
  addTaken,
  anySkipped,
  bytesOf,
  countLanes,
  fillValue,
  flipBits,
  greatest,
  isUnsigned,
  kept,
  kindOf,
  least,
  leastLane,
  prepare,
  resetTaken,
  setFlip,
  signBits,
  skipMask,
  taken,
} from './lanes'

/** What no element is above, in the order of `least`. */
// @ts-ignore: decorator
@inline
function above<T>(): v128 {
  if (isFloat<T>()) return v128.splat<T>(<T>Infinity)
  return v128.splat<T>(<T>(<u64>-1 >> (65 - 8 * sizeof<T>())))
}

export function leastInto<T>(at: usize, bytes: u32, skipping: bool, cell: usize): void {
  const flip = flipBits()
  const fill = fillValue()
  const mask = skipMask()
  const nans = v128.any_true(mask)
  const top = above<T>()
  let a = top
  let b = top
  let c = top
  let d = top
  let found = i64x2.splat(0) // NaNs
  let count: u32 = 0
  if (!skipping) {
    count = (bytes & ~63) / sizeof<T>()
    for (; bytes >= 64; at += 64, bytes -= 64) {
      const w = v128.xor(v128.load(at), flip)
      const x = v128.xor(v128.load(at, 16), flip)
      const y = v128.xor(v128.load(at, 32), flip)
      const z = v128.xor(v128.load(at, 48), flip)
      a = least<T>(a, w)
      b = least<T>(b, x)
      c = least<T>(c, y)
      d = least<T>(d, z)
      if (isFloat<T>()) {
        found = v128.or(found, v128.or(v128.ne<T>(w, w), v128.ne<T>(x, x)))
        found = v128.or(found, v128.or(v128.ne<T>(y, y), v128.ne<T>(z, z)))
      }
    }
  }
  while (bytes > 0) {
    for (; bytes >= 64; at += 64, bytes -= 64) {
      const w = v128.load(at)
      const x = v128.load(at, 16)
      const y = v128.load(at, 32)
      const z = v128.load(at, 48)
      if (skipping && anySkipped<T>(w, x, y, z, fill, nans)) break
      count += 64 / sizeof<T>()
      a = least<T>(a, v128.xor(w, flip))
      b = least<T>(b, v128.xor(x, flip))
      c = least<T>(c, v128.xor(y, flip))
      d = least<T>(d, v128.xor(z, flip))
      if (isFloat<T>()) {
        found = v128.or(found, v128.or(v128.ne<T>(w, w), v128.ne<T>(x, x)))
        found = v128.or(found, v128.or(v128.ne<T>(y, y), v128.ne<T>(z, z)))
      }
    }
    const end = at + min(bytes, 64)
    bytes -= min(bytes, 64)
    for (; at < end; at += 16) {
      const x = v128.load(at)
      const keep = kept<T>(x, <u32>(end - at), fill, mask)
      count += countLanes<T>(keep)
      a = least<T>(a, v128.bitselect(v128.xor(x, flip), top, keep))
      if (isFloat<T>()) found = v128.or(found, v128.and(v128.ne<T>(x, x), keep))
    }
  }
  addTaken(count)
  a = leastLane<T>(least<T>(least<T>(a, b), least<T>(c, d)))
  // the cell goes first: when it is NaN it stays
  a = v128.xor(least<T>(v128.xor(v128.load_splat<T>(cell), flip), a), flip)
  if (isFloat<T>() && v128.any_true(found)) a = v128.splat<T>(<T>NaN)
  v128.store_lane<T>(cell, a, 0)
}

/** Running minimum and maximum of `stats`, in the order of signed integers. */
const LEAST: usize = memory.data(32, 16)
const GREATEST: usize = LEAST + 16

/** Bytes a call of the loop is handed at most: the engine replaces slow first code between calls, not within one. */
const BLOCK: u32 = 65536

export function stats(dtype: i32, skip: i32, fill: usize, src: usize, count: u32, out: usize): void {
  const kind = kindOf(dtype)
  const sign = signBits(kind)
  prepare(kind, skip, fill)
  setFlip(isUnsigned(dtype) ? sign : i64x2.splat(0))
  v128.store(LEAST, v128.not(sign))
  v128.store(GREATEST, sign)
  let total: f64 = 0
  for (let left: u32 = count * bytesOf(kind); left > 0; ) {
    const part = min(left, BLOCK)
    resetTaken()
    if (kind == 0) widen<i8, i8>(src, part, skip != 0)
    else if (kind == 1) widen<i16, i16>(src, part, skip != 0)
    else if (kind == 2) widen<i32, i32>(src, part, skip != 0)
    else if (kind == 3) widen<i64, i64>(src, part, skip != 0)
    else if (kind == 4) widen<f32, i32>(src, part, skip != 0)
    else if (!widenNumbers(src, part, skip != 0)) widen<f64, i64>(src, part, skip != 0)
    total += taken
    src += part
    left -= part
  }
  store<u64>(out, 0)
  store<u64>(out, 0, 8)
  store<f64>(out, total, 16)
  if (kind == 0) ends<i8, i8>(out)
  else if (kind == 1) ends<i16, i16>(out)
  else if (kind == 2) ends<i32, i32>(out)
  else if (kind == 3) ends<i64, i64>(out)
  else if (kind == 4) ends<f32, i32>(out)
  else ends<f64, i64>(out)
}

/** Writes what LEAST and GREATEST have come to. */
function ends<T, I>(out: usize): void {
  const first = leastLane<I>(v128.load(LEAST))
  const last = v128.not(leastLane<I>(v128.not(v128.load(GREATEST))))
  v128.store_lane<I>(out, v128.xor(ordered<T, I>(first), flipBits()), 0)
  v128.store_lane<I>(out, v128.xor(ordered<T, I>(last), flipBits()), 0, 8)
}

/** Floats to integers in the same order, and back: it is its own inverse. */
// @ts-ignore: decorator
@inline
function ordered<T, I>(x: v128): v128 {
  if (!isFloat<T>()) return x
  const negative = v128.lt<I>(x, i64x2.splat(0))
  return v128.xor(x, sizeof<I>() == 4 ? i32x4.shr_u(negative, 1) : i64x2.shr_u(negative, 1))
}

/** Widens LEAST and GREATEST to a block. */
function widen<T, I>(at: usize, bytes: u32, skipping: bool): void {
  const flip = flipBits()
  const fill = fillValue()
  const mask = skipMask()
  const nans = v128.any_true(mask)
  const top = above<I>()
  const bottom = v128.not(top)
  let low = v128.load(LEAST)
  let high = v128.load(GREATEST)
  let lower = low
  let higher = high
  let count: u32 = 0
  while (bytes > 0) {
    for (; bytes >= 64; at += 64, bytes -= 64) {
      let w = v128.load(at)
      let x = v128.load(at, 16)
      let y = v128.load(at, 32)
      let z = v128.load(at, 48)
      if (skipping && anySkipped<T>(w, x, y, z, fill, nans)) break
      count += 64 / sizeof<T>()
      w = v128.xor(ordered<T, I>(w), flip)
      x = v128.xor(ordered<T, I>(x), flip)
      y = v128.xor(ordered<T, I>(y), flip)
      z = v128.xor(ordered<T, I>(z), flip)
      low = least<I>(least<I>(low, w), y)
      lower = least<I>(least<I>(lower, x), z)
      high = greatest<I>(greatest<I>(high, w), y)
      higher = greatest<I>(greatest<I>(higher, x), z)
    }
    const end = at + min(bytes, 64)
    bytes -= min(bytes, 64)
    for (; at < end; at += 16) {
      const raw = v128.load(at)
      const keep = kept<T>(raw, <u32>(end - at), fill, mask)
      const x = v128.xor(ordered<T, I>(raw), flip)
      count += countLanes<T>(keep)
      low = least<I>(low, v128.bitselect(x, top, keep))
      high = greatest<I>(high, v128.bitselect(x, bottom, keep))
    }
  }
  addTaken(count)
  v128.store(LEAST, least<I>(low, lower))
  v128.store(GREATEST, greatest<I>(high, higher))
}

/**
 * The same for f64 by the order of numbers, in half the time, as there is no minimum instruction for integers of 64 bits. False, with nothing
 * done, where a NaN is among them or an end is zero, of which that order does not see the sign.
 */
function widenNumbers(at: usize, bytes: u32, skipping: bool): bool {
  const fill = fillValue()
  const mask = skipMask()
  const nans = v128.any_true(mask)
  const top = f64x2.splat(Infinity)
  const bottom = f64x2.splat(-Infinity)
  const zero = i64x2.splat(0)
  let low = top
  let high = bottom
  let lower = top
  let higher = bottom
  let found = zero
  let count: u32 = 0
  while (bytes > 0) {
    for (; bytes >= 64; at += 64, bytes -= 64) {
      const w = v128.load(at)
      const x = v128.load(at, 16)
      const y = v128.load(at, 32)
      const z = v128.load(at, 48)
      if (skipping && anySkipped<f64>(w, x, y, z, fill, nans)) break
      count += 8
      low = f64x2.pmin(f64x2.pmin(low, w), y)
      lower = f64x2.pmin(f64x2.pmin(lower, x), z)
      high = f64x2.pmax(f64x2.pmax(high, w), y)
      higher = f64x2.pmax(f64x2.pmax(higher, x), z)
      found = v128.or(found, v128.or(f64x2.ne(w, w), f64x2.ne(x, x)))
      found = v128.or(found, v128.or(f64x2.ne(y, y), f64x2.ne(z, z)))
    }
    const end = at + min(bytes, 64)
    bytes -= min(bytes, 64)
    for (; at < end; at += 16) {
      const x = v128.load(at)
      const keep = kept<f64>(x, <u32>(end - at), fill, mask)
      count += countLanes<f64>(keep)
      low = f64x2.pmin(low, v128.bitselect(x, top, keep))
      high = f64x2.pmax(high, v128.bitselect(x, bottom, keep))
      found = v128.or(found, v128.and(f64x2.ne(x, x), keep))
    }
  }
  low = f64x2.pmin(low, lower)
  high = f64x2.pmax(high, higher)
  found = v128.or(found, v128.or(f64x2.eq(low, zero), f64x2.eq(high, zero)))
  if (v128.any_true(found)) return false
  addTaken(count)
  v128.store(LEAST, least<i64>(v128.load(LEAST), ordered<f64, i64>(low)))
  v128.store(GREATEST, greatest<i64>(v128.load(GREATEST), ordered<f64, i64>(high)))
  return true
}
