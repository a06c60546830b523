import { elementBytes, isNumeric, toElement } from '../../core/dtype.ts'
import { HyperslabError, invalidArgument } from '../../core/errors.ts'
import type { Checks } from '../../core/options.ts'
import { isAnyMissing, missingElement, missingElements, NOT_A_NUMBER, NOTHING } from '../missing.ts'
import { missingTest } from '../missing-test.ts'
import type { BlockSource } from '../source.ts'
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
  const values = [...(fillValue === undefined ? [] : [fillValue]), ...missingValues].map((value) => toElement(packed, value))
  const own = missingElements(fillValue === undefined ? source : { dtype: packed, missing: NOTHING })
  const missing = { values: [...own.values, ...values], nan: own.nan || values.some(Number.isNaN) }
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
  const forth = (value: number | bigint): number => (isMissing(value) ? Number.NaN : numberOf(value) * scaleFactor + addOffset)
  return elementwise(
    source,
    { dtype, fillValue: Number.NaN, missing: isAnyMissing(missing) ? NOT_A_NUMBER : NOTHING },
    forth,
    back,
  )
}
