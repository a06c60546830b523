/**
 * Byte and bit shuffling as stored by Blosc: the counterpart of `unshuffle.ts`, which describes the forms.
 *
 * Contract: the elements of `bytes` bytes at `src`, `size` bytes each (1 to 255 and more), are copied to
 * `dst` plane by plane. Bytes behind the last whole element are copied unchanged. Nothing but the `bytes`
 * bytes of the destination is written; up to 15 bytes behind the source are read. The regions do not overlap.
 *
 * Why it is fast: 16 elements at once, up to 8 of their bytes: vectors of even and of odd bytes are separated
 * in registers, once for each doubling of the planes. Bits are extracted by the instruction that gathers the
 * signs of 16 bytes.
 */

export function shuffle(size: usize, src: usize, dst: usize, bytes: usize): void {
  const n = bytes / size
  const done = n * size
  let at: usize = 0
  for (; at + 8 <= size; at += 8) part<u64>(src + at, n, dst + at * n, size)
  for (; at + 4 <= size; at += 4) part<u32>(src + at, n, dst + at * n, size)
  for (; at + 2 <= size; at += 2) part<u16>(src + at, n, dst + at * n, size)
  if (at < size) part<u8>(src + at, n, dst + at * n, size)
  if (done < bytes) memory.copy(dst + done, src + done, bytes - done)
}

/**
 * Copies as many bytes as `T` has of `n` elements that are `step` bytes apart, each byte to a plane of its
 * own.
 */
function part<T>(src: usize, n: usize, dst: usize, step: usize): void {
  const whole = n & ~15
  const end = dst + whole
  if (step == sizeof<T>()) {
    for (; dst < end; dst += 16, src += 16 * sizeof<T>()) takeDense<T>(src, dst, n)
  } else {
    for (; dst < end; dst += 16) {
      for (let to = SCRATCH; to < SCRATCH + 16 * sizeof<T>(); to += sizeof<T>(), src += step) store<T>(to, load<T>(src))
      takeDense<T>(SCRATCH, dst, n)
    }
  }
  for (let i = whole; i < n; i++, dst++, src += step) {
    for (let plane: usize = 0; plane < sizeof<T>(); plane++) store<u8>(dst + plane * n, load<u8>(src + plane))
  }
}

const SCRATCH: usize = memory.data(128, 16)

// @ts-ignore: decorator
@inline
function even(a: v128, b: v128): v128 {
  return i8x16.shuffle(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
}
// @ts-ignore: decorator
@inline
function odd(a: v128, b: v128): v128 {
  return i8x16.shuffle(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
}

/** Copies 16 contiguous elements to planes of `n` bytes. */
// @ts-ignore: decorator
@inline
function takeDense<T>(src: usize, dst: usize, n: usize): void {
  const a = v128.load(src)
  if (sizeof<T>() == 1) {
    v128.store(dst, a)
    return
  }
  const b = v128.load(src, 16)
  const ab0 = even(a, b)
  const ab1 = odd(a, b)
  if (sizeof<T>() == 2) {
    v128.store(dst, ab0)
    v128.store(dst + n, ab1)
    return
  }
  const c = v128.load(src, 32)
  const d = v128.load(src, 48)
  const cd0 = even(c, d)
  const cd1 = odd(c, d)
  // Elements of 4 bytes: planes 0 and 2, 1 and 3. Of 8 bytes: those of the first 8 elements, 0 and 4, 2 and
  // 6, ...
  const ad0 = even(ab0, cd0)
  const ad2 = odd(ab0, cd0)
  const ad1 = even(ab1, cd1)
  const ad3 = odd(ab1, cd1)
  if (sizeof<T>() == 4) {
    v128.store(dst, ad0)
    v128.store(dst + n, ad1)
    v128.store(dst + 2 * n, ad2)
    v128.store(dst + 3 * n, ad3)
    return
  }
  const e = v128.load(src, 64)
  const f = v128.load(src, 80)
  const g = v128.load(src, 96)
  const h = v128.load(src, 112)
  const ef0 = even(e, f)
  const ef1 = odd(e, f)
  const gh0 = even(g, h)
  const gh1 = odd(g, h)
  const eh0 = even(ef0, gh0)
  const eh2 = odd(ef0, gh0)
  const eh1 = even(ef1, gh1)
  const eh3 = odd(ef1, gh1)
  v128.store(dst, even(ad0, eh0))
  v128.store(dst + n, even(ad1, eh1))
  v128.store(dst + 2 * n, even(ad2, eh2))
  v128.store(dst + 3 * n, even(ad3, eh3))
  v128.store(dst + 4 * n, odd(ad0, eh0))
  v128.store(dst + 5 * n, odd(ad1, eh1))
  v128.store(dst + 6 * n, odd(ad2, eh2))
  v128.store(dst + 7 * n, odd(ad3, eh3))
}

/** @param planes separate room for `bytes` bytes, and 15 more to be read */
export function bitShuffle(size: usize, src: usize, dst: usize, bytes: usize, planes: usize): void {
  const n = bytes / size
  if ((n & 7) != 0) {
    memory.copy(dst, src, bytes)
    return
  }
  const row = n >> 3
  const done = n * size
  const from = size == 1 ? src : planes
  if (size > 1) shuffle(size, src, planes, done)
  for (let at: usize = 0; at < done; at += n) takeBits(from + at, row, dst + at)
  memory.copy(dst + done, src + done, bytes - done)
}

/** Writes 8 rows of bytes, each of which contains one bit of 8 bytes. */
function takeBits(src: usize, row: usize, dst: usize): void {
  const whole = row & ~1
  for (let j: usize = 0; j < whole; j += 2) {
    let x = v128.load(src + (j << 3))
    for (let to = dst + 7 * row + j, bit = 0; bit < 8; bit++, to -= row) {
      store<u16>(to, <u16>i8x16.bitmask(x))
      x = i8x16.shl(x, 1)
    }
  }
  if (whole == row) return
  let x = v128.load64_zero(src + (whole << 3))
  for (let to = dst + 7 * row + whole, bit = 0; bit < 8; bit++, to -= row) {
    store<u8>(to, <u8>i8x16.bitmask(x))
    x = i8x16.shl(x, 1)
  }
}
