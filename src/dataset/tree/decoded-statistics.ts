import { DiskArray } from '../../array/disk-array.ts'
import { inMemory } from '../../array/lazy/generate.ts'
import type { NodeStatistics } from '../../array/nodes.ts'
import type { PartStats } from '../../array/source.ts'
import { isFloat } from '../../core/dtype.ts'
import { tensorOf } from '../../core/tensor.ts'
import { type Box, wholeBox } from '../../grid/range.ts'
import { attributeNumbers } from '../attributes.ts'
import type { Variable } from '../variable.ts'
import { decodedVariable, type TreeArray } from './tree-array.ts'

/**
 * Returns statistics of the decoded values of an array: extremes, the number of missing values and, for
 * stored floats, the number of other NaNs. Usually they are the stored statistics with decoded extremes. If
 * the stored ones count values that the attributes declare as missing, or use another order, the statistics
 * of chunks are combined instead. Undefined if that would require reading chunks.
 * @param decoded the decoded array
 * @param known returns the stored statistics
 */
export async function decodedStatistics(
  placed: Pick<TreeArray, 'name' | 'array'>,
  decoded: Variable,
  known: () => Promise<NodeStatistics>,
): Promise<NodeStatistics | undefined> {
  const { array } = placed
  if (isUntold(array, decoded)) return ofChunks(array, decoded, known)
  const stored = await known()
  const { min, max } = stored
  if (decoded.array === array || min === undefined || max === undefined) return stored
  const ends = await decodedVariable({ ...placed, array: decodeEnds(array, [min, max]) }).array.toTensor()
  const [low, high] = Array.from(ends.data as ArrayLike<number>)
  // A negative scale swaps the extremes.
  return { ...stored, ...(low! > high! ? { min: high, max: low } : { min: low, max: high }) } as NodeStatistics
}

/** Returns an array like the given one with only two elements. */
function decodeEnds({ source, dtype }: DiskArray, ends: readonly unknown[]): DiskArray {
  const { missing, fillValue, attrs, label } = source
  const tensor = tensorOf(dtype, [2])
  for (const [i, end] of ends.entries()) tensor.data[i] = end as never
  return new DiskArray({ ...inMemory(tensor), dtype, missing, fillValue, attrs, label } as never)
}

/**
 * Whether values are missing that the stored statistics count, or stored numbers have another order than
 * their values.
 */
function isUntold(array: DiskArray, { encoding }: Variable): boolean {
  const { values, nan } = array.missing
  const isKnown = (value: unknown): boolean => (Number.isNaN(value) ? nan : (values as readonly unknown[]).includes(value))
  const named = ['_FillValue', 'missing_value'].flatMap((name) => attributeNumbers(encoding, name) ?? [])
  const others = ['valid_min', 'valid_max', 'valid_range', '_Unsigned'].some((name) => name in encoding)
  // NaT is missing among times, even if no attribute names it.
  const told = attributeNumbers(encoding, 'fill_value') ?? []
  return others || !told.every(isKnown) || (array.source.missing === undefined && !named.every(isKnown))
}

/** Combines statistics of chunks without reading the chunks; undefined if a chunk has none. */
async function ofChunks(
  array: DiskArray,
  { array: { source, shape } }: Variable,
  known: () => Promise<NodeStatistics>,
): Promise<NodeStatistics | undefined> {
  let [isTold, count] = [source.bulk?.visit !== undefined, 0]
  let ends: readonly [number, number] | undefined
  const shouldRead = (_: Box, stats: PartStats | undefined): boolean => {
    if (!stats?.exact) isTold = false
    else if (stats.count > 0) {
      const [min, max] = [stats.min, stats.max] as [number, number]
      ends = ends === undefined ? [min, max] : [Math.min(min, ends[0]), Math.max(max, ends[1])]
      count += stats.count
    }
    return false
  }
  for await (const _ of source.bulk?.visit?.(wholeBox(shape), { shouldRead, visit: () => undefined }) ?? []);
  if (!isTold) return undefined
  // Decoded NaN stands for missing values and for stored NaN.
  const { nanCount } = isFloat(array.dtype) && !array.missing.nan ? await known() : {}
  return {
    min: ends?.[0],
    max: ends?.[1],
    nullCount: array.size - count - (nanCount ?? 0),
    ...(isFloat(array.dtype) && { nanCount: nanCount ?? 0 }),
    rowCount: array.size,
  } as NodeStatistics
}
