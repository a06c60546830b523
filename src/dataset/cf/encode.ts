import { DiskArray } from '../../array/disk-array.ts'
import { elementwise } from '../../array/lazy/elementwise.ts'
import { elementIn, elementOfSign, parseSign } from '../../array/lazy/signs.ts'
import { type Element, isAnyMissing, missingElement, missingElements, NOTHING } from '../../array/missing.ts'
import { missingTest } from '../../array/missing-test.ts'
import {
  allocate,
  DTYPES,
  type DType,
  elementBytes,
  isBigInt,
  isFloat,
  isNumeric,
  type NumericDType,
  toElement,
} from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import { quoted } from '../../core/quoted.ts'
import { integerAttribute, TypedValue } from '../../core/typed-value.ts'
import { type Attrs, attributeNumbers, isWrittenAsFloat, typedAttribute } from '../attributes.ts'
import { isOfDates, parseCalendar } from '../time/calendar.ts'
import { NAT, showInstant, unitsSince } from '../time/instant.ts'
import { parseTimeUnits, type TimeUnits } from '../time/units.ts'
import type { Variable } from '../variable.ts'
import { FILLS, findTimeUnits, isNaNText, missingTold, PACKING, storedAs } from './decode.ts'

/** Encoding of a variable, in xarray's words. Without entries, values are stored unchanged. */
export interface VariableEncoding {
  /** Stored type, such as `int16` for packed values. */
  readonly dtype?: DType
  /** Lengths of chunks along the dimensions. Chosen automatically if omitted. */
  readonly chunks?: readonly number[]
  /** Factor by which readers multiply packed values. */
  readonly scale_factor?: number
  /** Number that readers add to packed values after scaling. */
  readonly add_offset?: number
  /** Stored value of missing elements. */
  readonly _FillValue?: number | bigint
  /** Stored value of missing elements, for programs that only know this attribute. */
  readonly missing_value?: number | bigint
  /** The text `'true'` stores unsigned integers in a signed type. */
  readonly _Unsigned?: 'true' | 'false'
  /** Units of times, which are stored as numbers, such as `hours since 1990-01-01`. */
  readonly units?: string
  /** Calendar of the units: `standard` or `proleptic_gregorian`. Refused without units. */
  readonly calendar?: string
}

const CHECKS: Checks<VariableEncoding> = {
  dtype: DTYPES,
  chunks: 'list of integer from 1s',
  scale_factor: 'number',
  add_offset: 'number',
  _FillValue: 'value',
  missing_value: 'value',
  _Unsigned: ['true', 'false'],
  units: 'string',
  calendar: 'string',
}

/** A variable in stored form. */
export interface EncodedVariable {
  readonly name: string
  readonly dims: readonly string[]
  /** Stored elements. None counts as missing, so that copying keeps them unchanged. */
  readonly array: DiskArray
  /** Whether these are the elements of the source as they are. Reading them needs no memory beside them. */
  readonly isAsStored: boolean
  readonly chunks: readonly number[] | undefined
  /** Stored value of missing elements. */
  readonly fill: Element | undefined
  /** Missing value that no attribute names, because the source named it in none, either. */
  readonly implied: Element | undefined
  /** Attributes, with types where needed. */
  readonly attrs: ReadonlyMap<string, TypedValue | unknown>
}

/**
 * Encodes a variable by the CF conventions, lazily. Times become numbers of their units. Values are packed by
 * `scale_factor` and `add_offset`, and rounded to the nearest integer for integer types. Missing values
 * become the fill value. Unchanged decoded values are stored in their original form.
 * @param given encoding that replaces the variable's own
 * @param boundsOf stored units of the times that this variable bounds; the same units of its own are omitted
 * @throws InvalidArgumentError for encodings that contradict the attributes or the type of the values; when
 *   read, for values that the stored type cannot hold, or that would read as missing
 */
