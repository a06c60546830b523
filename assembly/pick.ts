/**
 * Copies by tables of positions: elements, or runs of bytes, in any order.
 *
 * Contract: `bytes` bytes are copied from `src` to `dst` for each of `m` rows and each of `n` columns. Both
 * addresses are displaced by the offsets of the row and of the column. Offsets wrap modulo 2^32, so they may
 * be negative; the operands do not overlap. Nothing but those bytes is written, and no others are read.
 *
 *     table, of rows and of columns: i32 from | i32 to, in bytes, for each
 *
 * Why it is fast: tables are filled once and serve all rows; a column costs three loads and a store, whatever
 * its positions. Long runs are copied like other rows of bytes.
 */
import { copyRows } from './copy-rows'

export function pick(bytes: u32, src: usize, dst: usize, rows: usize, m: u32, columns: usize, n: u32): void {
  const last = columns + (<usize>n << 3)
  for (; m > 0; m--, rows += 8) {
    const from = src + load<u32>(rows)
    const to = dst + load<u32>(rows, 4)
    if (bytes == 1) pickRow<u8>(from, to, columns, last)
    else if (bytes == 2) pickRow<u16>(from, to, columns, last)
    else if (bytes == 4) pickRow<u32>(from, to, columns, last)
    else if (bytes == 8) pickRow<u64>(from, to, columns, last)
    else for (let at = columns; at < last; at += 8) copyRows(from + load<u32>(at), 0, to + load<u32>(at, 4), 0, bytes, 1)
  }
}

// @ts-ignore: decorator
@inline
function pickRow<T>(src: usize, dst: usize, columns: usize, last: usize): void {
  for (; columns < last; columns += 8) store<T>(dst + load<u32>(columns, 4), load<T>(src + load<u32>(columns)))
}
