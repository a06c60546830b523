import { type DType, elementBytes, isFloat, isNumeric, type NumericDType } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'

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
