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

function parseFloating(text: string, dtype: FixedDType): number {
  const value = toGdalNumber(text)
  return dtype === 'float32' ? Math.fround(value) : value
}

/**
 * Returns the number that a text begins with, as GDAL reads it: in decimal digits with a point or a comma; 0
 * if it begins with no number.
 */
export function toGdalNumber(text: string): number {
  const trimmed = text.trim()
  if (/^(\+?nan|-?1\.#(ind|qnan|snan).*)$/i.test(trimmed)) return Number.NaN
  const infinite = /^([+-]?)(inf|1\.#inf.*)$/i.exec(trimmed) ?? /^([+-]?)Infinity$/.exec(trimmed)
  if (infinite !== null) return infinite[1] === '-' ? -Infinity : Infinity
  const [number = '0'] = /^[+-]?(\d+[.,]?\d*|[.,]\d+)(e[+-]?\d+)?/i.exec(trimmed) ?? []
  return Number(number.replace(',', '.'))
}

function parseWhole(text: string, dtype: FixedDType): number | bigint | undefined {
  if (dtype === 'bool') return undefined
  const bits = 8 * elementBytes(dtype)
  // Text such as `-9.999e3` is a number, too.
  const number = toGdalNumber(text)
  const value = /^[+-]?\d+$/.test(text) ? BigInt(text.replace('+', '')) : Number.isInteger(number) ? BigInt(number) : undefined
  if (value === undefined) return undefined
  const fits = dtype.startsWith('u') ? BigInt.asUintN(bits, value) === value : BigInt.asIntN(bits, value) === value
  if (!fits) return undefined
  return bits === 64 ? value : Number(value)
}
