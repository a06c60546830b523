import { allocate, type DType, type FixedDType, isBigInt, isFixed, isFloat } from '../../core/dtype.ts'
import { sizeOf } from '../../core/shape.ts'
import type { ChunkStats, Extreme } from '../../engine/chunk-stats.ts'
import type { Definition } from '../format/definition.ts'
import { floatFill, type StatValue } from '../format/footer-values.ts'
import type { ArrayStats } from '../format/stats-file.ts'
import { floatBits } from '../rkyv/leaves.ts'
import { compareBytes, formatBounds } from './chunk-stats.ts'

/**
 * Statistics of an array of `rowCount` elements: `min`, `max` and the number of null elements (`nullCount`).
 * Unwritten elements and those equal to the fill value are null.
 */
export interface Statistics {
  /** Minimum and maximum of the elements that are neither null nor NaN; undefined if there are none. */
  readonly min: number | bigint | string | Uint8Array | undefined
  readonly max: number | bigint | string | Uint8Array | undefined
  readonly nullCount: number
  /** Number of floats that are NaN and not null. Undefined for other types. */
  readonly nanCount?: number
  readonly rowCount: number
}

/**
 * Combines the statistics of chunks into those of an array, as the format defines them: NaNs count for the
 * bounds, and unwritten chunks are entirely null.
 */
export function combine(definition: Definition, chunks: Iterable<ChunkStats>): ArrayStats {
  const all = merge(chunks)
  return statsOf(definition, formatBounds(all), all)
}

/** Combines the statistics of chunks into those of the public API. */
export function summarize(definition: Definition, chunks: Iterable<ChunkStats>): Statistics {
  const all = merge(chunks)
  return present(definition.dtype.kind, statsOf(definition, all, all), all.nanCount)
}

type Total = Omit<ChunkStats, 'sum' | 'nullCount'>

function merge(chunks: Iterable<ChunkStats>): Total {
  let min: Extreme | undefined
  let max: Extreme | undefined
  let [count, nanCount] = [0, 0]
  const nans = { negative: false, positive: false }
  for (const chunk of chunks) {
    count += chunk.count
    nanCount += chunk.nanCount
    nans.negative ||= chunk.nans.negative
    nans.positive ||= chunk.nans.positive
    if (chunk.min === undefined) continue
    if (min === undefined || compare(chunk.min, min) < 0) min = chunk.min
    if (max === undefined || compare(chunk.max!, max) > 0) max = chunk.max
  }
  return { min, max, count, nanCount, nans }
}

function statsOf(
  { name, dtype: { kind }, shape }: Definition,
  { min, max }: Pick<Total, 'min' | 'max'>,
  { count, nanCount }: Total,
): ArrayStats {
  const rowCount = sizeOf(shape)
  return {
    name,
    min: toStat(kind, min),
    max: toStat(kind, max),
    nullCount: BigInt(Math.max(0, rowCount - count - nanCount)),
    rowCount: BigInt(rowCount),
  }
}

function toStat(kind: string, value: Extreme | undefined): StatValue | null {
  if (value === undefined) return null
  if (value instanceof Uint8Array) return { kind: 'bytes', value }
  if (isFloat(kind as DType)) return floatFill(value as number)
  if (kind === 'timestamp_ns') return { kind, value: value as bigint }
  return { kind: kind === 'bool' || kind.startsWith('uint') ? 'uint' : 'int', value: BigInt(value) }
}

/**
 * Whether there are NaNs. They are below or above all numbers, so stored statistics then contain neither
 * their count nor both bounds.
 */
export const haveNaN = ({ min, max }: ArrayStats): boolean =>
  [min, max].some((stat) => stat?.kind === 'float' && Number.isNaN(stat.value))

/**
 * Whether stored statistics are correct for the elements of an array. Other writers omit a bound although
 * there are elements, use NaN for one, or store a bound that no element can have. Such statistics are
 * ignored, and the elements are read.
 */
export function areExact({ min, max, nullCount, rowCount }: ArrayStats, kind: string): boolean {
  if (kind === 'list' || kind === 'fixed_size_list') return true
  if (nullCount >= rowCount) return min === null && max === null
  if (!isFixed(kind as DType)) return min?.kind === 'bytes' && max?.kind === 'bytes' && compareBytes(min.value, max.value) <= 0
  return isElement(min, kind as FixedDType) && isElement(max, kind as FixedDType) && min.value <= max.value
}

function isElement(bound: StatValue | null, dtype: FixedDType): bound is Exclude<StatValue, { kind: 'bytes' }> {
  if (bound === null || bound.kind === 'bytes') return false
  const value = isBigInt(dtype) ? bound.value : Number(bound.value)
  const data = allocate(dtype, 1) as { [index: number]: number | bigint }
  data[0] = value
  return data[0] === value
}

/**
 * Converts statistics without NaNs for the public API: numbers for arrays of numbers, strings for strings.
 */
export function present(kind: string, { min, max, nullCount, rowCount }: ArrayStats, nanCount = 0): Statistics {
  const show = (stat: StatValue | null): Statistics['min'] => {
    if (stat === null) return undefined
    if (stat.kind === 'bytes') return kind === 'string' ? new TextDecoder().decode(stat.value) : stat.value
    if (stat.kind === 'float') return stat.value
    return kind.endsWith('64') || kind === 'timestamp_ns' ? stat.value : Number(stat.value)
  }
  const nans = isFloat(kind as DType) && { nanCount }
  return { min: show(min), max: show(max), nullCount: Number(nullCount), ...nans, rowCount: Number(rowCount) }
}

/**
 * Compares numbers in the total order of IEEE 754 (-NaN, -Infinity, …, -0, +0, …, Infinity, NaN), and bytes
 * lexicographically.
 */
export function compare(a: Extreme, b: Extreme): number {
  if (a instanceof Uint8Array) return compareBytes(a, b as Uint8Array)
  if (typeof a === 'bigint') return a < (b as bigint) ? -1 : Number(a > (b as bigint))
  const [left, right] = [totalOrder(a), totalOrder(b as number)]
  return left < right ? -1 : Number(left > right)
}

function totalOrder(value: number): bigint {
  const bits = BigInt.asIntN(64, floatBits('float64', value) as bigint)
  return bits < 0n ? bits ^ 0x7fffffffffffffffn : bits
}
