/**
 * Copies of one row whose elements are not contiguous in the source, the destination or both.
 *
 * Contract: steps are in bytes and may be negative, or 0 in the source. Nothing but destination elements is
 * written; up to 16 bytes behind the last source element may be read.
 *
 * Why it is fast: into a dense row, source steps of 2, 3 and -1 elements are loaded in whole vectors and
 * separated by shuffles; a step of 0 is one vector stored repeatedly. Other steps are loads and stores of
 * single elements, four at a time. If one side is contiguous, its offsets are constants for the engine.
 */

/** Runs `copyApart` for elements of `bytes` bytes. */
export function copyRow(bytes: i32, src: usize, from: i32, dst: usize, to: i32, n: u32): void {
  if (bytes == 1) copyApart<u8>(src, from, dst, to, n)
  else if (bytes == 2) copyApart<u16>(src, from, dst, to, n)
  else if (bytes == 4) copyApart<u32>(src, from, dst, to, n)
  else copyApart<u64>(src, from, dst, to, n)
}

/** Copies `n` elements that are `from` bytes apart to positions that are `to` bytes apart. */
export function copyApart<T>(src: usize, from: i32, dst: usize, to: i32, n: u32): void {
  if (to == sizeof<T>()) {
    const lanes: u32 = 16 / sizeof<T>()
    const vectors = n / lanes
    const last = dst + (vectors << 4)
    n -= vectors * lanes
    if (from == 2 * sizeof<T>()) {
      for (; dst < last; dst += 16, src += 32) v128.store(dst, everySecond<T>(v128.load(src), v128.load(src, 16)))
    } else if (from == 3 * sizeof<T>()) {
      for (; dst < last; dst += 16, src += 48) v128.store(dst, everyThird<T>(src))
    } else if (from == -(<i32>sizeof<T>())) {
      for (; dst < last; dst += 16, src -= 16) v128.store(dst, backwards<T>(v128.load(src - (16 - sizeof<T>()))))
    } else if (from == 0) {
      const value = v128.load_splat<T>(src)
      for (; dst < last; dst += 16) v128.store(dst, value)
    } else {
      n += vectors * lanes
    }
  }
  const twice = from << 1
  const thrice = twice + from
  if (to == sizeof<T>()) {
    for (; n >= 4; n -= 4, src += from << 2, dst += 4 * sizeof<T>()) {
      store<T>(dst, load<T>(src))
      store<T>(dst, load<T>(src + from), sizeof<T>())
      store<T>(dst, load<T>(src + twice), 2 * sizeof<T>())
      store<T>(dst, load<T>(src + thrice), 3 * sizeof<T>())
    }
  } else if (from == sizeof<T>() && to == 2 * sizeof<T>()) {
    for (; n >= 4; n -= 4, src += 4 * sizeof<T>(), dst += 8 * sizeof<T>()) {
      store<T>(dst, load<T>(src))
      store<T>(dst, load<T>(src, sizeof<T>()), 2 * sizeof<T>())
      store<T>(dst, load<T>(src, 2 * sizeof<T>()), 4 * sizeof<T>())
      store<T>(dst, load<T>(src, 3 * sizeof<T>()), 6 * sizeof<T>())
    }
  } else {
    for (; n >= 4; n -= 4, src += from << 2, dst += to << 2) {
      store<T>(dst, load<T>(src))
      store<T>(dst + to, load<T>(src + from))
      store<T>(dst + (to << 1), load<T>(src + twice))
      store<T>(dst + to * 3, load<T>(src + thrice))
    }
  }
  for (; n > 0; n--, src += from, dst += to) store<T>(dst, load<T>(src))
}

// @ts-ignore: decorator
@inline
function everySecond<T>(a: v128, b: v128): v128 {
  if (sizeof<T>() == 1) return i8x16.shuffle(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
  if (sizeof<T>() == 2) return i16x8.shuffle(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
  if (sizeof<T>() == 4) return i32x4.shuffle(a, b, 0, 2, 4, 6)
  return i64x2.shuffle(a, b, 0, 2)
}

// @ts-ignore: decorator
@inline
function everyThird<T>(src: usize): v128 {
  const a = v128.load(src)
  const b = v128.load(src, 16)
  if (sizeof<T>() == 8) return i64x2.shuffle(a, b, 0, 3)
  const c = v128.load(src, 32)
  if (sizeof<T>() == 4) return i32x4.shuffle(i32x4.shuffle(a, b, 0, 3, 6, 0), c, 0, 1, 2, 5)
  if (sizeof<T>() == 2) return i16x8.shuffle(i16x8.shuffle(a, b, 0, 3, 6, 9, 12, 15, 0, 0), c, 0, 1, 2, 3, 4, 5, 10, 13)
  const ab = i8x16.shuffle(a, b, 0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 0, 0, 0, 0, 0)
  return i8x16.shuffle(ab, c, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 17, 20, 23, 26, 29)
}

// @ts-ignore: decorator
@inline
function backwards<T>(a: v128): v128 {
  if (sizeof<T>() == 1) return i8x16.shuffle(a, a, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
  if (sizeof<T>() == 2) return i16x8.shuffle(a, a, 7, 6, 5, 4, 3, 2, 1, 0)
  if (sizeof<T>() == 4) return i32x4.shuffle(a, a, 3, 2, 1, 0)
  return i64x2.shuffle(a, a, 1, 0)
}