export function encodeVariable(
  variable: Variable,
  given: VariableEncoding | undefined,
  boundsOf?: TimeUnits | undefined,
): EncodedVariable {
  const { name, dims, array, attrs } = variable
  checkOptions('write', given, CHECKS, { array: name })
  const encoding: Attrs = given === undefined ? variable.encoding : withoutUndefined(given)
  const all = encoding['chunks'] as readonly number[] | undefined
  if (given?.chunks !== undefined && all!.length !== dims.length)
    fail(name, `chunks of ${all!.length} lengths for ${dims.length} dimensions`, all)
  // Selections may have dropped dimensions.
  const chunks = all?.length === dims.length ? all : undefined
  const twice = Object.keys(encoding).find(
    (key) => key in attrs && (PACKING.includes(key) || ['units', 'calendar'].includes(key)),
  )
  if (twice !== undefined) fail(name, `'${twice}' is an attribute, and in the encoding: leave one of them out`, attrs[twice])
  const stored = given === undefined ? storedAs(array) : undefined
  if (given?.calendar !== undefined) checkCalendar(variable, given)
  const packing = choosePacking(variable, encoding)
  // Computed missing elements need an attribute, because other programs do not know the convention.
  const implied = stored?.source.missing?.implied as Element | undefined
  const own = stored === undefined || packing.fill !== undefined ? packing.fill : missingElement(missingElements(stored.source))
  return {
    name,
    dims,
    array: verbatim(stored ?? packed(array, packing)),
    isAsStored: stored !== undefined,
    chunks: chunks?.map((length, axis) => Math.max(1, Math.min(length, array.shape[axis]!))),
    fill: implied ?? own,
    implied,
    attrs: encodeAttributes(variable, encoding, packing, boundsOf),
  }
}

const withoutUndefined = (given: VariableEncoding): Attrs =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))

function fail(array: string, text: string, actual: unknown): never {
  throw new HyperslabError('InvalidArgumentError', text, { array, actual })
}

/** Returns the array without missing values, so that copying keeps every element. */
const verbatim = (array: DiskArray): DiskArray =>
  isAnyMissing(missingElements(array.source)) ? missingTold(array, NOTHING) : array

/** Stored form of the elements of a variable. */
interface Packing {
  readonly name: string
  readonly dtype: DType
  readonly scale: number
  readonly offset: number
  readonly isPacked: boolean
  readonly isUnsigned: boolean
  /** Whether an unsigned type stores negative values. */
  readonly isSigned: boolean
  readonly times: TimeUnits | undefined
  /** Stored value of missing elements. */
  readonly fill: Element | undefined
  /** Stored values that read as missing. */
  readonly missing: readonly Element[]
}

/** Returns units of times that no attribute names. Bounds inherit them from their variable. */
const impliedTimes = ({ attrs, times }: Variable, encoding: Attrs): TimeUnits | undefined =>
  'units' in attrs || 'units' in encoding || encoding['dtype'] === undefined ? undefined : times

/** Returns the stored units of times, if the attributes have them. */
export function storedTimes(variable: Variable, given: VariableEncoding | undefined): TimeUnits | undefined {
  const { units, calendar } = { ...variable.attrs, ...(given ?? variable.encoding) } as Attrs
  return findTimeUnits({ units, calendar })
}

function choosePacking(variable: Variable, encoding: Attrs): Packing {
  const { name, array } = variable
  const units = (encoding['units'] ?? impliedTimes(variable, encoding)?.text) as string | undefined
  const isTime = array.dtype === 'timestamp_ns' && units !== undefined
  const dtype = (encoding['dtype'] ?? (isTime ? 'int64' : array.dtype)) as DType
  const times = isTime ? (impliedTimes(variable, encoding) ?? parseEncodedUnits(name, encoding)) : undefined
  const isAlike = isNumeric(dtype) && (isNumeric(array.dtype) || array.dtype === 'bool' || isTime)
  if (dtype !== array.dtype && !isAlike) {
    const hint = array.dtype === 'timestamp_ns' ? '; times are stored as numbers with units' : ''
    fail(name, `${array.dtype} values cannot be stored as ${dtype}${hint}`, dtype)
  }
  if (encoding['units'] !== undefined && !isTime) fail(name, `units are for times, and these are ${array.dtype} values`, units)
  const named = PACKING.filter((key) => encoding[key] !== undefined)
  if (named.length > 0 && !isNumeric(dtype)) fail(name, `${named.join(', ')} is for numbers, not for ${dtype}`, dtype)
  const scale = Number(encoding['scale_factor'] ?? 1)
  const offset = Number(encoding['add_offset'] ?? 0)
  if (!Number.isFinite(scale) || !Number.isFinite(offset) || scale === 0)
    fail(name, `cannot scale by ${scale} and ${offset}`, scale)
  const sign =
    parseSign(dtype, encoding['_Unsigned']) ?? (encoding['unsigned'] === true && dtype === 'int8' ? 'unsigned' : undefined)
  const [isUnsigned, isSigned] = [sign === 'unsigned', sign === 'signed']
  const missing = ['_FillValue', 'fill_value', 'missing_value'].flatMap((key) => {
    // Decoding ignores fill values that no element equals.
    const isKnown = (value: unknown): boolean =>
      encoding === variable.encoding
        ? fillElement(dtype as NumericDType, value, sign !== undefined) !== undefined
        : typeof value !== 'string' || key === '_FillValue'
    const list = asListOfValues(encoding[key]).filter((value) => !isNumeric(dtype) || isKnown(value))
    return list.map((value) => encodeElement(name, dtype, key, value, sign !== undefined))
  })
  const own = dtype === array.dtype ? missingElement(missingElements(array.source)) : undefined
  const fill = missing[0] ?? (dtype === 'binary' ? undefined : own)
  const isPacked = encoding['scale_factor'] !== undefined || encoding['add_offset'] !== undefined
  const all = missing.length === 0 && fill !== undefined ? [fill] : missing
  return { name, dtype, scale, offset, isPacked, isUnsigned, isSigned, times, fill, missing: all }
}

