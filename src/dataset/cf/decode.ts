import { DiskArray } from '../../array/disk-array.ts'
import { deriveSource } from '../../array/lazy/derive.ts'
import { elementwise } from '../../array/lazy/elementwise.ts'
import { parsePacking } from '../../array/lazy/packing.ts'
import { type ScaledOptions, scaledSource } from '../../array/lazy/scaled.ts'
import { elementIn, parseSign } from '../../array/lazy/signs.ts'
import { isAnyMissing, type Missing, missingElements, NOTHING } from '../../array/missing.ts'
import { missingTest } from '../../array/missing-test.ts'
import type { BlockSource, NamedValues } from '../../array/source.ts'
import { isEncoding } from '../../core/characters.ts'
import { type DType, elementBytes, isFloat, isNumeric, type NumericDType } from '../../core/dtype.ts'
import { quoted } from '../../core/quoted.ts'
import { type Attrs, attributeNumbers, attributeText, dropAttributes, plainAttrs, withTypes } from '../attributes.ts'
import { isOfDates, parseCalendar } from '../time/calendar.ts'
import { NAT } from '../time/instant.ts'
import { decodeTimestamp, isDurationUnit, parseTimeUnits, type TimeUnits } from '../time/units.ts'
import type { VariableParts } from '../variable.ts'
import { findValidRange } from './valid-range.ts'

/** Attributes of packed values that decoding uses. */
export const PACKING: readonly string[] = [
  'scale_factor',
  'add_offset',
  '_FillValue',
  'missing_value',
  '_Unsigned',
  'valid_min',
  'valid_max',
  'valid_range',
]
const TIME = ['units', 'calendar']
/** Attributes that name missing values. */
export const FILLS: readonly string[] = ['_FillValue', 'missing_value']

/** An array in the form of a format, with its attributes if they differ from those of its source. */
export interface RawVariable {
  readonly name: string
  readonly array: DiskArray
  readonly dims: readonly string[]
  readonly attrs?: NamedValues | undefined
  /** Dimensions that can grow. */
  readonly unlimited?: readonly string[] | undefined
}

/**
 * Decodes a variable by the CF conventions, lazily. First, missing elements and those outside the valid range
 * become NaN. Then packed values are scaled. Then numbers with units of time become times.
 *
 * - labels of a dimension are all valid; among times and durations, the smallest int64 is NaT
 * - `scale_factor` and `add_offset` give floats (CF 8.1): float32 if both are float32 and the packed type has
 *   at most 16 bits or is float32 itself, otherwise float64
 * - integers that may be missing become float32 up to 16 bits, otherwise float64; 64-bit integers and flags
 *   keep their type, unless they have a valid range, and their missing values stay known
 * - times of the standard calendars become `timestamp_ns`; times of other calendars stay numbers with known
 *   units
 * @throws InvalidArgumentError for attributes that contradict CF; UnsupportedError for units of time that
 *   have no fixed length
 */
export function decodeVariable(raw: RawVariable): VariableParts {
  const parts = decoded(raw)
  const encoding = withTypes(parts.encoding!, raw.attrs ?? raw.array.attrs)
  keepStored(parts.array, raw.array)
  return { ...parts, encoding }
}

/** Stored arrays, by the arrays decoded from them. */
const STORED = new WeakMap<DiskArray, DiskArray>()

/** Returns the stored array of decoded values, if they are still all of it. */
export const storedAs = (array: DiskArray): DiskArray | undefined => STORED.get(array)

export function keepStored(array: DiskArray, stored: DiskArray | undefined): void {
  if (stored !== undefined) STORED.set(array, stored)
}

