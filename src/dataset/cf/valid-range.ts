import { restoreSign } from '../../array/lazy/signs.ts'
import { type DType, elementBytes, isFloat, isNumeric, type NumericDType } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { counted } from '../../core/inspect.ts'
import { quoted } from '../../core/quoted.ts'
import { type Attrs, attributeNumbers, type TypedValues } from '../attributes.ts'

/** Attributes that bound valid values. */
const RANGES = ['valid_range', 'valid_min', 'valid_max'] as const
type RangeName = (typeof RANGES)[number]

/** Infinities as texts, because JSON has no such numbers. */
const INFINITE = /^\s*([+-]?)inf(?:inity)?\s*$/i

/** Returns the numbers of a range; undefined if it is a text that is not an infinity. */
function boundNumbers(attrs: Attrs, key: string): (number | bigint)[] | undefined {
  const value = attrs[key]
  const parts: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (!parts.some((part) => typeof part === 'string')) return attributeNumbers(attrs, key)
  const numbers = parts.map((part) => {
    const sign = typeof part === 'string' ? INFINITE.exec(part)?.[1] : undefined
    return sign === undefined ? part : sign === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  })
  return attributeNumbers({ [key]: numbers }, key)
}

/** Valid values of a variable, as its attributes define them. */
export interface ValidRange {
  /** Lowest and highest valid packed value; undefined if nothing bounds them. */
  readonly range: readonly [number | bigint, number | bigint] | undefined
  /** Whether the range contains values that only unsigned bytes have. */
  readonly hasUnsigned: boolean
  /** Attributes that are ignored, each with the reason. */
  readonly warnings: readonly string[]
}

/** A variable whose values may be bounded. */
export interface Bounded {
  readonly name: string
  readonly dtype: NumericDType
  /** Whether it labels its dimension. All labels are valid (CF 2.5.1). */
  readonly isLabels: boolean
  readonly scale: number
  readonly offset: number
  /** Sign that `_Unsigned` gives its values, if it differs from that of their type. */
  readonly sign: 'signed' | 'unsigned' | undefined
  readonly attrs: Attrs
  readonly typed: TypedValues | undefined
}

/** Type of an attribute. JSON distinguishes integers and floats, but no widths. */
type AttributeType = NumericDType | 'integer' | 'float'

/** Types in ascending order of their range. Floats from JSON count as float64. */
const WIDTHS: readonly (readonly AttributeType[])[] = [
  ['int8', 'uint8'],
  ['int16', 'uint16'],
  ['int32', 'uint32', 'integer'],
  ['int64', 'uint64'],
  ['float32'],
  ['float64', 'float'],
]
const widthOf = (type: AttributeType): number => WIDTHS.findIndex((types) => types.includes(type))

const isFloating = (type: AttributeType): boolean => type === 'float' || (type !== 'integer' && isFloat(type))

function attributeTypeFor({ attrs, typed }: Bounded, key: string): AttributeType {
  // JSON has no widths, so the declared types of its numbers do not count.
  const told = typed?.isFloat === undefined ? typed?.typed?.(key)?.type.replace('[]', '') : undefined
  if (told !== undefined && isNumeric(told as DType)) return told as NumericDType
  const value = attrs[key]
  if (ArrayBuffer.isView(value))
    return value.constructor.name.replace('Big', '').replace('Array', '').toLowerCase() as NumericDType
  const isWhole = boundNumbers(attrs, key)!.every((each) => typeof each === 'bigint' || Number.isInteger(each))
  return typed?.isFloat?.(key) || !isWhole ? 'float' : 'integer'
}

/**
 * Returns the valid range of packed values. The range itself is packed, with one exception: if it has the
 * wider type of `scale_factor` and `add_offset`, and this is wider than the packed type, it bounds unpacked
 * values, as in netCDF-Java. The table is in docs/formats.md.
 * Bounds of floats are rounded to their type, so that the valid value nearest to a bound is valid. Attributes
 * with a wrong number of values are ignored, with a warning.
 * @throws InvalidArgumentError for ranges that may bound either packed or unpacked values
 */
