import { checkSize } from '../../codec/bounds.ts'
import { allocate, type DType, type FixedDType, fillElement, isFixed, type TypedArray, toBytes } from '../../core/dtype.ts'
import type { FillValues } from './metadata.ts'

/**
 * Returns the bytes of an unwritten chunk, full of one value, in the form of `engine/chunk-values.ts`.
 * @throws CodecError if values of variable length take more than `mostBytes`
 */
export function absentChunk(dtype: DType, { fillValue }: FillValues, count: number, mostBytes: number): Uint8Array {
  const fill = fillElement(dtype, fillValue)
  if (isFixed(dtype)) return toBytes((allocate(dtype as FixedDType, count) as TypedArray).fill(fill as never))
  const value = typeof fill === 'string' ? new TextEncoder().encode(fill) : (fill as Uint8Array)
  const head = 4 * (count + 1)
  checkSize('absent chunk', head + count * value.length, undefined, mostBytes)
  const bytes = new Uint8Array(head + count * value.length)
  const offsets = new DataView(bytes.buffer, 0, head)
  for (let i = 0; i <= count; i++) offsets.setUint32(4 * i, i * value.length, true)
  for (let i = 0; i < count; i++) bytes.set(value, head + i * value.length)
  return bytes
}
