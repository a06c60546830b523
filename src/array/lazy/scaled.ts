import { elementBytes, type FixedDType, isNumeric, toElement } from '../../core/dtype.ts'
import { type ErrorDetails, HyperslabError, invalidArgument } from '../../core/errors.ts'
import type { Checks } from '../../core/options.ts'
import { isAnyMissing, type MissingOf, missingElement, missingElements, NOT_A_NUMBER, NOTHING } from '../missing.ts'
import { missingTest } from '../missing-test.ts'
import { isBetween, restateFill } from '../part-stats.ts'
import type { BlockSource, NamedValues, PartStats } from '../source.ts'
import { keepAffine } from './affine.ts'
import { casting } from './astype.ts'
import { elementwise } from './elementwise.ts'

/** Options of `scaled`. */
export interface ScaledOptions {
  /** CF's `scale_factor`; 1 when left out. */
  readonly scaleFactor?: number
  /** CF's `add_offset`; 0 when left out. */
  readonly addOffset?: number
  /**
   * CF's `_FillValue`: read as NaN, and what NaN is written as. When left out, what is missing in the array
   * is read as NaN.
   */
  readonly fillValue?: number | bigint
  /** CF's `missing_value`s, read as NaN too. */
  readonly missingValues?: readonly (number | bigint)[]
  /** CF's `valid_range`, as packed values are: what is below the first or above the second is read as NaN. */
  readonly validRange?: readonly [number | bigint, number | bigint]
  /** NetCDF's `_Unsigned`: signed integers are read as unsigned ones of the same bits. */
  readonly unsigned?: boolean
  /** Data type of the results; `float64` when left out. */
  readonly dtype?: 'float32' | 'float64'
}

export const SCALED_CHECKS: Checks<ScaledOptions> = {
  scaleFactor: 'number',
  addOffset: 'number',
  fillValue: 'value',
  missingValues: 'list',
  validRange: 'list',
  unsigned: 'boolean',
  dtype: ['float32', 'float64'],
}

/**
 * Packed values unpacked: `packed * scaleFactor + addOffset`, and NaN, which is missing then, where there is
 * no value. Writing packs again, rounding to the nearest integer where integers are packed.
 * @throws UnsupportedError unless the array is of numbers; InvalidArgumentError for a scale of 0 or when a
 *   written value cannot be packed
 */
export function scaledSource(source: BlockSource, options: ScaledOptions = {}): BlockSource<'float32' | 'float64'> {
  const { scaleFactor = 1, addOffset = 0, fillValue, missingValues = [], unsigned = false, dtype = 'float64' } = options
  const packed = source.dtype
  if (!isNumeric(packed)) throw new HyperslabError('UnsupportedError', `${packed} values cannot be scaled`, { actual: packed })
  if (![scaleFactor, addOffset].every(Number.isFinite) || scaleFactor === 0) {
    throw new HyperslabError('InvalidArgumentError', `cannot scale by ${scaleFactor} and ${addOffset}`, {
      actual: [scaleFactor, addOffset],
    })
  }
  const own = missingElements(fillValue === undefined ? source : { dtype: packed, missing: NOTHING })
  const values = [...own.values, ...(fillValue === undefined ? [] : [fillValue]), ...missingValues] as number[]
  const missing = missingElements({ dtype: packed, missing: { values, nan: own.nan } })
  const isMissing = missingTest(missing) ?? (() => false)
  const fill = missingElement(missing)
  const pack = casting('float64', packed, true)
  const rounds = packed !== 'float32' && packed !== 'float64'
  if (unsigned && !packed.startsWith('int')) invalidArgument(`unsigned is for signed integers, not for ${packed}`, packed)
  const wrap = 2 ** (8 * elementBytes(packed))
  const back = (value: number): unknown => {
    if (Number.isNaN(value)) return fill ?? pack(value as never)
    const exact = (value - addOffset) / scaleFactor
    const whole = rounds ? Math.round(exact) + 0 : exact
    // Numbers below 0 become ones that no signed type has, and are refused as those that need more bits are.
    return pack((unsigned && whole < wrap && (whole < 0 || whole >= wrap / 2) ? whole - wrap : whole) as never)
  }
  const numberOf = (value: number | bigint): number => (unsigned && value < 0 ? Number(value) + wrap : Number(value))
  // Bounds are stored as the values are: of unsigned ones, -1 is the greatest.
  const [lowest, highest] = (options.validRange ?? [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]).map((bound) =>
    Number.isFinite(Number(bound)) ? numberOf(bound) : Number(bound),
  ) as [number, number]
  const isOutside =
    options.validRange === undefined
      ? () => false
      : (value: number | bigint): boolean => numberOf(value) < lowest || numberOf(value) > highest
  const forth = (value: number | bigint): number =>
    isMissing(value) || isOutside(value) ? Number.NaN : numberOf(value) * scaleFactor + addOffset
  const end = (value: number | bigint): number => toElement(dtype, numberOf(value) * scaleFactor + addOffset) as number
  const statsOf = (stats: PartStats): PartStats | undefined => {
    const [fillBelow] = missingElements({ dtype: packed, fillValue: source.fillValue }).values
    const isNone = isMissing(source.fillValue === undefined ? undefined : (fillBelow ?? Number.NaN))
    const known = isNone ? { ...stats, fillCount: 0 } : restateFill(stats, source, { dtype: packed })
    if (known === undefined || known.count === 0) return known
    const [min, max] = [known.min!, known.max!]
    // What has a sign becomes larger than what has none.
    if (unsigned && min < 0 !== max < 0) return undefined
    const [first, last] = scaleFactor > 0 ? [min, max] : [max, min]
    if (isOutside(min) || isOutside(max)) return undefined
    const others = missing.values.some((value) => value !== fillBelow && isBetween(known, value))
    return { ...known, min: end(first), max: end(last), exact: known.exact && !others }
  }
  const unpacked = elementwise(
    source,
    { dtype, fillValue: Number.NaN, missing: isAnyMissing(missing) || options.validRange !== undefined ? NOT_A_NUMBER : NOTHING },
    forth,
    {
      back,
      statsOf,
    },
  )
  if (!unsigned && options.validRange === undefined && missing.values.length <= 1) {
    const [fill] = missing.values as readonly (number | bigint)[]
    keepAffine(unpacked, { packed: source as BlockSource<FixedDType>, scaleFactor, addOffset, fill })
  }
  return unpacked
}

