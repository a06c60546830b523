import { type DataOf, DTYPES, type DType, isFloat, readElement, type ScalarOf, toElement } from '../../core/dtype.ts'
import { invalidArgument } from '../../core/errors.ts'
import { type Checks, checkOptions, checkValue } from '../../core/options.ts'
import { isAnyMissing, missingElement, missingElements, NOT_A_NUMBER, NOTHING } from '../missing.ts'
import type { BlockSource } from '../source.ts'
import type { Kind } from './derive.ts'
import { elementwise } from './elementwise.ts'

/** Options of `map`. */
export interface MapOptions<D extends DType, E extends DType> {
  /** Data type of the results; by default that of the array. */
  readonly dtype?: E
  /**
   * Result for missing elements; results equal to it are missing. The default is NaN for floats, and the
   * missing value of the array if the type stays the same.
   */
  readonly fillValue?: ScalarOf<E>
  /**
   * Whether missing elements stay missing and are not passed to the function; default true. If false, results
   * are missing only if they equal `fillValue`.
   */
  readonly keepMissing?: boolean
  /** Converts a result back to an element, so that the array is writable. */
  readonly inverse?: (value: ScalarOf<E>) => ScalarOf<D>
}

const CHECKS: Checks<MapOptions<DType, DType>> = {
  dtype: DTYPES,
  fillValue: 'value',
  keepMissing: 'boolean',
  inverse: 'function',
}

/**
 * Applies a function to each element; missing elements stay missing.
 * @throws InvalidArgumentError if there is no value for missing elements; when read, for results that are
 *   not values of the data type
 */
export function map<D extends DType, E extends DType = D>(
  source: BlockSource<D>,
  fn: (value: ScalarOf<D>) => ScalarOf<E>,
  options: MapOptions<D, E> = {},
): BlockSource<E> {
  checkValue('map', 'fn', fn, 'function')
  checkOptions('map', options, CHECKS)
  const { dtype, fillValue, inverse, keepMissing = true } = options
  const to = dtype ?? (source.dtype as DType as E)
  const kind = computed(to, fillValue, keepMissing ? [source] : [])
  const back = inverse && applying(to, source.dtype, inverse)
  const forth = applying(source.dtype, to, fn)
  return elementwise(source, kind, { forth, back, treatment: keepMissing ? 'spare' : 'convert' })
}

/**
 * Returns the facts of results computed from the elements of sources. If an input is missing, so is the
 * result. Missing results have the given fill value, NaN for floats, or the missing value of a source of the
 * same type.
 * @throws InvalidArgumentError if there is no such value
 */
export function computed<D extends DType>(
  dtype: D,
  fillValue: ScalarOf<D> | undefined,
  sources: readonly BlockSource[],
): Kind<D> {
  if (fillValue !== undefined) return { dtype, fillValue }
  const missing = sources.filter((source) => isAnyMissing(missingElements(source)))
  if (missing.length === 0) return { dtype, missing: NOTHING }
  if (isFloat(dtype)) return { dtype, fillValue: Number.NaN as ScalarOf<D>, missing: NOT_A_NUMBER }
  const alike = missing.find((source) => source.dtype === dtype)
  if (alike !== undefined) {
    const value = missingElement(missingElements(alike))
    return { dtype, fillValue: readElement(dtype, [value] as unknown as DataOf<D>, 0) }
  }
  return invalidArgument(`there is no ${dtype} for missing elements: give a \`fillValue\``, dtype)
}

/** Wraps a function of values as a function of stored elements. */
const applying = <D extends DType, E extends DType>(from: D, to: E, fn: (value: ScalarOf<D>) => ScalarOf<E>) =>
  from === 'bool'
    ? (element: number) => toElement(to, (fn as (value: boolean) => unknown)(element !== 0))
    : (element: ScalarOf<D>) => toElement(to, fn(element))