function decoded({ name, array, dims, attrs: named = array.attrs }: RawVariable): VariableParts {
  const all = plainAttrs(named)
  const { coordinates } = all
  const attrs = dropAttributes(all, ['coordinates'])
  const chunks = array.chunks.axes.map(({ chunkLength }) => chunkLength)
  const encoding = { dtype: array.dtype, chunks, ...(coordinates !== undefined && { coordinates }) }
  const whole = { name, array, dims, attrs, encoding }
  const { dtype } = array
  const charset = attributeText(attrs, '_Encoding')
  if (dtype === 'string' && charset !== undefined && !isEncoding(charset))
    return { ...whole, warnings: [`'${name}': _Encoding names no known encoding, so it is ignored: ${quoted(charset)}`] }
  if (!isNumeric(dtype)) return whole
  if (attrs['dtype'] === 'bool' && elementBytes(dtype) === 1) return decodeBooleans(whole)
  const numbers = decodeNumbers(whole, named)
  const units = findTimeUnits(attrs)
  return units === undefined ? numbers : decodeTimeVariable(numbers, units)
}

/** Bytes as booleans. None of these can be missing: missing bytes are true unless they are 0. */
function decodeBooleans(whole: VariableParts): VariableParts {
  const { name, array, attrs, encoding } = whole
  const named = FILLS.filter((key) => key in attrs)
  const isMissing = isAnyMissing(missingElements(array.source))
  const text = `'${name}': booleans cannot be missing, so ${named.join(' and ')} makes none missing`
  return {
    ...whole,
    array: (isMissing ? missingTold(array, NOTHING) : array).astype('bool'),
    attrs: dropAttributes(attrs, ['dtype', ...FILLS]),
    encoding: { ...encoding, ...Object.fromEntries(named.map((key) => [key, attrs[key]])) },
    warnings: named.length > 0 ? [text] : [],
  }
}

/** Decodes numbers: scales them, and determines which are missing. */
function decodeNumbers(whole: VariableParts, named: NamedValues | undefined): VariableParts {
  const { name, array, dims, attrs, encoding } = whole
  const stored = array.dtype as NumericDType
  const warnings: string[] = []
  const read = packingAttributes(whole, named)
  const isSigned = parseSign(stored, read.get('_Unsigned')) !== null
  if (!isSigned) warnings.push(`'${name}': _Unsigned is neither true nor false, so it is ignored: ${quoted(attrs['_Unsigned'])}`)
  const given = { ...read, get: (key: string) => (key === '_Unsigned' && !isSigned ? undefined : read.get(key)) }
  const told = parsePacking(array.source, { ...given, get: (key) => (FILLS.includes(key) ? undefined : given.get(key)) })
  const bounds = findValidRange({
    ...{ name, attrs, typed: named },
    dtype: stored,
    isLabels: dims.length === 1 && dims[0] === name,
    scale: told.scaleFactor ?? 1,
    offset: told.addOffset ?? 0,
    sign: told.unsigned ? 'unsigned' : told.signed ? 'signed' : undefined,
  })
  // If the range of bytes exceeds 127, the bytes are unsigned, and so are their missing values.
  const hasOtherSign = bounds.hasUnsigned || told.unsigned === true || told.signed === true
  const fills = listFills(whole, given, hasOtherSign, warnings)
  const packing = parsePacking(array.source, {
    ...given,
    get: (key) => (FILLS.includes(key) ? fills.get(key) : key === '_Unsigned' && bounds.hasUnsigned ? 'true' : given.get(key)),
  })
  const others = [
    ...(hasOtherSign
      ? FILLS.flatMap((key) => attributeNumbers(attrs, key) ?? []).flatMap((value) => elementIn(stored, value, true) ?? [])
      : []),
    ...(isTimeLike(stored, attrs) ? [NAT] : []),
  ]
  const missingValues = [...packing.missingValues!, ...others]
  const all = { ...packing, missingValues }
  const validRange = bounds.range
  const dtype = decodedType(stored, all, validRange !== undefined, attrs, named)
  const packed = Object.fromEntries(PACKING.filter((key) => key in attrs).map((key) => [key, attrs[key]]))
  // If the format itself defines the missing value, attributes may have it as text, or not at all.
  const fill = packing.fillValue ?? missingValues[0]
  const isText = typeof packed['_FillValue'] === 'string'
  const filled = {
    ...(fill !== undefined && (isText || !('_FillValue' in packed)) && { [isText ? '_FillValue' : 'fill_value']: fill }),
    ...(bounds.hasUnsigned && { unsigned: true }),
  }
  const parts = {
    ...{ ...whole, warnings: [...warnings, ...bounds.warnings] },
    attrs: dropAttributes(attrs, PACKING),
    encoding: { ...encoding, ...packed, ...filled },
  }
  if (dtype === undefined) return { ...parts, array: withMissing(array, all) }
  const options = { ...all, ...(validRange && { validRange }), dtype }
  return { ...parts, array: new DiskArray(scaledSource(array.source, options)) }
}

