import type { DiskArray } from '../array/disk-array.ts'
import { isHyperslabError } from '../core/errors.ts'
import type { Signal } from '../core/signal.ts'
import type { Tensor } from '../core/tensor.ts'
import { NAT } from './time/instant.ts'

/**
 * Computes medians or quantiles of times, from their distances to the earliest one in float64 nanoseconds.
 * Distances of whole seconds are exact over 146 years. Others are rounded to 53 bits, which keeps nanoseconds
 * over 104 days. Reads each chunk once more, for the earliest time.
 * @param rank computes the ranks of an array of numbers like the times; NaN becomes a missing time
 */
export async function ranksFromFirst(
  array: DiskArray,
  signal: Signal,
  rank: (distances: DiskArray) => Promise<Tensor>,
): Promise<Tensor<'timestamp_ns'>> {
  const times = array as DiskArray<'timestamp_ns'>
  const first = await earliest(times, signal)
  const distances = times.map<'float64'>((time) => Number(time - first), { dtype: 'float64', fillValue: Number.NaN })
  const ranks = await rank(distances as DiskArray)
  const data = BigInt64Array.from(ranks.data as Float64Array, (distance): bigint =>
    Number.isNaN(distance) ? NAT : asTime(first + BigInt(Math.round(distance))),
  )
  return { ...ranks, data }
}

const LAST = 2n ** 63n - 1n

/** Returns the nearest time: distances of centuries are rounded, maybe beyond the last time. */
const asTime = (time: bigint): bigint => (time > LAST ? LAST : time)

/** Returns the earliest time; 0 if all are missing. */
async function earliest(times: DiskArray<'timestamp_ns'>, signal: Signal): Promise<bigint> {
  try {
    return await times.min({ signal })
  } catch (error) {
    if (!isHyperslabError(error, 'EmptyReductionError')) throw error
    return 0n
  }
}
