import { type DataOf, type DType, elementBytes, type FixedDType, fromBytes, isFixed } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'

/** @throws FormatError if a chunk of a fixed-width type has an unexpected number of bytes */
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
 * Decodes the `count` elements of a chunk of a fixed-width type. Its payload contains them in C order,
 * little-endian.
 * @throws FormatError if the bytes do not contain exactly that many elements
 */
export function decodeFixed<D extends FixedDType>(dtype: D, bytes: Uint8Array, count: number): DataOf<D> {
  checkChunkBytes(dtype, bytes.length, count)
  return fromBytes(dtype, bytes)
}
