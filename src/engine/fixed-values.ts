import { type DataOf, type DType, elementBytes, type FixedDType, fromBytes, isFixed } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'

/** @throws FormatError when a chunk of a fixed-width type has not the bytes its elements need */
export function checkChunkBytes(dtype: DType, actual: number, count: number): void {
  if (!isFixed(dtype)) return
  const expected = count * elementBytes(dtype)
  if (actual !== expected)
    throw new HyperslabError('FormatError', `a chunk of ${count} ${dtype} has ${actual} bytes instead of ${expected}`, {
      actual,
      expected,
    })
}

/**
 * The `count` elements of a chunk of a fixed-width type: its payload holds them in C order, little-endian.
 * @throws FormatError when the bytes do not hold exactly that many elements
 */
export function decodeFixed<D extends FixedDType>(dtype: D, bytes: Uint8Array, count: number): DataOf<D> {
  checkChunkBytes(dtype, bytes.length, count)
  return fromBytes(dtype, bytes)
}
