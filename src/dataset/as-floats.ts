import { DiskArray } from '../array/disk-array.ts'
import { elementwise } from '../array/lazy/elementwise.ts'
import { isAnyMissing, missingElements, NOT_A_NUMBER, NOTHING } from '../array/missing.ts'
import { isFloat, isNumeric } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import { lazily } from '../core/lazily.ts'

/**
 * The numbers of an array as floats to compute with, lazily: NaN where they are missing, float32 where they
 * are.
 * @param name of the variable, for errors
 * @throws UnsupportedError for what is no number; reading, OverflowError for integers of 64 bits that no
 *   float holds
 */
export function asFloats(array: DiskArray, name = array.source.label?.array): DiskArray {
  const { source, dtype } = array
  if (!isNumeric(dtype) && dtype !== 'bool')
    throw new HyperslabError('UnsupportedError', `there is no arithmetic of ${dtype} values`, {
      ...source.label,
      ...(name !== undefined && { array: name }),
      actual: dtype,
    })
  const missing = missingElements(source)
  if (isFloat(dtype) && missing.values.length === 0) return array
  const kind = {
    dtype: dtype === 'float32' ? dtype : 'float64',
    fillValue: Number.NaN,
    missing: isAnyMissing(missing) ? NOT_A_NUMBER : NOTHING,
  } as const
  const load = lazily(async () => (await import('./to-floats.ts')).toFloats(source, kind.dtype))
  return new DiskArray(elementwise(source, kind, { load, back: false })) as DiskArray
}

/**
 * 1 in place of each value, NaN where none is: arrays, their groups and windows count what is not 0, and
 * zeros are values, too.
 */
export const presence = (array: DiskArray): DiskArray =>
  array.map<'float64'>((value) => (Number.isNaN(value) ? Number.NaN : 1), { dtype: 'float64' }) as DiskArray
