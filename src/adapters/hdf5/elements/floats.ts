import { refuse } from '../cursor.ts'
import type { FloatBits } from '../messages/datatype.ts'
import type { ValueConversion } from './conversion.ts'
import { readBits } from './integers.ts'

type FloatType = FloatBits & { readonly size: number }

/** Whether a type is float32 or float64 of IEEE, in either byte order. */
export function isNativeFloat(type: FloatType): boolean {
  const { size, offset, precision, signAt, exponentAt, exponentBits, mantissaAt, mantissaBits, bias, normalisation } = type
  if ((size !== 4 && size !== 8) || type.isVax) return false
  const [mantissa, exponent] = size === 4 ? [23, 8] : [52, 11]
  return (
    offset === 0 &&
    precision === 8 * size &&
    signAt === precision - 1 &&
    exponentAt === mantissa &&
    exponentBits === exponent &&
    mantissaAt === 0 &&
    mantissaBits === mantissa &&
    bias === 2 ** (exponent - 1) - 1 &&
    normalisation === 2
  )
}

/** Types that floats are converted to, with the smallest and largest exponent of their bits. */
const TARGETS = [
  { dtype: 'float32', mantissa: 23, least: -149, most: 127 },
  { dtype: 'float64', mantissa: 52, least: -1074, most: 1023 },
] as const

/**
 * Returns the conversion of floats of another form, to the smaller type that holds all their values.
 * @throws UnsupportedError if no type does
 */
export function floatConversion(type: FloatType): { readonly dtype: 'float32' | 'float64'; readonly convert: ValueConversion } {
  const { size, mantissaBits, exponentBits, bias, normalisation, isVax, offset, precision } = type
  if (isVax) refuse('floats of the VAX are not read here')
  if (size > 8) refuse(`floats of ${8 * size} bits are not read here, at most of 64`, size)
  const least = 1 - bias - mantissaBits
  const most = 2 ** exponentBits - 2 - bias
  const target = TARGETS.find((each) => mantissaBits <= each.mantissa && least >= each.least && most <= each.most)
  if (target === undefined || normalisation !== 2 || exponentBits < 1 || offset + precision > 64)
    return refuse(
      `floats of ${exponentBits} bits of exponent and ${mantissaBits} of mantissa have values that float64 does not have`,
    )
  const { dtype } = target
  return {
    dtype,
    convert: (stored, count) => {
      const data = dtype === 'float32' ? new Float32Array(count) : new Float64Array(count)
      for (let i = 0; i < count; i++) data[i] = toNumber(readBits(stored, i * size, size, type.isBigEndian), type)
      return new Uint8Array(data.buffer)
    },
  }
}

function toNumber(bits: bigint, { signAt, exponentAt, exponentBits, mantissaAt, mantissaBits, bias }: FloatType): number {
  const part = (at: number, width: number): number => Number(BigInt.asUintN(width, bits >> BigInt(at)))
  const sign = part(signAt, 1) === 1 ? -1 : 1
  const exponent = part(exponentAt, exponentBits)
  const fraction = part(mantissaAt, mantissaBits) / 2 ** mantissaBits
  if (exponent === 2 ** exponentBits - 1) return fraction === 0 ? sign * Infinity : Number.NaN
  if (exponent === 0) return sign * fraction * 2 ** (1 - bias)
  return sign * (1 + fraction) * 2 ** (exponent - bias)
}
