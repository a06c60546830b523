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
  const castable = (each: DType): boolean => typeof each === 'string' && isFixed(each) && each !== 'timestamp_ns'
  if (!castable(from) || !castable(dtype))
    throw new HyperslabError(
      'UnsupportedError',
      `${from} values do not become ${typeof dtype === 'string' ? dtype : quoted(dtype)}`,
      { actual: dtype, expected: from },
    )
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
  if (!exact) return elementwise(source, kind, { forth, treatment: 'distinguish' })
  const end = (value: number | bigint | undefined) =>
    value === undefined ? undefined : (forth(value as never) as number | bigint)
  // Where every value stays what it is, so does what is known of them.
  const statsOf = ({ min, max, ...counts }: PartStats): PartStats => ({ min: end(min), max: end(max), ...counts })
  return elementwise(source, kind, { forth, back: casting(dtype, from, true), statsOf })
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

/**
 * The data type that holds the values of all given ones, by numpy's rules: the larger of two of a kind, a
 * signed integer with room for an unsigned one, `float64` where there is no such integer or the integer is
 * too wide for `float32`.
 * @throws InvalidArgumentError when one of several different types is not a number nor `bool`
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

/** `bool` beside nothing else stays what it is. */
function checked(dtype: DType, other: DType): NumericDType {
  if (dtype === other || isNumeric(dtype)) return dtype as NumericDType
  throw new HyperslabError('InvalidArgumentError', `there is no data type for values of ${dtype} and of ${other}`, {
    actual: [dtype, other],
  })
}
