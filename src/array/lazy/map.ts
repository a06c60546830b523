import { DTYPES, type DType, type ScalarOf, toElement } from '../../core/dtype.js'
import { type Checks, checkOptions, checkValue } from '../../core/options.js'
import type { BlockSource } from '../source.js'
import { elementwise } from './elementwise.js'

export interface MapOptions<D extends DType, E extends DType> {
  /** Data type of the results; that of the array when left out. */
  readonly dtype?: E
  /** What stands for "nothing here" among the results. */
  readonly fillValue?: ScalarOf<E>
  /** From a result back to an element, so that the array can be written. */
  readonly inverse?: (value: ScalarOf<E>) => ScalarOf<D>
}

const CHECKS: Checks<MapOptions<DType, DType>> = { dtype: DTYPES, fillValue: 'value', inverse: 'function' }

/** A function of each element. Results that are not values of the data type are an InvalidArgumentError when they are read. */
export function map<D extends DType, E extends DType = D>(
  source: BlockSource<D>,
  fn: (value: ScalarOf<D>) => ScalarOf<E>,
  options: MapOptions<D, E> = {},
): BlockSource<E> {
  checkValue('map', 'fn', fn, 'function')
  checkOptions('map', options, CHECKS)
  const { dtype, fillValue, inverse } = options
  const to = dtype ?? (source.dtype as DType as E)
  const back = inverse && applying(to, source.dtype, inverse)
  return elementwise(source, to, fillValue, applying(source.dtype, to, fn), back)
}

/** A function of values as one of elements as they are stored. */
export const applying = <D extends DType, E extends DType>(from: D, to: E, fn: (value: ScalarOf<D>) => ScalarOf<E>) =>
  from === 'bool'
    ? (element: number) => toElement(to, (fn as (value: boolean) => unknown)(element !== 0))
    : (element: ScalarOf<D>) => toElement(to, fn(element))
