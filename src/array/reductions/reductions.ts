import { within } from '../../core/errors.ts'
import type { Tensor } from '../../core/tensor.ts'
import { type Axis, resolveAxes } from '../axes.ts'
import { withOneMissing } from '../lazy/replace-missing.ts'
import type { BlockSource, ReduceBoxOptions } from '../source.ts'
import { cumsum } from './cumulative-sum.ts'
import { divideProduct, divideTruth } from './divide-cells.ts'
import { reduceEachGroup } from './each-group.ts'
import { isRankKind, type RankKind, shareOf } from './fold-kinds.ts'
import { foldElements, mapReduce } from './folded.ts'
import { divideGroups, type GroupByResult, groupsByLabel } from './group-by.ts'
import { divideHistogram, histogram } from './histogram.ts'
import { checkCall, type GroupOptions, type ReducingCall } from './options.ts'
import { divideQuantile } from './quantile.ts'
import { divideArg, divideDescription, divideExtrema, divideFold, divideVariance } from './reduce.ts'
import type { SkipOptions } from './rows.ts'
import { divideUnique } from './unique.ts'
import { type DividedReduction, reduceWhole, UNIT_BYTES } from './units.ts'
import { weightedMean } from './weighted-mean.ts'

/** Reductions that arrays have as methods. */
export type ReducingMethod = ReducingCall

/** Divides a reduction of a source into units, which are merged. */
type Dividing = (source: BlockSource, options: never, unitBytes: number, ...given: never[]) => DividedReduction

/** Reductions that can be divided into units. */
export type DividedMethod = Exclude<ReducingMethod, 'reduce' | 'mapReduce' | 'weightedMean' | 'cumsum'>

const DIVIDED: Record<DividedMethod, Dividing> = {
  sum: (source, options, unitBytes) => divideFold(source, 'sum', options, unitBytes),
  min: (source, options, unitBytes) => divideFold(source, 'min', options, unitBytes),
  max: (source, options, unitBytes) => divideFold(source, 'max', options, unitBytes),
  mean: (source, options, unitBytes) => divideFold(source, 'mean', options, unitBytes),
  extrema: divideExtrema,
  prod: divideProduct,
  groupBy: divideGroups,
  unique: divideUnique,
  histogram: divideHistogram,
  quantile: divideQuantile,
  median: (source, options, unitBytes) => divideQuantile(source, options, unitBytes, 0.5),
  count: (source, options, unitBytes) => divideTruth(source, 'count', options, unitBytes),
  countNonzero: (source, options, unitBytes) => divideTruth(source, 'countNonzero', options, unitBytes),
  any: (source, options, unitBytes) => divideTruth(source, 'any', options, unitBytes),
  all: (source, options, unitBytes) => divideTruth(source, 'all', options, unitBytes),
  variance: (source, options, unitBytes) => divideVariance(source, 'variance', options, unitBytes),
  std: (source, options, unitBytes) => divideVariance(source, 'std', options, unitBytes),
  describe: divideDescription,
  argMin: (source, options, unitBytes) => divideArg(source, 'argMin', options, unitBytes),
  argMax: (source, options, unitBytes) => divideArg(source, 'argMax', options, unitBytes),
}

export const DIVIDED_METHODS = Object.keys(DIVIDED) as readonly DividedMethod[]

/** Returns medians or quantiles of groups, one group after another. */
async function rankGroups<L>(
  source: BlockSource,
  along: Axis,
  labels: Iterable<L>,
  kind: RankKind,
  { q, ...options }: GroupOptions,
): Promise<GroupByResult<'float64', L>> {
  const axis = [...resolveAxes(along, source)][0]!
  const share = shareOf(kind, { ...options, q: q! })
  const { numbers, groupOf } = groupsByLabel(source, axis, along, labels)
  const groups = { axis, of: groupOf, count: numbers.size, others: [] }
  const values = await reduceEachGroup(source, groups, async (part, axes) => {
    const own = { ...options, axis: axes, keepDims: true }
    return (await reduceWhole(divideQuantile(part, own, UNIT_BYTES, share) as DividedReduction, own)) as Tensor<'float64'>
  })
  return { labels: [...numbers.keys()], values }
}

/** Runs a reduction of a source; the last argument is the options. */
type Reducing = (source: BlockSource, ...given: never[]) => Promise<unknown>

/**
 * Reductions that run as a whole, because they cannot be divided, or have to compute their parameters first.
 */
const METHODS: Record<Exclude<ReducingMethod, DividedMethod> | 'histogram', Reducing> = {
  histogram,
  reduce: foldElements,
  mapReduce,
  weightedMean,
  cumsum,
}

/**
 * Checks options, then divides a reduction into units.
 * @param unitBytes size of a unit in bytes of elements, unless a chunk is larger
 */
export function divideBy(
  method: DividedMethod,
  source: BlockSource,
  options: SkipOptions = {},
  given: readonly unknown[] = [],
  unitBytes: number = UNIT_BYTES,
): DividedReduction {
  checkCall(method, options, source)
  const divide = DIVIDED[method] as (
    source: BlockSource,
    options: unknown,
    unitBytes: number,
    ...given: unknown[]
  ) => DividedReduction
  return divide(withOneMissing(source, options), options, unitBytes, ...given)
}

/**
 * Checks options, then reduces a source. Unless missing elements are kept, its missing values become one.
 * Arrays load this function with their first reduction.
 */
export function reduceBy(
  method: ReducingMethod,
  source: BlockSource,
  options: ReduceBoxOptions & SkipOptions = {},
  given: readonly unknown[],
): Promise<unknown> {
  checkCall(method, options, source)
  return within(source.label ?? {}, () => {
    const [along, labels, kind] = given as [Axis, Iterable<unknown>, string]
    if (method === 'groupBy' && isRankKind(kind)) return rankGroups(withOneMissing(source, options), along, labels, kind, options)
    if (!isAtOnce(method)) return reduceWhole(divideBy(method, source, options, given), options)
    const reduce = METHODS[method] as (source: BlockSource, ...given: unknown[]) => Promise<unknown>
    return reduce(withOneMissing(source, options), ...given, options)
  })
}

const isAtOnce = (method: ReducingMethod): method is keyof typeof METHODS => Object.hasOwn(METHODS, method)
