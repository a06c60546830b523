import { type DType, elementBytes, isBigInt, type NumericDType, toElement } from '../../core/dtype.ts'
import { isHyperslabError } from '../../core/errors.ts'

/**
 * Returns the sign that NetCDF's `_Unsigned` gives integers, in any spelling of true and false. Returns
 * undefined if their type has this sign already, and null for other values of the attribute.
 */
export function parseSign(dtype: DType, given: unknown): 'signed' | 'unsigned' | undefined | null {
  const text = String(given ?? '').trim().toLowerCase() // biome-ignore format: one line
  const word = text.replaceAll('\0', '')
  if (given !== undefined && word !== 'true' && word !== 'false') return null
  if (word === 'true' && /^int/.test(dtype)) return 'unsigned'
  return word === 'false' && /^uint/.test(dtype) ? 'signed' : undefined
}

/** Returns the value whose bits an integer of the other sign has. Integers of 64 bits stay exact. */
export function restoreSign(value: number | bigint, bits: number, sign: 'signed' | 'unsigned'): number | bigint {
  const isBeyond = sign === 'unsigned' ? value < 0 : value >= 2 ** (bits - 1)
  if (!isBeyond || !Number.isFinite(Number(value))) return value
  const wrap = sign === 'unsigned' ? 2 ** bits : -(2 ** bits)
  if (typeof value === 'bigint') return value + BigInt(wrap)
  return bits === 64 && Number.isInteger(value) ? BigInt(value) + BigInt(wrap) : value + wrap
}

/** Converts a value to an element. If the values have the other sign, the element has the same bits. */
export function elementOfSign(dtype: NumericDType, value: number | bigint, hasOtherSign: boolean): number | bigint {
  const bits = 8 * elementBytes(dtype)
  const isUnsigned = dtype.startsWith('uint')
  const isOther = isUnsigned ? value < 0 && value >= -(2 ** (bits - 1)) : value >= 2 ** (bits - 1) && value < 2 ** bits
  if (!hasOtherSign || !isOther) return toElement(dtype, value) as number | bigint
  const own = restoreSign(value, bits, isUnsigned ? 'unsigned' : 'signed')
  return toElement(dtype, isBigInt(dtype) ? own : Number(own)) as number | bigint
}

/** Converts as {@link elementOfSign}; returns undefined if no element equals the value. */
export function elementIn(dtype: NumericDType, value: number | bigint, hasOtherSign: boolean): number | bigint | undefined {
  try {
    return elementOfSign(dtype, value, hasOtherSign)
  } catch (error) {
    if (isHyperslabError(error, 'InvalidArgumentError')) return undefined
    throw error
  }
}