interface Attributed extends MissingOf {
  readonly label?: ErrorDetails
}

/**
 * How an array is packed, by the attributes that the CF conventions have for it: `scale_factor`,
 * `add_offset`, `_FillValue`, `missing_value` and NetCDF's `_Unsigned`. What is missing in it by itself is,
 * too.
 * @throws InvalidArgumentError for attributes that are no numbers, or no values of the packed type;
 *   UnsupportedError unless the array is of numbers
 */
export function packingOf(array: Attributed, attrs: NamedValues): ScaledOptions {
  const { dtype, label = {} } = array
  if (!isNumeric(dtype))
    throw new HyperslabError('UnsupportedError', `${dtype} values cannot be scaled`, { ...label, actual: dtype })
  const fail = (name: string, what: string, actual: unknown): never => {
    const text = `attribute '${name}' must be ${what}, got ${typeof actual === 'string' ? `the text '${actual}'` : String(actual)}`
    throw new HyperslabError('InvalidArgumentError', text, { ...label, actual })
  }
  const numbers = (name: string): (number | bigint)[] => {
    const value = attrs.get(name)
    if (value === undefined) return []
    // Some writers make every attribute a list.
    const list = ArrayBuffer.isView(value) ? Array.from(value as unknown as ArrayLike<number | bigint>) : [value]
    return list.map((each) => (typeof each === 'number' || typeof each === 'bigint' ? each : fail(name, 'numbers', value)))
  }
  const one = (name: string): number | bigint | undefined => {
    const list = numbers(name)
    return list.length > 1 ? fail(name, 'one number', attrs.get(name)) : list[0]
  }
  const packed = (name: string, value: number | bigint): number | bigint => {
    try {
      return toElement(dtype, value) as number | bigint
    } catch {
      return fail(name, `a ${dtype} value, as the packed ones are`, value)
    }
  }
  const [scale, offset, fill] = [one('scale_factor'), one('add_offset'), one('_FillValue')]
  const unsigned = attrs.get('_Unsigned')
  if (unsigned !== undefined && !/^(true|false)$/.test(String(unsigned))) fail('_Unsigned', "'true' or 'false'", unsigned)
  const named = numbers('missing_value').map((value) => packed('missing_value', value))
  const { values, nan } = missingElements(array)
  const own = [...(values as (number | bigint)[]), ...(nan ? [Number.NaN] : [])]
  return {
    ...(scale !== undefined && { scaleFactor: Number(scale) }),
    ...(offset !== undefined && { addOffset: Number(offset) }),
    ...(fill !== undefined && { fillValue: packed('_FillValue', fill) }),
    ...(fill === undefined && own[0] !== undefined && { fillValue: own[0] }),
    missingValues: [...named, ...own],
    ...(String(unsigned) === 'true' && dtype.startsWith('int') && { unsigned: true }),
  }
}
