import {
  type DType,
  elementBytes,
  type FixedDType,
  isBigInt,
  isFixed,
  isFloat,
  isNumeric,
  type NumericDType,
  readElement,
  type ScalarOf,
  toElement,
} from '../../core/dtype.ts'
import { HyperslabError, isHyperslabError } from '../../core/errors.ts'
import { quoted } from '../../core/quoted.ts'
import { type Element, missingElements } from '../missing.ts'
import type { BlockSource, PartStats } from '../source.ts'
import type { Convert } from './converted.ts'
import { elementwise } from './elementwise.ts'

/**
 * Converts an array to another data type. Conversion to integers truncates fractions; conversion to bool maps
 * non-zero values to true. The result is writable if the type represents all values of the source, with such
 * values. Missing elements are those whose values equal the converted missing values.
 * @throws UnsupportedError between strings, binaries or timestamps and other types; when read,
 *   InvalidArgumentError for an element that is out of the range of the type, missing or not, and for one
 *   that would become equal to a missing value
 */
export function astype<D extends DType>(source: BlockSource, dtype: D): BlockSource<D> {
  const from = source.dtype
  if (from === (dtype as DType)) return source as BlockSource as BlockSource<D>
  const castable = (each: DType): boolean => typeof each === 'string' && isFixed(each) && each !== 'timestamp_ns'
  if (!castable(from) || !castable(dtype))
    throw new HyperslabError(
      'UnsupportedError',
      `${from} values do not become ${typeof dtype === 'string' ? dtype : quoted(dtype)}`,
      { actual: dtype, expected: from },
    )
  const forth = casting(from, dtype)
  // Values that the type cannot represent are rejected when they are read.
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
  if (!exact) return elementwise(source, kind, { forth, treatment: 'distinguish' })
  const end = (value: number | bigint | undefined) =>
    value === undefined ? undefined : (forth(value as never) as number | bigint)
  // If all values stay the same, so do their statistics.
  const statsOf = ({ min, max, ...counts }: PartStats): PartStats => ({ min: end(min), max: end(max), ...counts })
  return elementwise(source, kind, { forth, back: casting(dtype, from, true), statsOf })
}

/** Whether a type represents each value of another. */
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

/** @param exact whether fractions are rejected instead of truncated */
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

/**
 * Returns the data type that represents the values of all given types, by numpy's rules: the larger of two
 * types of a kind, or a signed integer with room for an unsigned one. It is `float64` if there is no such
 * integer, or if an integer is too wide for `float32`.
 * @throws InvalidArgumentError if one of several different types is neither numeric nor `bool`
 */
export function promote(dtypes: readonly DType[]): DType {
  return dtypes.reduce((a, b) => {
    if (a === b || b === 'bool') return checked(a, b)
    return a === 'bool' ? checked(b, a) : promoteNumbers(checked(a, b), checked(b, a))
  })
}

function promoteNumbers(a: NumericDType, b: NumericDType): NumericDType {
  const [small, large] = elementBytes(a) <= elementBytes(b) ? [a, b] : [b, a]
  if (isFloat(a) || isFloat(b)) {
    const integer = isFloat(a) ? (isFloat(b) ? undefined : b) : a
    const exact = integer === undefined ? large === 'float32' : elementBytes(integer) <= 2 && ![a, b].includes('float64')
    return exact ? 'float32' : 'float64'
  }
  const unsigned = (dtype: NumericDType): boolean => dtype.startsWith('uint')
  if (unsigned(a) === unsigned(b)) return large
  if (!unsigned(large) && elementBytes(small) < elementBytes(large)) return large
  const bits = 16 * elementBytes(unsigned(a) ? a : b)
  return bits > 64 ? 'float64' : (`int${bits}` as NumericDType)
}

/** @throws InvalidArgumentError for a type that is not numeric, next to another type */
function checked(dtype: DType, other: DType): NumericDType {
  if (dtype === other || isNumeric(dtype)) return dtype as NumericDType
  throw new HyperslabError('InvalidArgumentError', `there is no data type for values of ${dtype} and of ${other}`, {
    actual: [dtype, other],
  })
}