/** @throws UnsupportedError for an unknown calendar; InvalidArgumentError for one that has no units */
function checkCalendar({ name, array, attrs }: Variable, { units, calendar }: VariableEncoding): void {
  parseCalendar(calendar, { array: name })
  if (units !== undefined || (array.dtype !== 'timestamp_ns' && 'units' in attrs)) return
  const hint = "give units as well, such as 'days since 1990-01-01', or omit the calendar"
  if (array.dtype === 'timestamp_ns') fail(name, `a calendar belongs to units, and the encoding has none: ${hint}`, calendar)
  fail(name, `a calendar is for times, and these are ${array.dtype} values without units: omit the calendar`, calendar)
}

function parseEncodedUnits(name: string, { units, calendar }: Attrs): TimeUnits {
  const parsed = parseTimeUnits(units, parseCalendar(calendar, { array: name }), { array: name })
  if (parsed === undefined) return fail(name, `${quoted(units)} are not units of time, such as 'days since 1990-01-01'`, units)
  if (isOfDates(parsed.calendar)) return parsed
  return fail(name, `these times are of the calendar of Dates, and cannot be stored as those of ${parsed.calendar}`, calendar)
}

const asListOfValues = (value: unknown): readonly unknown[] =>
  value === undefined ? [] : ArrayBuffer.isView(value) || Array.isArray(value) ? Array.from(value as ArrayLike<unknown>) : [value]

function encodeElement(name: string, dtype: DType, key: string, value: unknown, hasOtherSign: boolean): Element {
  try {
    if (isNaNText(dtype, value)) return Number.NaN
    if (hasOtherSign) return elementOfSign(dtype as NumericDType, value as number, true)
    return toElement(dtype, typeof value === 'bigint' && !isBigInt(dtype) ? Number(value) : value)
  } catch {
    return fail(name, `${key} ${String(value)} is no ${dtype} value, as the stored ones are`, value)
  }
}

/** Returns an array in stored form. */
function packed(array: DiskArray, packing: Packing): DiskArray {
  const { dtype, isPacked, times } = packing
  const isAsIs = dtype === array.dtype && !isPacked && !packing.isUnsigned && !packing.isSigned
  if (!isNumeric(dtype) || (isAsIs && packing.missing.length === 0)) return array
  const own = missingElements(array.source)
  const isMissing = missingTest(isFloat(array.dtype) ? { ...own, nan: true } : own) ?? (() => false)
  const number =
    times === undefined ? (value: number | bigint) => value : (value: number | bigint) => countUnits(value as bigint, times)
  const pack = createPacker(packing)
  const forth = (value: number | bigint): Element =>
    isMissing(value) || (times !== undefined && value === NAT) ? missingOf(packing, value) : pack(number(value), value)
  return new DiskArray(elementwise(array.source, { dtype, missing: NOTHING }, { forth: forth as never }))
}

function missingOf({ name, dtype, fill }: Packing, value: unknown): Element {
  if (fill !== undefined) return fill
  if (isFloat(dtype)) return Number.NaN
  return fail(name, `a value is missing, and no ${dtype} represents missing values: give a _FillValue in the encoding`, value)
}

/** Converts a time to a number of its units. Whole numbers are exact. */
function countUnits(instant: bigint, { unit, reference }: TimeUnits): number | bigint {
  const away = instant - reference
  return away % unit === 0n ? away / unit : unitsSince(instant, { unit, reference })
}

