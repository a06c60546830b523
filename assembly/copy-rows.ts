/**
 * Copies of whole bytes.
 *
 * Contract: `copyRows` copies `rows` rows of `bytes` bytes, whose starts are `srcRow` and `dstRow` bytes
 * apart. It writes exactly the requested bytes and reads no others.
 *
 * Why it is fast: the last vector of a row is moved back to end with the row and overlaps the one before, so
 * no loop over single bytes is needed. Long rows use the engine's memmove, which is wider than 128 bits; for
 * short rows, that call would cost more than the copy.
 */

const LONG: u32 = 1024

export function copyRows(src: usize, srcRow: i32, dst: usize, dstRow: i32, bytes: u32, rows: u32): void {
  for (; rows > 0; rows--, src += srcRow, dst += dstRow) {
    if (bytes >= LONG) memory.copy(dst, src, bytes)
    else if (bytes >= 16) copyVectors(src, dst, bytes)
    else copyFew(src, dst, bytes)
  }
}

// @ts-ignore: decorator
@inline
function copyVectors(src: usize, dst: usize, bytes: u32): void {
  const end = dst + bytes
  const tail = v128.load(src + bytes - 16)
  let from = src
  let to = dst
  for (; end - to > 64; from += 64, to += 64) {
    v128.store(to, v128.load(from))
    v128.store(to, v128.load(from, 16), 16)
    v128.store(to, v128.load(from, 32), 32)
    v128.store(to, v128.load(from, 48), 48)
  }
  for (; end - to > 16; from += 16, to += 16) v128.store(to, v128.load(from))
  v128.store(end - 16, tail)
}

/** Copies up to 15 bytes by two overlapping loads of the largest power of two that fits. */
export function copyFew(src: usize, dst: usize, bytes: u32): void {
  if (bytes >= 8) copyEnds<u64>(src, dst, bytes)
  else if (bytes >= 4) copyEnds<u32>(src, dst, bytes)
  else if (bytes >= 2) copyEnds<u16>(src, dst, bytes)
  else if (bytes == 1) store<u8>(dst, load<u8>(src))
}

// @ts-ignore: decorator
@inline
function copyEnds<T>(src: usize, dst: usize, bytes: u32): void {
  const tail = load<T>(src + bytes - sizeof<T>())
  store<T>(dst, load<T>(src))
  store<T>(dst + bytes - sizeof<T>(), tail)
}
