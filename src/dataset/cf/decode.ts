import { DiskArray } from '../../array/disk-array.ts'
import { deriveSource } from '../../array/lazy/derive.ts'
import { elementwise } from '../../array/lazy/elementwise.ts'
import { packingOf } from '../../array/lazy/packing.ts'
import { type ScaledOptions, scaledSource } from '../../array/lazy/scaled.ts'
import { type Missing, missingElements } from '../../array/missing.ts'
import { missingTest } from '../../array/missing-test.ts'
import type { BlockSource, NamedValues } from '../../array/source.ts'
import { type DType, elementBytes, isFloat, isNumeric } from '../../core/dtype.ts'
import { invalidArgument } from '../../core/errors.ts'
import { type Attrs, attributeNumbers, attributeText, dropAttributes, plainAttrs, withTypes } from '../attributes.ts'
import { isOfDates, parseCalendar } from '../time/calendar.ts'
import { NAT } from '../time/instant.ts'
import { decodeTimestamp, parseTimeUnits, type TimeUnits } from '../time/units.ts'
import type { VariableParts } from '../variable.ts'

/** What decoding takes from the attributes of packed values. */
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

/** An array as a format has it, and its attributes where they are not those of its source. */
export interface RawVariable {
  readonly name: string
  readonly array: DiskArray
  readonly dims: readonly string[]
  readonly attrs?: NamedValues | undefined
}

/**
 * A variable by the CF conventions, lazily: what is missing or outside the valid range becomes NaN, then
 * packed values are scaled, then numbers with units of time become times.
 *
 * - `scale_factor` and `add_offset` give floats of their own type (CF 8.1): float32 where both are and the
 *   packed type has at most 16 bits or is float32 itself, else float64
 * - integers that may be missing become float32 up to 16 bits, else float64; those of 64 bits, and flags,
 *   stay what they are unless they have a valid range, their missing values known as such
 * - times of the standard calendars become `timestamp_ns`; others stay numbers that know their units
 * @throws InvalidArgumentError for attributes that contradict CF; UnsupportedError for units of time that
 *   have no fixed length
 */
export function decodeVariable(raw: RawVariable): VariableParts {
  const parts = decoded(raw)
  const encoding = withTypes(parts.encoding!, raw.attrs ?? raw.array.attrs)
  keepStored(parts.array, raw.array)
  return { ...parts, encoding }
}

/** Arrays as they are stored, by what they were decoded to. */
const STORED = new WeakMap<DiskArray, DiskArray>()

/** The array that decoded values are stored as, where they are still all of it. */
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
  if (!isNumeric(dtype)) return whole
  if (attrs['dtype'] === 'bool' && elementBytes(dtype) === 1)
    return { ...whole, array: array.astype('bool'), attrs: dropAttributes(attrs, ['dtype']) }
  const numbers = decodeNumbers(whole, named)
  const units = timeUnitsOf(attrs)
  return units === undefined ? numbers : decodeTimeVariable(numbers, units)
}

/** Numbers that are scaled, and known to be missing. */
function decodeNumbers(whole: VariableParts, named: NamedValues | undefined): VariableParts {
  const { array, attrs, encoding } = whole
  const packing = packingOf(array.source, packingAttributes(array, named))
  const validRange = validRangeOf(attrs, array)
  const dtype = decodedType(array.dtype, packing, validRange !== undefined, attrs, named)
  const packed = Object.fromEntries(PACKING.filter((key) => key in attrs).map((key) => [key, attrs[key]]))
  // What the format itself says is missing its attributes may have encoded as text, or not at all.
  const fill = packing.fillValue ?? packing.missingValues![0]
  const isText = typeof packed['_FillValue'] === 'string'
  const filled = fill !== undefined && (isText || !('_FillValue' in packed)) && { [isText ? '_FillValue' : 'fill_value']: fill }
  const parts = { ...whole, attrs: dropAttributes(attrs, PACKING), encoding: { ...encoding, ...packed, ...filled } }
  if (dtype === undefined) return { ...parts, array: withMissing(array, packing) }
  const options = { ...packing, ...(validRange && { validRange }), dtype }
  return { ...parts, array: new DiskArray(scaledSource(array.source, options)) }
}