/** Rounds to an integer; halves round to even, as in numpy. */
function roundedEven(value: number): number {
  const rounded = Math.round(value)
  return rounded - value === 0.5 && rounded % 2 !== 0 ? rounded - 1 : rounded
}

/** Returns the function that converts a value to its stored element. */
function createPacker(packing: Packing): (value: number | bigint, from: unknown) => Element {
  const { name, dtype, scale, offset, isPacked, isUnsigned, isSigned: hasSign, times } = packing
  const reads = missingTest({ values: packing.missing.filter((each) => !Number.isNaN(each)), nan: false }) ?? (() => false)
  const show = (from: unknown): string => (times === undefined ? String(from) : showInstant(from as bigint, times.calendar))
  const how = isPacked ? `${dtype} with scale_factor ${scale} and add_offset ${offset}` : dtype
  const checked = (element: Element, from: unknown): Element => {
    if (reads(element))
      fail(name, `${show(from)} is stored as ${element}, which stands for missing values: choose another _FillValue`, from)
    return element
  }
  if (isFloat(dtype))
    return (value, from) => {
      const element = toElement(dtype, isPacked ? (Number(value) - offset) / scale : Number(value)) as number
      if (!Number.isFinite(element) && Number.isFinite(Number(value)))
        fail(name, `${show(from)} is beyond what ${how} holds`, from)
      return checked(element, from)
    }
  const bits = 8 * elementBytes(dtype as NumericDType)
  const isSigned = hasSign || (dtype.startsWith('int') && !isUnsigned)
  const [low, high] = isSigned ? [-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n] : [0n, 2n ** BigInt(bits) - 1n]
  const wide = isBigInt(dtype)
  const refuse = (from: unknown): never => {
    const ends = [low, high].map((end) => (isPacked ? Number(end) * scale + offset : end))
    const range = times === undefined ? `${ends[0]} to ${ends[1]}` : `${ends[0]} to ${ends[1]} of '${times.text}'`
    throw new HyperslabError('InvalidArgumentError', `${show(from)} does not fit ${how}, which holds ${range}`, {
      array: name,
      actual: from,
      expected: ends,
    })
  }
  return (value, from) => {
    if (!isPacked && typeof value === 'bigint') {
      if (value < low || value > high) return refuse(from)
      const own = isUnsigned ? BigInt.asIntN(bits, value) : hasSign ? BigInt.asUintN(bits, value) : value
      return checked(wide ? own : Number(own), from)
    }
    const exact = isPacked ? (Number(value) - offset) / scale : (value as number)
    const whole = roundedEven(exact)
    if (times !== undefined && !isPacked && whole !== exact)
      fail(
        name,
        `${show(from)} is no whole number in '${times.text}', which ${dtype} needs; \`dtype: 'float64'\` in the encoding takes it`,
        from,
      )
    if (!(whole >= Number(low) && whole <= Number(high))) return refuse(from)
    const wrapped = isUnsigned && whole >= 2 ** (bits - 1) ? whole - 2 ** bits : hasSign && whole < 0 ? whole + 2 ** bits : whole
    if (!wide) return checked(wrapped + 0, from)
    const own = BigInt(whole)
    if (own > high) return refuse(from)
    return checked(isUnsigned ? BigInt.asIntN(64, own) : hasSign ? BigInt.asUintN(64, own) : own, from)
  }
}

/** Returns an attribute with the type that it is stored with. Integers of JSON stay integers. */
export function storedAttribute(attrs: Attrs, name: string): unknown {
  const value = attrs[name]
  const typed = typedAttribute(attrs, name)
  return typed ?? (isWrittenAsFloat(attrs, name) === false ? integerAttribute(value) : undefined) ?? value
}

