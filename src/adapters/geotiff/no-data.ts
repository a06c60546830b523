import { type Missing, NOTHING } from '../../array/missing.ts'
import { type DType, elementBytes, type FixedDType, isFloat } from '../../core/dtype.ts'

/** Value of missing elements, and the rule that finds them. */
export interface NoData {
  readonly value: number | bigint | undefined
  readonly missing: Missing
}

const NONE: NoData = { value: undefined, missing: NOTHING }

/**
 * Returns the missing value of an image from GDAL's text. A value that no element of the type can have is
 * ignored.
 */
export function noData(text: string | undefined, dtype: FixedDType): NoData {
  const trimmed = text?.trim() ?? ''
  if (trimmed === '') return NONE
  const value = isFloat(dtype as DType) ? parseFloating(trimmed, dtype) : parseWhole(trimmed, dtype)
  if (value === undefined) return NONE
  const nan = Number.isNaN(value)
  return { value, missing: { values: nan ? [] : [value as never], nan } }
}

function parseFloating(text: string, dtype: FixedDType): number | undefined {
  const value = /^[+-]?nan/i.test(text)
    ? Number.NaN
    : /^([+-]?)inf/i.test(text)
      ? text.startsWith('-')
        ? -Infinity
        : Infinity
      : Number(text)
  if (Number.isNaN(value) && !/nan/i.test(text)) return undefined
  return dtype === 'float32' ? Math.fround(value) : value
}

function parseWhole(text: string, dtype: FixedDType): number | bigint | undefined {
  if (dtype === 'bool') return undefined
  const bits = 8 * elementBytes(dtype)
  const number = Number(text)
  // Text such as `-9.999e3` is a number, too.
  const value = /^[+-]?\d+$/.test(text) ? BigInt(text.replace('+', '')) : Number.isInteger(number) ? BigInt(number) : undefined
  if (value === undefined) return undefined
  const fits = dtype.startsWith('u') ? BigInt.asUintN(bits, value) === value : BigInt.asIntN(bits, value) === value
  if (!fits) return undefined
  return bits === 64 ? value : Number(value)
}