export function findValidRange(variable: Bounded): ValidRange {
  const { attrs, isLabels, dtype, sign } = variable
  const warnings: string[] = []
  const given = RANGES.filter((key) => key in attrs && isNumbers(variable, key, warnings))
  const names: readonly RangeName[] = given.includes('valid_range') ? ['valid_range'] : given
  if (names.length === 0) return { range: undefined, hasUnsigned: false, warnings }
  const bounds = names.flatMap((key) => boundsOf(variable, key, warnings))
  const isPacked = isLabels || !names.some((key) => isUnpacked(variable, key))
  const finite = bounds.flatMap(({ value }) => (Number.isFinite(Number(value)) ? [Number(value)] : []))
  const hasUnsigned =
    isPacked && dtype === 'int8' && sign === undefined && Math.max(...finite) > 127 && !finite.some((value) => value < 0)
  if (isLabels) return { range: undefined, hasUnsigned, warnings }
  const valueSign = hasUnsigned ? 'unsigned' : sign
  const [low, high] = (['low', 'high'] as const).map((end) => bounds.find((bound) => bound.end === end))
  const rounded = (value: number | bigint): number | bigint => (dtype === 'float32' ? Math.fround(Number(value)) : value)
  const packed = isPacked
    ? ([rounded(low?.value ?? Number.NEGATIVE_INFINITY), rounded(high?.value ?? Number.POSITIVE_INFINITY)] as const)
    : packedEnds(variable, [low, high])
  return {
    range: withSign(packed, { dtype, sign: valueSign, isNarrow: isPacked && isNarrow(variable, names) }),
    hasUnsigned,
    warnings,
  }
}

/** Whether an attribute contains as many numbers as it takes. Others are ignored, as in xarray. */
function isNumbers({ name, attrs }: Bounded, key: RangeName, warnings: string[]): boolean {
  const found = boundNumbers(attrs, key)
  if (found === undefined) warnings.push(`'${name}': ${key} is no number, so it bounds nothing: ${quoted(attrs[key])}`)
  const count = key === 'valid_range' ? 2 : 1
  const isCounted = found?.length === count
  if (found !== undefined && !isCounted)
    warnings.push(`'${name}': ${key} has ${counted(found.length, 'value')} instead of ${count}, so it bounds nothing`)
  return isCounted
}

interface Bound {
  readonly key: RangeName
  readonly end: 'low' | 'high'
  readonly value: number | bigint
}

function boundsOf({ name, attrs }: Bounded, key: RangeName, warnings: string[]): Bound[] {
  const found = boundNumbers(attrs, key)!
  return found.flatMap((value, i): Bound[] => {
    if (Number.isNaN(value)) warnings.push(`'${name}': ${key} is NaN, so it bounds nothing`)
    else return [{ key, end: key === 'valid_max' || i === 1 ? 'high' : 'low', value }]
    return []
  })
}

function isUnpacked(variable: Bounded, key: RangeName): boolean {
  const { name, attrs, dtype, scale, offset, isLabels } = variable
  if (isLabels || (scale === 1 && offset === 0)) return false
  const factors = ['scale_factor', 'add_offset']
    .filter((factor) => factor in attrs)
    .map((factor) => attributeTypeFor(variable, factor))
  const factor = factors.reduce((a, b) => (widthOf(b) > widthOf(a) ? b : a))
  const range = attributeTypeFor(variable, key)
  const isOfJson = range === 'float' || factor === 'float'
  const isSame = range === factor || (isOfJson && isFloating(range) && isFloating(factor))
  // For packed floats, JSON does not show which of the two types a range has.
  const isClear = !(isOfJson && isFloat(dtype) && isFloating(range))
  if (isClear && isSame && widthOf(factor) > widthOf(dtype)) return true
  if (isClear && (!isFloating(range) || range === dtype)) return false
  const text = `${key} of ${name} is ${range}, the factors are ${factor}, and the packed values ${dtype}: it is not clear whether it bounds packed or unpacked values`
  throw new HyperslabError('InvalidArgumentError', text, { array: name, actual: range, expected: dtype })
}

