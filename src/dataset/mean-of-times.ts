import type { DiskArray } from '../array/disk-array.ts'
import type { Tensor } from '../core/tensor.ts'
import { presence } from './cast-float.ts'
import { NAT, NS_PER_SECOND } from './time/instant.ts'

/**
 * Computes means of times, rounded once, to the nearest nanosecond. A sum of 64-bit nanoseconds would
 * overflow, so whole seconds and the rest are summed separately.
 * @param sum reduces an array of numbers like the times, by summing present elements
 * @param skipMissing if false, a missing time makes the mean of its cell missing
 */
export async function meanOfTimes(
  array: DiskArray,
  skipMissing: boolean,
  sum: (part: DiskArray) => Promise<Tensor>,
): Promise<Tensor<'timestamp_ns'>> {
  const times = array as DiskArray<'timestamp_ns'>
  const part = (of: (time: bigint) => bigint): DiskArray =>
    times.map<'int64'>(of, { dtype: 'int64', fillValue: NAT }) as DiskArray
  const seconds = await sum(part((time) => time / NS_PER_SECOND))
  const rests = await sum(part((time) => time % NS_PER_SECOND))
  const counts = await sum(presence(array))
  const present = skipMissing ? undefined : await sum(allPresent(array))
  const data = BigInt64Array.from(seconds.data as BigInt64Array, (second, i) => {
    const count = counts.data[i] as number
    if (count === 0 || (present !== undefined && present.data[i] !== count)) return NAT
    return nearest(second * NS_PER_SECOND + (rests.data[i] as bigint), BigInt(count))
  })
  return { ...seconds, data }
}

/** Returns 1 for each time, missing or not. */
const allPresent = (array: DiskArray): DiskArray =>
  array.map<'float64'>(() => 1, { dtype: 'float64', keepMissing: false }) as DiskArray

/** Divides and rounds to the nearest integer; halves round up. */
function nearest(total: bigint, count: bigint): bigint {
  const twice = 2n * total + count
  const rest = twice % (2n * count)
  return (twice - (rest < 0n ? rest + 2n * count : rest)) / (2n * count)
}
