import { Option } from 'commander'
import type { DiskArray } from '../array/disk-array.ts'
import { packingOf } from '../array/lazy/scaled.ts'
import type { NamedValues } from '../array/source.ts'
import { type DType, elementBytes, isBigInt, isFloat, isNumeric } from '../core/dtype.ts'
import { HyperslabError, isHyperslabError } from '../core/errors.ts'
import { type AttributeValue, type Statistics, scaled } from '../runtime/index.ts'

/** For commands that show values. */
export interface RawOption {
  readonly raw?: boolean
}

export const rawOption = () =>
  new Option('--raw', 'values as stored: neither scale_factor, add_offset nor missing values are applied')

/** An array as the command shows it. */
export interface Physical {
  /** The values: unpacked, and NaN where they are missing and floats. */
  readonly array: DiskArray
  /** True for elements of `array` that stand for a missing value and are no NaN. */
  isMissing(element: unknown): boolean
  /**
   * What is reduced: `array`, or the stored one where leaving out its fill value gives the same, exactly and
   * by stored statistics.
   */
  reducible(): DiskArray
  /**
   * Extremes of the values, the number of missing ones and, of floats that are stored, of NaNs that are not
   * missing.
   * @param stored gives those that are stored of the array
   */
  statistics(stored: StoredStatistics): Promise<Statistics>
}

type StoredStatistics = () => Promise<Statistics>

/**
 * What the elements of an array stand for, by its attributes (see `scaled`) and its fill value.
 * @throws as `scaled` does, naming the option that shows the stored values
 */
export function physical(array: DiskArray, { raw = false }: RawOption): Physical {
  const stored: Physical = {
    array,
    isMissing: () => false,
    reducible: () => array,
    statistics: (known) => known(),
  }
  const { dtype } = array
  if (raw || !(isNumeric(dtype) || dtype === 'timestamp_ns')) return stored
  const { values, nan } = array.missing
  const known = new Set<unknown>(nan ? [...values, Number.NaN] : values)
  const isKnown = (element: unknown): boolean => known.has(element)
  if (!isNumeric(dtype)) return { ...stored, isMissing: isKnown }
  const packing = orRaw(() => packingOf(array.source, packingAttributes(array)))
  const { scaleFactor, addOffset, unsigned } = packing
  const missing = new Set<unknown>([packing.fillValue, ...packing.missingValues!].filter((value) => value !== undefined))
  /** What nobody but the attributes tells is missing: stored statistics and sums take it for a value. */
  const hidden = [...missing].some((value) => !isKnown(value))
  const isPacked = scaleFactor !== undefined || addOffset !== undefined || unsigned !== undefined
  if (!isPacked && !isFloat(dtype)) {
    const unpacked = (): DiskArray => scaled(array, packing) as unknown as DiskArray
    const reducible = (): DiskArray => {
      if (!hidden) return array
      if (!isBigInt(dtype)) return unpacked()
      const text = `its missing_value is not its fill value, which cannot be left out of ${dtype} values; --raw leaves it in`
      throw new HyperslabError('UnsupportedError', text, array.source.label)
    }
    const statistics = (known: StoredStatistics) => (hidden ? scan(unpacked(), undefined) : known())
    return { array, isMissing: (element) => missing.has(element), reducible, statistics }
  }
  if (missing.size === 0 && !isPacked) return stored
  const view = orRaw(() => scaled(array, { ...packing, dtype: unpackedType(array) })) as unknown as DiskArray
  if (!isPacked && !hidden) return { ...stored, array: view }
  const statistics = async (known: StoredStatistics): Promise<Statistics> => {
    if (hidden || unsigned) {
      // In the view a missing value is a NaN like any other.
      const { nanCount } = isFloat(dtype) ? await known() : {}
      return scan(view, missing.has(Number.NaN) ? 0 : nanCount)
    }
    const { min, max, ...counts } = await known()
    if (min === undefined || max === undefined) return { min, max, ...counts }
    const round = view.dtype === 'float32' ? Math.fround : Number
    const ends = [min, max].map((end) => round(Number(end) * (scaleFactor ?? 1) + (addOffset ?? 0))).sort((a, b) => a - b)
    return { ...counts, min: ends[0], max: ends[1] }
  }
  return { ...stored, array: view, reducible: () => view, statistics }
}

function orRaw<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!isHyperslabError(error)) throw error
    throw new HyperslabError(error.tag, `${error.message}; --raw shows the stored values`, { cause: error })
  }
}

const NO_ATTRIBUTES: NamedValues = new Map()

/** The attributes that say how an array is packed. What is missing, some formats tell of it by themselves. */
function packingAttributes({ source, attrs = NO_ATTRIBUTES }: DiskArray): NamedValues {
  if (source.missing === undefined) return attrs
  const names = ['scale_factor', 'add_offset', '_Unsigned']
  return new Map(names.map((name) => [name, typedList(attrs.get(name))]))
}

/** A list of numbers, of JSON, as other formats have it. */
const typedList = (value: unknown): unknown =>
  Array.isArray(value) && value.every((each) => typeof each === 'number') ? Float64Array.from(value) : value

/** As CF has it: that of the attributes; of what needs more digits than they have, `float64`. */
function unpackedType({ dtype, attrs = NO_ATTRIBUTES }: DiskArray): 'float32' | 'float64' {
  if (dtype === 'float32') return dtype
  const types = ['scale_factor', 'add_offset'].map((name) => typeOf(attrs, name)?.replace('[]', '') as DType | undefined)
  const isShort = isNumeric(dtype) && elementBytes(dtype) <= 2
  return isShort && types.every((type) => type === undefined || type === 'float32') ? 'float32' : 'float64'
}

/** The type of an attribute; those of JSON are all `float64`. */
function typeOf(attrs: NamedValues & { typed?(name: string): AttributeValue | undefined }, name: string): string | undefined {
  if (attrs.typed !== undefined) return attrs.typed(name)?.type
  return attrs.get(name) === undefined ? undefined : 'float64'
}

/**
 * Statistics from the values themselves.
 * @param nanCount how many of the NaNs are not missing values; undefined where values cannot be NaN as stored
 */
async function scan(array: DiskArray, nanCount: number | undefined): Promise<Statistics> {
  let [min, max, nans] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0]
  for await (const { data } of array.blocks()) {
    for (const value of data.data as unknown as Float64Array) {
      if (Number.isNaN(value)) nans++
      if (value < min) min = value
      if (value > max) max = value
    }
  }
  const ends = nans === array.size ? { min: undefined, max: undefined } : { min, max }
  const counts = nanCount === undefined ? { nullCount: nans } : { nullCount: nans - nanCount, nanCount }
  return { ...ends, ...counts, rowCount: array.size }
}