/** Relative rounding error of values of a type, with some reserve. Floats from JSON may have been float32. */
const roundingError = (type: AttributeType): number => (type === 'float32' || type === 'float' ? 2 ** -22 : 2 ** -50)

/**
 * Returns the packed values whose unpacked ones lie within bounds, up to the rounding error of the bounds.
 */
function packedEnds(variable: Bounded, ends: readonly (Bound | undefined)[]): readonly [number, number] {
  const { name, attrs, dtype, scale, offset } = variable
  const keys = ['scale_factor', 'add_offset'].filter((key) => key in attrs)
  const inexact = (bound: Bound): number =>
    Math.max(...[...keys, bound.key].map((key) => roundingError(attributeTypeFor(variable, key))))
  const unclear = ends.find((bound) => bound !== undefined && !isUnpacked(variable, bound.key))
  if (unclear !== undefined) {
    const text = `valid_min and valid_max of ${name} are of different types: one bounds packed values, and the other unpacked ones`
    throw new HyperslabError('InvalidArgumentError', text, { array: name, actual: attributeTypeFor(variable, unclear.key) })
  }
  const isInteger = !isFloat(dtype)
  const [from, to] = scale > 0 ? ends : [ends[1], ends[0]]
  const at = (bound: Bound | undefined, way: -1 | 1): number => {
    if (bound === undefined) return way * Number.POSITIVE_INFINITY
    const value = Number(bound.value)
    const slack = ((Math.abs(value) + Math.abs(offset)) * inexact(bound)) / Math.abs(scale)
    const exact = (value - offset) / scale + way * (Number.isFinite(slack) ? slack : 0)
    return isInteger ? (way < 0 ? Math.ceil(exact) : Math.floor(exact)) : exact
  }
  return [at(from, -1), at(to, 1)]
}

/** Whether the type of a range is no wider than the packed type. Such a range may have the other sign. */
const isNarrow = (variable: Bounded, names: readonly RangeName[]): boolean =>
  names.every((key) => {
    const type = attributeTypeFor(variable, key)
    return type === 'integer' || widthOf(type) <= widthOf(variable.dtype)
  })

/**
 * Converts a range of values whose sign differs from that of their type. A bound beyond this sign belongs to
 * the packed type, if the type of the range is no wider. If such a bound contradicts the other one, it bounds
 * nothing.
 */
function withSign(
  [low, high]: readonly [number | bigint, number | bigint],
  { dtype, sign, isNarrow }: { readonly dtype: NumericDType; readonly sign: Bounded['sign']; readonly isNarrow: boolean },
): readonly [number | bigint, number | bigint] {
  if (sign === undefined) return [low, high]
  const bits = 8 * elementBytes(dtype)
  const isBeyond = (bound: number | bigint): boolean => (sign === 'unsigned' ? bound < 0 : bound >= 2 ** (bits - 1))
  const wrapped = (bound: number | bigint): number | bigint => (isNarrow ? restoreSign(bound, bits, sign) : bound)
  const [from, to] = [wrapped(low), wrapped(high)]
  if (sign === 'signed') {
    // If wrapping moves the high end below the low one, the written value counts: it is above all values.
    const isOpen = isBeyond(high) && (isBeyond(to) || from > to)
    return [isBeyond(from) ? Number.POSITIVE_INFINITY : from, isOpen ? Number.POSITIVE_INFINITY : to]
  }
  // If wrapping moves the low end above the high one, the written value counts: it is below all values.
  return [low < 0 && (from < 0 || from > to) ? Number.NEGATIVE_INFINITY : from, to < 0 ? Number.NEGATIVE_INFINITY : to]
}
