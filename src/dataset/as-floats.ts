import { DiskArray } from '../array/disk-array.ts'
import { scaledSource } from '../array/lazy/scaled.ts'
import { isAnyMissing, missingElements } from '../array/missing.ts'
import { isBigInt, isFloat } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'

/**
 * The numbers of an array as floats to compute with, lazily: NaN where they are missing, float32 where they
 * are.
 * @throws reading, OverflowError for integers of 64 bits that no float holds
 */
export function asFloats(array: DiskArray): DiskArray {
  const { source, dtype } = array
  const missing = missingElements(source)
  if (isFloat(dtype) && missing.values.length === 0) return array
  if (isBigInt(dtype)) return exactly(array as DiskArray<'int64'>, new Set(missing.values))
  if (!isFloat(dtype) && !isAnyMissing(missing)) return array.astype('float64') as DiskArray
  return new DiskArray(scaledSource(source, { dtype: dtype === 'float32' ? dtype : 'float64' }))
}

function exactly(array: DiskArray<'int64'>, missing: ReadonlySet<unknown>): DiskArray {
  const convert = (value: bigint): number => {
    if (missing.has(value)) return Number.NaN
    if (BigInt(Number(value)) === value) return Number(value)
    throw new HyperslabError('OverflowError', `no float is exactly ${value}`, { ...array.source.label, actual: value })
  }
  return array.map<'float64'>(convert, { dtype: 'float64' }) as DiskArray
}

/**
 * 1 in place of each value, NaN where none is: arrays, their groups and windows count what is not 0, and
 * zeros are values, too.
 */
export const presence = (array: DiskArray): DiskArray =>
  array.map<'float64'>((value) => (Number.isNaN(value) ? Number.NaN : 1), { dtype: 'float64' }) as DiskArray
