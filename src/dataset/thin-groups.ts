import type { DiskArray } from '../array/disk-array.ts'
import type { DType } from '../core/dtype.ts'
import type { Signal } from '../core/signal.ts'
import { type Tensor, tensorOf } from '../core/tensor.ts'
import { type GroupedAxes, reduceGroups } from './group-reduce.ts'
import type { GroupKind } from './reductions.ts'

/** Reduces groups, as {@link reduceGroups}. Groups of fewer values than `minPeriods` become NaN. */
export async function thinnedGroups(
  array: DiskArray,
  grouped: GroupedAxes,
  kind: GroupKind,
  how: Parameters<typeof reduceGroups>[3],
  { minPeriods, dtype, signal }: { readonly minPeriods: number; readonly dtype: DType; readonly signal: Signal },
): Promise<Tensor> {
  const counts = await reduceGroups(array, grouped, 'count', { skipMissing: true }, signal)
  const isEnough = (i: number): boolean => Number((counts.data as ArrayLike<number>)[i]) >= minPeriods
  const values = await reduceGroups(array, grouped, kind, how, signal)
  const result = tensorOf(dtype as 'float64', values.shape)
  for (let i = 0; i < result.data.length; i++)
    result.data[i] = isEnough(i) ? Number((values.data as ArrayLike<number>)[i]) : Number.NaN
  return result
}
