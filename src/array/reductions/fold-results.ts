import { allocate, type DType, type FixedDType, isFloat, type TypedArray } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { Skipped } from './rows.ts'

/**
 * What the minimum of nothing is along axes where elements were skipped: NaN of floats, of others the missing
 * value.
 */
export function emptyExtreme(dtype: DType, { fill, nan }: Skipped): unknown {
  return nan || (fill !== undefined && isFloat(dtype)) ? Number.NaN : fill
}

export const emptyReduction = (what: string): HyperslabError =>
  new HyperslabError('EmptyReductionError', `there is no element to take the ${what} of`, { actual: 0 })

/** @throws OverflowError when an exact result does not fit its type */
export function checkFits(what: string, value: bigint, dtype: FixedDType): bigint {
  const fits = dtype === 'uint64' ? BigInt.asUintN(64, value) === value : BigInt.asIntN(64, value) === value
  if (fits) return value
  throw new HyperslabError('OverflowError', `the ${what} ${value} does not fit ${dtype}`, { actual: value, expected: dtype })
}

/** A typed array of what cells hold. */
export function cellsAs<D extends FixedDType>(dtype: D, values: ArrayLike<unknown>): TypedArray {
  const data = allocate(dtype, values.length) as TypedArray
  for (let i = 0; i < values.length; i++) data[i] = values[i] as never
  return data
}
