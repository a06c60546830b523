/**
 * Position of a value: the second half of the search for the position of an extreme.
 *
 * Contract: a value is found where an element equals it (IEEE ==: -0 is +0) or, if it is NaN, where one is
 * NaN.
 *
 *     find        returns the position of the first such element in a run of `bytes` bytes, in bytes from its
 *                 start; `bytes` or more if there is none
 *     firstRows   writes the first row (of `rows` rows, `step` bytes apart, at least 16 bytes long) with the
 *                 value of its column to the column's index, which has the size of an element. A column
 *                 without one keeps its index. Indices of one size limit the number of rows; one of them
 *                 means "none".
 *
 * Up to 15 bytes behind the run of `find` are read. `firstRows` ends each row with a vector that overlaps the
 * last one: finding a row again changes nothing.
 *
 * Why it is fast: indices as narrow as the elements cost one instruction per vector, whatever is found, and
 * no test.
 */
import { fillValue, kindOf, prepare, SKIP_FILL, SKIP_NANS, skipMask, skipped } from './lanes'

export function find(dtype: i32, value: usize, nan: bool, src: usize, bytes: u32): u32 {
  const kind = kindOf(dtype)
  prepare(kind, nan ? SKIP_NANS : SKIP_FILL, value)
  const end = src + bytes
  return <u32>(
    (kind == 0 ? first<i8>(src, end)
    : kind == 1 ? first<i16>(src, end)
    : kind == 2 ? first<i32>(src, end)
    : kind == 3 ? first<i64>(src, end)
    : kind == 4 ? first<f32>(src, end)
    : first<f64>(src, end)) - src
  )
}

function first<T>(at: usize, end: usize): usize {
  const value = fillValue()
  const mask = skipMask()
  for (; at < end; at += 16) {
    const found = i8x16.bitmask(skipped<T>(v128.load(at), value, mask))
    if (found != 0) return at + ctz(found)
  }
  return at
}

export function firstRows(dtype: i32, src: usize, step: i32, rows: u32, bytes: u32, values: usize, places: usize): void {
  const kind = kindOf(dtype)
  while (rows-- > 0) {
    const row = src + rows * step
    if (kind == 0) put<i8, i8>(row, bytes, values, places, <i8>rows)
    else if (kind == 1) put<i16, i16>(row, bytes, values, places, <i16>rows)
    else if (kind == 2) put<i32, i32>(row, bytes, values, places, rows)
    else if (kind == 3) put<i64, i64>(row, bytes, values, places, rows)
    else if (kind == 4) put<f32, i32>(row, bytes, values, places, rows)
    else put<f64, i64>(row, bytes, values, places, rows)
  }
}

/** Writes a row number to the positions of the columns whose value occurs in it. */
function put<T, I>(src: usize, bytes: u32, values: usize, places: usize, row: I): void {
  const number = v128.splat<I>(row)
  for (let at: usize = 0; at < bytes; at += 16) {
    if (at > bytes - 16) at = bytes - 16
    const x = v128.load(src + at)
    const value = v128.load(values + at)
    let equal = v128.eq<T>(x, value)
    if (isFloat<T>()) equal = v128.or(equal, v128.and(v128.ne<T>(x, x), v128.ne<T>(value, value)))
    v128.store(places + at, v128.bitselect(number, v128.load(places + at), equal))
  }
}
