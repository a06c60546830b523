import { fillElement } from '../core/dtype.ts'
import type { BlockSource, PartStats } from './source.ts'

/**
 * What is known of elements that nobody wrote; undefined for those that are no numbers.
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
 * What is known of elements of one source, said of the same elements in another one with its own fill value.
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
    // Elements that are the fill value there are values like others here.
    if (typeof own !== 'number' && typeof own !== 'bigint') return undefined
    if (count === 0 || own < min!) min = own
    if (count === 0 || own > max!) max = own
    count += fillCount
  }
  const known = { min, max, count, fillCount: 0, exact }
  // Of those that are the fill value here, nobody knows how many there are.
  return isBetween(known, other) ? { ...known, exact: false } : known
}

/** Whether an element may be among those that have ends. */
export const isBetween = ({ min, max, count }: PartStats, element: unknown): boolean =>
  count > 0 && (element as number) >= min! && (element as number) <= max!
