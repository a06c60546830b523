import { within } from '../../core/errors.ts'
import { withOneMissing } from '../lazy/missing-as.ts'
import type { BlockSource } from '../source.ts'
import { cumsum } from './cumulative-sum.ts'
import { foldElements, mapReduce, product, truth } from './folded.ts'
import { groupBy } from './group-by.ts'
import { histogram } from './histogram.ts'
import { checkCall, type ReducingCall } from './options.ts'
import { quantile } from './quantile.ts'
import { arg, extrema, reduceSource, variance } from './reduce.ts'
import type { SkipOptions } from './rows.ts'
import { unique } from './unique.ts'
import { weightedMean } from './weighted-mean.ts'

/** The reductions that arrays have as methods. */
export type ReducingMethod = Exclude<ReducingCall, 'coarsen' | 'rolling' | 'where'>

/** Of a source; the last one given are options. */
type Reducing = (source: BlockSource, ...given: never[]) => Promise<unknown>

const METHODS: Record<ReducingMethod, Reducing> = {
  sum: (source, options) => reduceSource(source, 'sum', options),
  min: (source, options) => reduceSource(source, 'min', options),
  max: (source, options) => reduceSource(source, 'max', options),
  mean: (source, options) => reduceSource(source, 'mean', options),
  extrema,
  prod: product,
  variance: (source, options) => variance(source, 'variance', options),
  std: (source, options) => variance(source, 'std', options),
  count: (source, options) => truth(source, 'count', options),
  any: (source, options) => truth(source, 'any', options),
  all: (source, options) => truth(source, 'all', options),
  argMin: (source, options) => arg(source, 'argMin', options),
  argMax: (source, options) => arg(source, 'argMax', options),
  unique,
  histogram,
  quantile,
  median: (source, options) => quantile(source, 0.5, options),
  reduce: foldElements,
  mapReduce,
  weightedMean,
  cumsum,
  groupBy,
}

/**
 * Reduces a source, with one missing value at most unless missing elements are kept, after checking options.
 * What an array loads when the first reduction is asked for.
 */
export function reduceBy(
  method: ReducingMethod,
  source: BlockSource,
  options: SkipOptions = {},
  given: readonly unknown[],
): Promise<unknown> {
  checkCall(method, options, source)
  const reduce = METHODS[method] as (source: BlockSource, ...given: unknown[]) => Promise<unknown>
  return within(source.label ?? {}, () => reduce(withOneMissing(source, options), ...given, options))
}
