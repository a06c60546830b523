import { DiskArray } from '../array/disk-array.ts'
import { elementwise } from '../array/lazy/elementwise.ts'
import { isAnyMissing, missingElements, NOT_A_NUMBER, NOTHING } from '../array/missing.ts'
import { isFloat, isNumeric } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import { lazily } from '../core/lazily.ts'

/**
 * Returns the numbers of an array as floats for computing, lazily. Missing values become NaN. float32 stays
 * float32.
 * @param name name of the variable, for errors
 * @throws UnsupportedError for values that are not numbers; when read, OverflowError for 64-bit integers that
 *   no float represents
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
  const load = lazily(async () => (await import('./float-conversion.ts')).toFloats(source, kind.dtype))
  return new DiskArray(elementwise(source, kind, { load, back: false })) as DiskArray
}

/**
 * Returns 1 for each value and NaN for each missing one. Groups and windows reduce numbers alone, so this
 * counts text, too.
 */
export const presence = (array: DiskArray): DiskArray =>
  array.map<'float64'>((value) => (Number.isNaN(value) ? Number.NaN : 1), { dtype: 'float64' }) as DiskArray
