import { DiskArray } from '../array/disk-array.ts'
import { inMemory } from '../array/lazy/generate.ts'
import { type Element, missingElement, missingElements, NOTHING } from '../array/missing.ts'
import { reduceEachGroup } from '../array/reductions/each-group.ts'
import { type FoldKind, foldedDType } from '../array/reductions/fold-kinds.ts'
import type { BlockSource } from '../array/source.ts'
import { type DType, isBigInt, isFloat } from '../core/dtype.ts'
import { invalidArgument } from '../core/errors.ts'
import type { Signal } from '../core/signal.ts'
import { copyTensor, type Tensor, tensorOf, viewTensor, wholeAxis } from '../core/tensor.ts'
import { presence } from './cast-float.ts'
import type { ReduceNumbers } from './reduce-times.ts'
import { type GroupKind, isOfTimes, isRank, ofTimes, skipping } from './reductions.ts'
import { NAT } from './time/instant.ts'

/** Groups along a dimension, with other dimensions to reduce. */
export interface GroupedAxes {
  readonly dims: readonly string[]
  readonly dim: string
  /** Group of each position; -1 for none. */
  readonly of: Int32Array
  readonly count: number
  /** Dimensions to reduce, including the grouped one. */
  readonly reduced: readonly string[]
}

/**
 * Reduces each group along the grouped dimension and maybe others. The groups replace the grouped dimension.
 * Each chunk is read once; for quantiles, and for variances along several dimensions, once for each group in
 * it.
 * @param options.q share for quantiles
 */
export async function reduceGroups(
  array: DiskArray,
  grouped: GroupedAxes,
  kind: GroupKind,
  options: { readonly skipMissing: boolean; readonly q?: number; readonly ddof?: number },
  signal: Signal,
): Promise<Tensor> {
  const { skipMissing, q, ddof } = options
  if (isOfTimes(array.dtype, kind)) {
    const reduce: ReduceNumbers = (part, by) =>
      reduceGroups(part, grouped, by, by === 'sum' ? { skipMissing: true } : options, signal)
    return ofTimes(array, kind, skipMissing, reduce)(signal)
  }
  const isRanked = isRank(kind)
  const { dims, dim, of, count, reduced } = grouped
  const axis = dims.indexOf(dim)
  const skip = { ...skipping(array, skipMissing), signal }
  const others = reduced.filter((each) => each !== dim).map((each) => dims.indexOf(each))
  const alone = async (fold: FoldKind): Promise<Tensor> => {
    const folded = fold === 'count' ? presence(array) : array
    const spread = (fold === 'variance' || fold === 'std') && ddof !== undefined ? { ddof } : {}
    const groups = await folded.groupBy(axis, of, fold, { ...skipping(folded, skipMissing), ...spread, signal })
    return inGroupOrder(groups, foldedDType(array.dtype, fold), axis, { count, empty: () => emptyValue(array, fold) })
  }
  if (others.length === 0 && !isRanked) return alone(kind)
  const over = async (fold: FoldKind, by: 'sum' | 'min' | 'max' | 'prod'): Promise<Tensor> => {
    const isExtreme = by === 'min' || by === 'max'
    // An extreme of no values is missing, but a sum of no values is a valid 0.
    const parts = new DiskArray({ ...inMemory(await alone(fold)), missing: isExtreme ? array.missing : NOTHING })
    return (await parts[by]({ axis: others, ...(isExtreme ? skip : { skipMissing: false, signal }) })) as Tensor
  }
  if (kind === 'sum' || kind === 'prod' || kind === 'min' || kind === 'max') return over(kind, kind)
  if (kind === 'count' || kind === 'countNonzero') return over(kind, 'sum')
  if (kind === 'mean') {
    const [sums, counts] = [await over('sum', 'sum'), await over('count', 'sum')]
    const data = Float64Array.from(sums.data as ArrayLike<number | bigint>, (sum, i) => Number(sum) / Number(counts.data[i]))
    return { ...sums, data }
  }
  const reduce = (source: BlockSource, axis: number[]) => {
    const part = new DiskArray(source)
    const options = { ...skip, axis, keepDims: true }
    return isRanked ? part.quantile(q!, options) : part[kind]({ ...options, ...(ddof !== undefined && { ddof }) })
  }
  return reduceEachGroup(array.source, { axis, of, count, others }, reduce)
}

/** Returns the value of groups without positions: the identity, NaN, or the missing value of other types. */
function emptyValue({ dtype, source }: DiskArray, kind: FoldKind): Element {
  if (kind === 'sum' || kind === 'prod' || kind.startsWith('count')) {
    const identity = kind === 'prod' ? 1 : 0
    return isBigInt(foldedDType(dtype, kind)) ? BigInt(identity) : identity
  }
  const isExtreme = kind === 'min' || kind === 'max'
  if (!isExtreme || isFloat(dtype)) return Number.NaN
  if (dtype === 'timestamp_ns') return NAT
  // Callers convert other types without a missing value to floats.
  return missingElement(missingElements(source)) ?? invalidArgument(`${dtype} values have no missing value for ${kind}`, kind)
}

/** Orders groups by their numbers and drops the group -1. Groups without positions get the value `empty`. */
function inGroupOrder(
  { labels, values }: { readonly labels: readonly number[]; readonly values: Tensor },
  dtype: DType,
  axis: number,
  { count, empty }: { readonly count: number; readonly empty: () => Element },
): Tensor {
  if (labels.length === count && labels.every((label, i) => label === i)) return values
  const shape = values.shape.map((length, each) => (each === axis ? count : length))
  const result = tensorOf(dtype, shape) as Tensor<'float64'>
  if (labels.filter((label) => label >= 0).length < count) result.data.fill(empty() as number)
  for (const [from, group] of labels.entries()) {
    if (group < 0) continue
    const at = (start: number) => shape.map((length, each) => (each === axis ? { start, step: 1, length: 1 } : wholeAxis(length)))
    copyTensor(viewTensor(values as never, at(from)), viewTensor(result, at(group)))
  }
  return result
}
