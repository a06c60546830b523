import {
  type DType,
  elementBytes,
  type FixedDType,
  isBigInt,
  isFixed,
  isFloat,
  readElement,
  type ScalarOf,
  toElement,
} from '../../core/dtype.ts'
import { HyperslabError, isHyperslabError } from '../../core/errors.ts'
import { type Element, missingElements } from '../missing.ts'
import type { BlockSource } from '../source.ts'
import { type Convert, elementwise } from './elementwise.ts'

/**
 * An array with its elements as another data type: fractions are cut off towards integers, what is not 0 is
 * true. It can be written where the type holds all values of the one below, with values of that. Missing
 * elements are those whose values have become the missing ones.
 * @throws UnsupportedError between strings, binaries or timestamps and others; reading, InvalidArgumentError
 *   for an element that is out of the range of the type, missing or not, and for one that would become equal
 *   to a missing one
 */
export function astype<D extends DType>(source: BlockSource, dtype: D): BlockSource<D> {
  const from = source.dtype
  if (from === (dtype as DType)) return source as BlockSource as BlockSource<D>
  const castable = (each: DType): boolean => isFixed(each) && each !== 'timestamp_ns'
  if (!castable(from) || !castable(dtype))
    throw new HyperslabError('UnsupportedError', `${from} values do not become ${dtype}`, { actual: dtype, expected: from })
  const forth = casting(from, dtype)
  // Values that the type cannot hold are refused where they are read.
  const cast = (element: Element): readonly ScalarOf<D>[] => {
    try {
      return [readElement(dtype, [toElement(dtype, forth(element as never))] as never, 0)]
    } catch (error) {
      if (isHyperslabError(error, 'InvalidArgumentError')) return []
      throw error
    }
  }
  const { values, nan } = missingElements(source)
  const kind = {
    dtype,
    fillValue: [source.fillValue].flatMap((fill) => (fill === undefined ? [] : cast(toElement(from, fill))))[0],
    missing: { values: [...values, ...(nan ? [Number.NaN] : [])].flatMap(cast), nan: false },
  }
  const exact = holds(dtype, from)
  return elementwise(source, kind, forth, exact ? casting(dtype, from, true) : undefined, exact ? 'convert' : 'distinguish')
}

/** Whether each value of a type is one of another. */
function holds(dtype: DType, other: DType): boolean {
  const signed = (each: DType): boolean => !each.startsWith('uint') && each !== 'bool'
  const bits = (each: DType): number =>
    each === 'bool'
      ? 1
      : each === 'float64'
        ? 53
        : each === 'float32'
          ? 24
          : 8 * elementBytes(each as FixedDType) - Number(signed(each))
  return bits(dtype) >= bits(other) && (signed(dtype) || !signed(other)) && (isFloat(dtype) || !isFloat(other))
}

/** @param exact whether fractions are refused rather than cut off */
export function casting(from: DType, to: DType, exact = false): Convert {
  if (to === 'bool')
    return exact ? (value: unknown) => toElement(to, isBigInt(from) ? Number(value) : value) : (value: unknown) => (value ? 1 : 0)
  if (isFloat(to)) return isBigInt(from) ? (value: bigint) => Number(value) : (value: number) => value
  const whole = (value: number): number => (exact ? value : Math.trunc(value) + 0)
  if (isBigInt(to)) {
    return isBigInt(from)
      ? (value: bigint) => toElement(to, value)
      : (value: number) => toElement(to, Number.isFinite(value) && Number.isInteger(whole(value)) ? BigInt(whole(value)) : value)
  }
  return isBigInt(from) ? (value: bigint) => toElement(to, Number(value)) : (value: number) => toElement(to, whole(value))
}
