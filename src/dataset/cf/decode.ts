import { DiskArray } from '../../array/disk-array.ts'
import { deriveSource } from '../../array/lazy/derive.ts'
import { elementwise } from '../../array/lazy/elementwise.ts'
import { packingOf, type ScaledOptions, scaledSource } from '../../array/lazy/scaled.ts'
import { missingElements } from '../../array/missing.ts'
import { missingTest } from '../../array/missing-test.ts'
import type { BlockSource, NamedValues } from '../../array/source.ts'
import { type DType, elementBytes, isFloat, isNumeric } from '../../core/dtype.ts'
import { invalidArgument } from '../../core/errors.ts'
import { type Attrs, attributeNumbers, attributeText, dropAttributes, plainAttrs } from '../attributes.ts'
import { parseCalendar } from '../time/calendar.ts'
import { NAT } from '../time/instant.ts'
import { decodeTimestamp, parseTimeUnits, type TimeUnits } from '../time/units.ts'
import type { VariableParts } from '../variable.ts'

/** What decoding takes from the attributes of packed values. */
const PACKING = [
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
 *   stay what they are, their missing values known as such
 * - times of the standard calendars become `timestamp_ns`; others stay numbers that know their units
 * @throws InvalidArgumentError for attributes that contradict CF; UnsupportedError for units of time that
 *   have no fixed length
 */
export function decodeVariable({ name, array, dims, attrs: named = array.attrs }: RawVariable): VariableParts {
  const { coordinates, ...attrs } = plainAttrs(named)
  const chunks = array.chunks.axes.map(({ chunkLength }) => chunkLength)
  const encoding = { dtype: array.dtype, chunks, ...(coordinates !== undefined && { coordinates }) }
  const whole = { name, array, dims, attrs, encoding }
  const { dtype } = array
  if (!isNumeric(dtype)) return whole
  if (attrs['dtype'] === 'bool' && elementBytes(dtype) === 1)
    return { ...whole, array: array.astype('bool'), attrs: dropAttributes(attrs, ['dtype']) }
  const units = timeUnitsOf(attrs)
  if (units !== undefined) return decodeTimeVariable(whole, units)
  const packing = packingOf(array.source, packingAttributes(array, named))
  const validRange = validRangeOf(attrs, array)
  const decoded = decodedType(dtype, packing, validRange !== undefined, attrs, named)
  const packed = Object.fromEntries(PACKING.filter((key) => key in attrs).map((key) => [key, attrs[key]]))
  const all = { ...encoding, ...packed }
  const rest = dropAttributes(attrs, PACKING)
  if (decoded === undefined) return { ...whole, array: withMissing(array, packing), attrs: rest, encoding: all }
  const options = { ...packing, ...(validRange && { validRange }), dtype: decoded }
  return { ...whole, array: new DiskArray(scaledSource(array.source, options)), attrs: rest, encoding: all }
}

/**
 * What is missing in arrays of formats that say it by themselves is known: their attributes may have it
 * encoded.
 */
function packingAttributes({ source }: DiskArray, named: NamedValues | undefined): NamedValues {
  const isKnown = (name: string): boolean => source.missing !== undefined && /^(_FillValue|missing_value)$/.test(name)
  return { get: (name) => (isKnown(name) ? undefined : named?.get(name)), keys: () => named?.keys() ?? [] }
}

/**
 * An array whose values stay as they are stored, but for what its attributes say is missing. What its format
 * knows of its chunks is about other missing values, so reductions read it.
 */
function withMissing(array: DiskArray, { fillValue, missingValues = [] }: ScaledOptions): DiskArray {
  const { source } = array
  const { dtype, bulk = {} } = source
  const values = [...(fillValue === undefined ? [] : [fillValue]), ...missingValues]
  if (values.length === 0 || source.missing !== undefined) return array
  const missing = { values: values as never[], nan: false }
  const passed = { requests: bulk.requests, read: bulk.read, gather: bulk.gather }
  const given = Object.fromEntries(Object.entries(passed).filter(([, operation]) => operation !== undefined))
  const readBlock: BlockSource['readBlock'] = (...asked) => source.readBlock(...asked)
  return new DiskArray(deriveSource(source, { readBlock, bulk: given }, { dtype, missing, attrs: source.attrs }))
}

/** The units of times; undefined for what is none. */
export function timeUnitsOf(attrs: Attrs): TimeUnits | undefined {
  const units = attributeText(attrs, 'units')
  return units !== undefined && /\bsince\b/i.test(units)
    ? parseTimeUnits(units, parseCalendar(attributeText(attrs, 'calendar')))
    : undefined
}

function decodeTimeVariable(whole: VariableParts, times: TimeUnits): VariableParts {
  const { array, attrs, encoding } = whole
  const isStandard = times.calendar === 'standard' || times.calendar === 'proleptic_gregorian'
  const stored = Object.fromEntries([...TIME, ...PACKING].filter((key) => key in attrs).map((key) => [key, attrs[key]]))
  const rest = dropAttributes(attrs, PACKING)
  if (!isStandard) return { ...whole, attrs: rest, encoding: { ...encoding, ...stored }, times }
  const isMissing = missingTest(missingElements(array.source))
  const forth = (value: number | bigint): bigint =>
    isMissing?.(value) || Number.isNaN(value) ? NAT : decodeTimestamp(value, times)
  const kind = { dtype: 'timestamp_ns' as const, missing: { values: [NAT], nan: false } }
  const source = elementwise(array.source, kind, forth as never, {}) as BlockSource
  return {
    ...whole,
    array: new DiskArray(source),
    attrs: dropAttributes(rest, TIME),
    encoding: { ...encoding, ...stored },
    stored: array,
    times,
  }
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
  if (bytes === 8 || 'flag_values' in attrs || 'flag_masks' in attrs) return undefined
  return bytes <= 2 ? 'float32' : 'float64'
}

/** What values are valid, as packed; undefined where nothing says so, or the bounds are no numbers. */
function validRangeOf(attrs: Attrs, array: DiskArray): [number | bigint, number | bigint] | undefined {
  const range = attributeNumbers(attrs, 'valid_range')
  if ('valid_range' in attrs) {
    if (range?.length === 2) return [range[0]!, range[1]!]
    return invalidArgument(
      `valid_range of ${array.source.label?.array ?? 'the array'} takes two numbers, got ${String(attrs['valid_range'])}`,
      attrs['valid_range'],
    )
  }
  const [low] = attributeNumbers(attrs, 'valid_min') ?? []
  const [high] = attributeNumbers(attrs, 'valid_max') ?? []
  if (low === undefined && high === undefined) return undefined
  return [low ?? Number.NEGATIVE_INFINITY, high ?? Number.POSITIVE_INFINITY]
}