/** Returns the attributes of a variable, including those of its encoding. */
function encodeAttributes(
  variable: Variable,
  encoding: Attrs,
  packing: Packing,
  boundsOf: TimeUnits | undefined,
): Map<string, unknown> {
  const { array, attrs, encoding: own } = variable
  const { dtype } = packing
  const all = new Map<string, unknown>(Object.keys(attrs).map((key) => [key, storedAttribute(attrs, key)]))
  if (array.dtype === 'bool' && dtype !== 'bool') all.set('dtype', 'bool')
  for (const key of ['units', 'calendar']) if (encoding[key] !== undefined) all.set(key, encoding[key])
  const implied = impliedTimes(variable, encoding)
  if (implied !== undefined && !(boundsOf?.text === implied.text && boundsOf.calendar === implied.calendar))
    all.set('units', implied.text).set('calendar', implied.calendar)
  // Factors of values that decode to float32 must be float32.
  const factors = [packing.scale, packing.offset]
  const float = array.dtype === 'float32' && factors.every((factor) => Math.fround(factor) === factor) ? 'float32' : 'float64'
  for (const key of PACKING) {
    const value = encoding[key]
    if (value === undefined || (FILLS.includes(key) && isNumeric(dtype))) continue
    const typed = encoding === own ? typedAttribute(own, key) : undefined
    if (typed !== undefined) all.set(key, typed)
    else if (key === 'scale_factor' || key === 'add_offset') all.set(key, new TypedValue({ type: float, value: Number(value) }))
    else all.set(key, key.startsWith('valid_') ? rangeOfType(own, key, dtype) : value)
  }
  if (isNumeric(dtype)) for (const [key, value] of fillAttributes(encoding, packing, own)) all.set(key, value)
  return all
}

/** Returns the element that a value of `_FillValue` or `missing_value` names; undefined if it names none. */
const fillElement = (dtype: NumericDType, value: unknown, hasOtherSign: boolean): number | bigint | undefined =>
  isNaNText(dtype, value)
    ? Number.NaN
    : typeof value === 'number' || typeof value === 'bigint'
      ? elementIn(dtype, value, hasOtherSign)
      : undefined

/**
 * Returns the attributes of missing values. `_FillValue` is one element of the stored type, because xarray
 * opens no dataset with another one. `missing_value` names its other elements, too. A `_FillValue` that names
 * no element is left out.
 */
function fillAttributes(encoding: Attrs, { dtype: stored, isUnsigned, isSigned }: Packing, own: Attrs): Map<string, unknown> {
  const dtype = stored as NumericDType
  const encodeElements = (key: string): (number | bigint | undefined)[] =>
    asListOfValues(encoding[key]).map((value) => fillElement(dtype, value, isUnsigned || isSigned))
  const isKnown = (value: number | bigint | undefined): value is number | bigint => value !== undefined
  const [fill, ...others] = encodeElements('_FillValue').filter(isKnown)
  const given = encoding['missing_value']
  const named = encodeElements('missing_value')
  const all = new Map<string, unknown>()
  if (fill !== undefined) all.set('_FillValue', new TypedValue({ type: dtype, value: fill }))
  // xarray writes and reads NaN in JSON as text, and would convert integers to floats for it.
  const isNaNOfIntegers = !isFloat(dtype) && Number.isNaN(given)
  if (others.length === 0 && (given === undefined || isNaNOfIntegers)) return all
  const typed = encoding === own ? typedAttribute(own, 'missing_value') : undefined
  const isForeign = named.includes(undefined)
  if (others.length === 0 && (typed !== undefined || isForeign)) return all.set('missing_value', typed ?? given)
  const list = [...new Set([...named.filter(isKnown), ...others])]
  const isOne = list.length === 1 && !ArrayBuffer.isView(given)
  return all.set('missing_value', new TypedValue(isOne ? { type: dtype, value: list[0] } : { type: `${dtype}[]`, value: list }))
}

/**
 * Returns a range from JSON with the type that it has there, because the type decides which values it bounds.
 */
function rangeOfType(encoding: Attrs, key: string, dtype: DType): TypedValue | unknown {
  const numbers = attributeNumbers(encoding, key)
  const value = encoding[key]
  if (numbers === undefined || ArrayBuffer.isView(value) || !isNumeric(dtype) || isFloat(dtype)) return value
  const isWhole = numbers.every((each) => typeof each === 'bigint' || Number.isInteger(each))
  const type = isWhole && !isWrittenAsFloat(encoding, key) ? chooseIntegerType(numbers, dtype) : 'float64'
  const data = allocate(type, numbers.length)
  for (const [i, each] of numbers.entries()) data[i] = toElement(type, each) as never
  return new TypedValue(Array.isArray(value) ? { type: `${type}[]`, value: data } : { type, value: data[0] })
}

/** Returns the packed type, or a wider one if the numbers need it. */
const chooseIntegerType = (numbers: readonly (number | bigint)[], dtype: NumericDType): NumericDType => {
  const holds = (type: NumericDType): boolean =>
    numbers.every((each) => {
      try {
        return toElement(type, each) !== undefined
      } catch {
        return false
      }
    })
  return ([dtype, 'int16', 'int32', 'int64'] as const).find(holds) ?? 'float64'
}
