import { checkSize } from '../../codec/bounds.ts'
import {
  allocate,
  type DType,
  type FixedDType,
  fillElement,
  isFixed,
  type ScalarOf,
  type TypedArray,
  toBytes,
} from '../../core/dtype.ts'

/**
 * Returns the bytes of an unwritten chunk, full of some values in turn, in the form of
 * `engine/chunk-values.ts`.
 * @param fillValues one value, or the values of a stored element, whose number divides `count`
 * @throws CodecError if values of variable length take more than `mostBytes`
 */
export function absentChunk(
  dtype: DType,
  fillValues: readonly (ScalarOf<DType> | undefined)[],
  count: number,
  mostBytes: number,
): Uint8Array {
  const fills = fillValues.map((value) => fillElement(dtype, value))
  const { length } = fills
  if (isFixed(dtype)) {
    const data = (allocate(dtype as FixedDType, count) as TypedArray).fill(fills[0] as never)
    if (length > 1) for (let i = 0; i < count; i++) data[i] = fills[i % length] as never
    return toBytes(data)
  }
  const values = fills.map((fill) => (typeof fill === 'string' ? new TextEncoder().encode(fill) : (fill as Uint8Array)))
  const head = 4 * (count + 1)
  const size = head + (count / length) * values.reduce((sum, value) => sum + value.length, 0)
  checkSize('absent chunk', size, undefined, mostBytes)
  const bytes = new Uint8Array(size)
  const offsets = new DataView(bytes.buffer, 0, head)
  for (let i = 0, end = head; i < count; i++) {
    const value = values[i % length]!
    bytes.set(value, end)
    end += value.length
    offsets.setUint32(4 * (i + 1), end - head, true)
  }
  return bytes
}
