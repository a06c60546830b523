import { type DataOf, DTYPES, type DType, isFloat, readElement, type ScalarOf, toElement } from '../../core/dtype.ts'
import { invalidArgument } from '../../core/errors.ts'
import { type Checks, checkOptions, checkValue } from '../../core/options.ts'
import { isAnyMissing, missingElement, missingElements, NOT_A_NUMBER, NOTHING } from '../missing.ts'
import type { BlockSource } from '../source.ts'
import type { Kind } from './derive.ts'
import { elementwise } from './elementwise.ts'

/** Options of `map`. */
export interface MapOptions<D extends DType, E extends DType> {
  /** Data type of the results; that of the array when left out. */
  readonly dtype?: E
  /**
   * The result for missing elements; results that equal it are missing. When left out it is NaN for floats,
   * and the missing value of the array where the type stays the same.
   */
  readonly fillValue?: ScalarOf<E>
  /**
   * Spare the function missing elements; true when left out. Given all of them, no result is missing but by
   * `fillValue`.
   */
  readonly skipMissing?: boolean
  /** Leads from a result back to an element, so that the array can be written. */
  readonly inverse?: (value: ScalarOf<E>) => ScalarOf<D>
}

const CHECKS: Checks<MapOptions<DType, DType>> = {
  dtype: DTYPES,
  fillValue: 'value',
  skipMissing: 'boolean',
  inverse: 'function',
}

/**
 * A function of each element; missing ones stay missing.
 * @throws InvalidArgumentError when there is no value for missing elements; reading, for results that are not
 *   values of the data type
 */
export function map<D extends DType, E extends DType = D>(
  source: BlockSource<D>,
  fn: (value: ScalarOf<D>) => ScalarOf<E>,
  options: MapOptions<D, E> = {},
): BlockSource<E> {
  checkValue('map', 'fn', fn, 'function')
  checkOptions('map', options, CHECKS)
  const { dtype, fillValue, inverse, skipMissing = true } = options
  const to = dtype ?? (source.dtype as DType as E)
  const kind = computed(to, fillValue, skipMissing ? [source] : [])
  const back = inverse && applying(to, source.dtype, inverse)
  const forth = applying(source.dtype, to, fn)
  return elementwise(source, kind, { forth, back, treatment: skipMissing ? 'spare' : 'convert' })
}

/**
 * What is made of the elements of sources. Where one of them is missing, the result is: it is the fill value
 * that was given, NaN where results are floats, or the missing value of a source of the same type.
 * @throws InvalidArgumentError when there is no such value
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

/** A function of values as one of elements as they are stored. */
const applying = <D extends DType, E extends DType>(from: D, to: E, fn: (value: ScalarOf<D>) => ScalarOf<E>) =>
  from === 'bool'
    ? (element: number) => toElement(to, (fn as (value: boolean) => unknown)(element !== 0))
    : (element: ScalarOf<D>) => toElement(to, fn(element))