/** Whether the smallest 64-bit integer is NaT, as for times and durations. */
function isTimeLike(dtype: DType, attrs: Attrs): boolean {
  const units = attributeText(attrs, 'units') ?? ''
  const type = attributeText(attrs, 'dtype') ?? ''
  return dtype === 'int64' && (/\bsince\b/i.test(units) || isDurationUnit(units) || /^(timedelta|datetime)64/.test(type))
}

/**
 * Omits attributes of missing values if the format itself defines these, because the attributes may have them
 * encoded.
 */
const packingAttributes = ({ array: { source } }: VariableParts, named: NamedValues | undefined): NamedValues => ({
  get: (key) => (FILLS.includes(key) && source.missing !== undefined ? undefined : typedList(named?.get(key))),
  keys: () => named?.keys() ?? [],
})

/**
 * Returns the values of attributes that name missing elements. Among numbers, texts other than NaN and
 * numbers that the packed type does not have equal no element, so they are ignored.
 */
function listFills(
  { name, array, attrs }: VariableParts,
  given: NamedValues,
  hasOtherSign: boolean,
  warnings: string[],
): Map<string, unknown> {
  const { dtype } = array
  const fills = new Map<string, unknown>()
  for (const key of FILLS) {
    if (!(key in attrs)) continue
    const numbers = attributeNumbers(attrs, key)
    if (numbers === undefined && !isNaNText(dtype, attrs[key]) && !(key === '_FillValue' && isEncoded(array, attrs[key])))
      warnings.push(`'${name}': ${key} is no number, so no value is missing by it: ${quoted(attrs[key])}`)
    if (numbers?.length === 0) warnings.push(`'${name}': ${key} is an empty list, so no value is missing by it`)
    if (key === '_FillValue' && numbers !== undefined && numbers.length > 1)
      warnings.push(`'${name}': ${key} has ${numbers.length} values, each of which is missing: ${numbers.join(', ')}`)
    if (numbers === undefined) continue
    const isKnown = (value: number | bigint): boolean => elementIn(dtype as NumericDType, value, hasOtherSign) !== undefined
    const known = numbers.filter(isKnown)
    for (const value of numbers)
      if (!isKnown(value)) warnings.push(`'${name}': ${key} is ${value}, which no ${dtype} value equals`)
    if (given.get(key) === undefined) continue
    if (known.length === numbers.length) fills.set(key, given.get(key))
    else if (known.length > 0) fills.set(key, known.length === 1 ? known[0] : Float64Array.from(known, Number))
  }
  return fills
}

/** Whether a text is the missing value NaN of floats. JSON has no such number. */
export const isNaNText = (dtype: DType, value: unknown): boolean =>
  isFloat(dtype) && typeof value === 'string' && /^\s*nan\s*$/i.test(value)

/** Whether a text is a float in base64, as Zarr of version 3 stores it. The source decodes it. */
const isEncoded = ({ dtype, source }: DiskArray, value: unknown): boolean =>
  isFloat(dtype) && source.missing !== undefined && typeof value === 'string' && /^[A-Za-z0-9+/]{11}=$/.test(value)

/** Converts a JSON list of numbers to a typed array, as other formats have it. */
const typedList = (value: unknown): unknown =>
  Array.isArray(value) && value.every((each) => typeof each === 'number') ? Float64Array.from(value) : value

