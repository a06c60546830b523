import { fillElement } from '../core/dtype.ts'
import type { BlockSource, PartStats } from './source.ts'

/**
 * Returns the statistics of unwritten elements; undefined if these are not numbers.
 * @param fill as stored
 * @param hasFill whether that is a fill value, and not just zero
 */
export function unwrittenStats(
  { fill, hasFill }: { readonly fill: unknown; readonly hasFill: boolean },
  count: number,
): PartStats | undefined {
  if (hasFill) return { min: undefined, max: undefined, count: 0, fillCount: count, exact: true }
  if (typeof fill !== 'number' && typeof fill !== 'bigint') return undefined
  return { min: fill, max: fill, count, fillCount: 0, exact: true }
}

/**
 * Converts statistics of a part from the fill value of one source to that of another with the same elements.
 */
export function restateFill(
  stats: PartStats,
  from: Pick<BlockSource, 'dtype' | 'fillValue'>,
  to: Pick<BlockSource, 'dtype' | 'fillValue'>,
): PartStats | undefined {
  const [own, other] = [from, to].map(({ dtype, fillValue }) =>
    fillValue === undefined ? undefined : fillElement(dtype, fillValue),
  )
  if (Object.is(own, other)) return stats
  let { min, max, count } = stats
  const { fillCount, exact } = stats
  if (fillCount > 0 && !Number.isNaN(own)) {
    // Elements equal to that fill value are ordinary values here.
    if (typeof own !== 'number' && typeof own !== 'bigint') return undefined
    if (count === 0 || own < min!) min = own
    if (count === 0 || own > max!) max = own
    count += fillCount
  }
  const known = { min, max, count, fillCount: 0, exact }
  // The number of elements equal to the fill value here is unknown.
  return isBetween(known, other) ? { ...known, exact: false } : known
}

/** Whether an element may be among those between minimum and maximum. */
export const isBetween = ({ min, max, count }: PartStats, element: unknown): boolean =>
  count > 0 && (element as number) >= min! && (element as number) <= max!
