import { elementBytes, type FixedDType } from '../core/dtype.ts'
import type { Arena } from './arena.ts'
import { compute } from './compute.ts'
import { typeCode } from './reduce.ts'

/**
 * Returns the index of the first of `count` contiguous elements at `src` that equals a value; `count` or more
 * if there is none. -0 equals 0.
 * @param value address of the value
 * @param nan whether the value is NaN
 */
export function find(arena: Arena, dtype: FixedDType, value: number, nan: boolean, src: number, count: number): number {
  const bytes = elementBytes(dtype)
  return (compute(arena).find(typeCode(dtype), value, nan, src, count * bytes) >>> 0) / bytes
}

/** Least number of bytes in a row for {@link firstRows}. */
export const LEAST_ROW_BYTES = 16

/**
 * Returns, for each column of a dense table in kernel memory, the first row that contains the column's value;
 * -1 if there is none. NaN equals NaN, and -0 equals 0.
 * @param columns elements in a row: at least {@link LEAST_ROW_BYTES} bytes
 * @param values address of one value per column
 */
export function firstRows(
  arena: Arena,
  dtype: FixedDType,
  src: number,
  rows: number,
  columns: number,
  values: number,
): Float64Array {
  const size = elementBytes(dtype)
  // The largest number of each size means "no row"; of 64 bits, the low half decides.
  const none = 2 ** Math.min(8 * size, 32) - 1
  const [type, width] =
    size === 1 ? (['uint8', 1] as const) : size === 2 ? (['uint16', 1] as const) : (['uint32', size / 4] as const)
  const bytes = columns * size
  const first = new Float64Array(columns).fill(-1)
  arena.scratch(() => {
    const places = arena.alloc(bytes)
    for (let start = 0; start < rows; start += none) {
      arena.bytes(places, bytes).fill(0xff)
      compute(arena).firstRows(typeCode(dtype), src + start * bytes, bytes, Math.min(none, rows - start), bytes, values, places)
      const found = arena.view(type, places, width * columns)
      for (let i = 0, at = 0; i < columns; i++, at += width) {
        if (first[i]! < 0 && found[at] !== none) first[i] = start + found[at]!
      }
    }
  })
  return first
}