/**
 * Returns the array with unchanged values and the missing values of its attributes. Statistics of its chunks
 * assume other missing values, so reductions read the chunks.
 */
function withMissing(array: DiskArray, { fillValue, missingValues = [] }: ScaledOptions): DiskArray {
  const known = missingElements(array.source)
  const values = new Set([...(fillValue === undefined ? [] : [fillValue]), ...missingValues])
  const nan = values.delete(Number.NaN) || known.nan
  const told = new Set<unknown>(known.values)
  const isTold = array.source.missing !== undefined && [...values].every((value) => told.has(value))
  if (isTold || (values.size === 0 && !nan)) return array
  return missingTold(array, { values: [...values] as never[], nan: array.source.missing !== undefined && nan })
}

/** Returns the same elements with other missing values. */
export function missingTold({ source }: DiskArray, missing: Missing): DiskArray {
  const { dtype, bulk = {} } = source
  const passed = { requests: bulk.requests, read: bulk.read, gather: bulk.gather }
  const given = Object.fromEntries(Object.entries(passed).filter(([, operation]) => operation !== undefined))
  const readBlock: BlockSource['readBlock'] = (...asked) => source.readBlock(...asked)
  return new DiskArray(
    deriveSource(source, { readBlock, bulk: given }, { dtype, missing: missing as Missing<DType>, attrs: source.attrs }),
  )
}

/** Returns the units of times; undefined if the units are no units of times. */
export function findTimeUnits(attrs: Attrs): TimeUnits | undefined {
  const units = attributeText(attrs, 'units')
  return units !== undefined && /\bsince\b/i.test(units)
    ? parseTimeUnits(units, parseCalendar(attributeText(attrs, 'calendar')))
    : undefined
}

function decodeTimeVariable(numbers: VariableParts, times: TimeUnits): VariableParts {
  const { array, attrs, encoding } = numbers
  if (!isOfDates(times.calendar)) return { ...numbers, times }
  const isMissing = missingTest(missingElements(array.source))
  const forth = (value: number | bigint): bigint =>
    isMissing?.(value) || (typeof value === 'number' && !Number.isFinite(value)) ? NAT : decodeTimestamp(value, times)
  const kind = { dtype: 'timestamp_ns' as const, missing: { values: [NAT], nan: false } }
  const source = elementwise(array.source, kind, { forth: forth as never }) as BlockSource
  const units = Object.fromEntries(TIME.filter((key) => key in attrs).map((key) => [key, attrs[key]]))
  const rest = { attrs: dropAttributes(attrs, TIME), encoding: { ...encoding, ...units } }
  return { ...numbers, ...rest, array: new DiskArray(source), stored: array, times }
}

/** Returns the type of decoded values; undefined if they stay as stored. */
function decodedType(
  dtype: DType,
  { scaleFactor, addOffset, unsigned, signed, fillValue, missingValues }: ScaledOptions,
  hasRange: boolean,
  attrs: Attrs,
  named: NamedValues | undefined,
): 'float32' | 'float64' | undefined {
  const bytes = elementBytes(dtype as 'int8')
  if (scaleFactor !== undefined || addOffset !== undefined || unsigned || signed) {
    const typed = named as { typed?(name: string): { readonly type: string } | undefined } | undefined
    const types = ['scale_factor', 'add_offset']
      .filter((key) => key in attrs)
      .map((key) => typed?.typed?.(key)?.type.replace('[]', ''))
    const isSmall = bytes <= 2 || dtype === 'float32'
    return isSmall && types.every((type) => type === 'float32') ? 'float32' : 'float64'
  }
  const values = [...(fillValue === undefined ? [] : [fillValue]), ...missingValues!]
  const isMasked = hasRange || values.some((value) => !Number.isNaN(value))
  if (!isMasked) return undefined
  if (isFloat(dtype)) return dtype
  if (!hasRange && (bytes === 8 || 'flag_values' in attrs || 'flag_masks' in attrs)) return undefined
  return bytes <= 2 ? 'float32' : 'float64'
}
