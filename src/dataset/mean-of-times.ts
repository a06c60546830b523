import type { DiskArray } from '../array/disk-array.ts'
import type { Tensor } from '../core/tensor.ts'
import { presence } from './as-floats.ts'
import { NAT, NS_PER_SECOND } from './time/instant.ts'

/**
 * Means of times, to the nearest nanosecond, with nothing rounded before. Nanoseconds of 64 bits have no room
 * for a sum, so seconds are summed apart from what is below a second.
 * @param sum sums an array of numbers as the times are to be reduced, without those that are missing
 * @param skipMissing false where a missing time makes the mean of its cell missing
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

/** 1 in place of each time, missing or not. */
const allPresent = (array: DiskArray): DiskArray =>
  array.map<'float64'>(() => 1, { dtype: 'float64', skipMissing: false }) as DiskArray

/** A quotient, of halves the later one. */
function nearest(total: bigint, count: bigint): bigint {
  const twice = 2n * total + count
  const rest = twice % (2n * count)
  return (twice - (rest < 0n ? rest + 2n * count : rest)) / (2n * count)
}
