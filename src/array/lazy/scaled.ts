import { type FixedDType, isNumeric } from '../../core/dtype.ts'
import { HyperslabError, invalidArgument } from '../../core/errors.ts'
import { lazily } from '../../core/lazily.ts'
import type { Checks } from '../../core/options.ts'
import { isAnyMissing, missingElements, NOT_A_NUMBER, NOTHING } from '../missing.ts'
import type { BlockSource } from '../source.ts'
import { keepAffine } from './affine.ts'
import { elementwise } from './elementwise.ts'

/** Options of `scaled`. */
export interface ScaledOptions {
  /** CF's `scale_factor`; default 1. */
  readonly scaleFactor?: number
  /** CF's `add_offset`; default 0. */
  readonly addOffset?: number
  /**
   * CF's `_FillValue`: read as NaN, and written for NaN. By default, missing elements of the array are read
   * as NaN.
   */
  readonly fillValue?: number | bigint
  /** CF's `missing_value`s, read as NaN, too. */
  readonly missingValues?: readonly (number | bigint)[]
  /** CF's `valid_range`, as packed values. Values below the first or above the second are read as NaN. */
  readonly validRange?: readonly [number | bigint, number | bigint]
  /** NetCDF's `_Unsigned`: signed integers are read as unsigned ones of the same bits. */
  readonly unsigned?: boolean
  /** NetCDF's `_Unsigned = "false"`: unsigned integers are read as signed ones of the same bits. */
  readonly signed?: boolean
  /** Data type of the results; default `float64`. */
  readonly dtype?: 'float32' | 'float64'
}

export const SCALED_CHECKS: Checks<ScaledOptions> = {
  scaleFactor: 'number',
  addOffset: 'number',
  fillValue: 'value',
  missingValues: 'list',
  validRange: 'list',
  unsigned: 'boolean',
  signed: 'boolean',
  dtype: ['float32', 'float64'],
}

/**
 * Unpacks values: `packed * scaleFactor + addOffset`, and NaN, which is missing then, for packed values that
 * mark missing elements. Writing packs again, rounding to the nearest integer if integers are packed.
 * @throws UnsupportedError unless the array is numeric; InvalidArgumentError for a scale of 0, or if a
 *   written value cannot be packed
 */
export function scaledSource(source: BlockSource, options: ScaledOptions = {}): BlockSource<'float32' | 'float64'> {
  const { scaleFactor = 1, addOffset = 0, fillValue, missingValues = [], dtype = 'float64' } = options
  const { unsigned = false, signed = false } = options
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
  if (unsigned && !packed.startsWith('int')) invalidArgument(`unsigned is for signed integers, not for ${packed}`, packed)
  if (signed && !packed.startsWith('uint')) invalidArgument(`signed is for unsigned integers, not for ${packed}`, packed)
  const isPartial = isAnyMissing(missing) || options.validRange !== undefined
  const kind = { dtype, fillValue: Number.NaN, missing: isPartial ? NOT_A_NUMBER : NOTHING }
  const packing = { scaleFactor, addOffset, unsigned, signed, dtype, missing, validRange: options.validRange }
  const load = lazily(async () => (await import('./unpacking.ts')).unpacking(source, packing))
  const unpacked = elementwise(source, kind, { load, back: true })
  if (!unsigned && !signed && options.validRange === undefined && missing.values.length <= 1) {
    const [fill] = missing.values as readonly (number | bigint)[]
    keepAffine(unpacked, { packed: source as BlockSource<FixedDType>, scaleFactor, addOffset, fill })
  }
  return unpacked
}