/**
 * What is missing in arrays of formats that say it by themselves is known: their attributes may have it
 * encoded.
 */
function packingAttributes({ source }: DiskArray, named: NamedValues | undefined): NamedValues {
  const isKnown = (name: string): boolean => source.missing !== undefined && /^(_FillValue|missing_value)$/.test(name)
  return { get: (name) => (isKnown(name) ? undefined : typedList(named?.get(name))), keys: () => named?.keys() ?? [] }
}

/** A list of numbers, of JSON, as other formats have it. */
const typedList = (value: unknown): unknown =>
  Array.isArray(value) && value.every((each) => typeof each === 'number') ? Float64Array.from(value) : value

/**
 * An array whose values stay as they are stored, but for what its attributes say is missing. What its format
 * knows of its chunks is about other missing values, so reductions read it.
 */
function withMissing(array: DiskArray, { fillValue, missingValues = [] }: ScaledOptions): DiskArray {
  const values = [...(fillValue === undefined ? [] : [fillValue]), ...missingValues]
  if (values.length === 0 || array.source.missing !== undefined) return array
  return missingTold(array, { values: values as never[], nan: false })
}

/** The same elements, of which others are missing. */
export function missingTold({ source }: DiskArray, missing: Missing): DiskArray {
  const { dtype, bulk = {} } = source
  const passed = { requests: bulk.requests, read: bulk.read, gather: bulk.gather }
  const given = Object.fromEntries(Object.entries(passed).filter(([, operation]) => operation !== undefined))
  const readBlock: BlockSource['readBlock'] = (...asked) => source.readBlock(...asked)
  return new DiskArray(
    deriveSource(source, { readBlock, bulk: given }, { dtype, missing: missing as Missing<DType>, attrs: source.attrs }),
  )
}

/** The units of times; undefined for what is none. */
export function timeUnitsOf(attrs: Attrs): TimeUnits | undefined {
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
    isMissing?.(value) || Number.isNaN(value) ? NAT : decodeTimestamp(value, times)
  const kind = { dtype: 'timestamp_ns' as const, missing: { values: [NAT], nan: false } }
  const source = elementwise(array.source, kind, { forth: forth as never }) as BlockSource
  const units = Object.fromEntries(TIME.filter((key) => key in attrs).map((key) => [key, attrs[key]]))
  const rest = { attrs: dropAttributes(attrs, TIME), encoding: { ...encoding, ...units } }
  return { ...numbers, ...rest, array: new DiskArray(source), stored: array, times }
}

/** The type of decoded values; undefined where they are as they are stored. */
function decodedType(
  dtype: DType,
  { scaleFactor, addOffset, unsigned, fillValue, missingValues }: ScaledOptions,
  hasRange: boolean,
  attrs: Attrs,
  named: NamedValues | undefined,
): 'float32' | 'float64' | undefined {
  const bytes = elementBytes(dtype as 'int8')
  if (scaleFactor !== undefined || addOffset !== undefined || unsigned) {
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

/**
 * The values that are valid, as packed, from and to; undefined where nothing says so.
 * @throws InvalidArgumentError for bounds that are no numbers
 */
function validRangeOf(attrs: Attrs, array: DiskArray): [number | bigint, number | bigint] | undefined {
  const numbers = (name: string, count: number): (number | bigint)[] => {
    const found = attributeNumbers(attrs, name)
    if (found?.length === count) return found
    const text = `${name} of ${array.source.label?.array ?? 'the array'} takes ${count === 1 ? 'a number' : 'two numbers'}`
    return invalidArgument(`${text}, got ${String(attrs[name])}`, attrs[name])
  }
  if ('valid_range' in attrs) return numbers('valid_range', 2) as [number, number]
  if (!('valid_min' in attrs || 'valid_max' in attrs)) return undefined
  const [low] = 'valid_min' in attrs ? numbers('valid_min', 1) : [Number.NEGATIVE_INFINITY]
  const [high] = 'valid_max' in attrs ? numbers('valid_max', 1) : [Number.POSITIVE_INFINITY]
  return [low!, high!]
}
