import type { DType, ScalarOf } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { type Check, type Checks, checkOptions } from '../../core/options.ts'
import { BLOCK_CHECKS, type BlockOptions, type BlockSource } from '../source.ts'
import type { CumulativeOptions } from './cumulative-sum.ts'
import type { FoldOptions, RankOptions } from './fold-kinds.ts'
import type { HistogramOptions } from './histogram.ts'
import type { QuantileOptions } from './quantile.ts'
import type { DescribeOptions, ReduceOptions } from './reduce.ts'
import type { SkipOptions } from './rows.ts'
import type { UniqueOptions } from './unique.ts'

/** Options of `count`. */
export interface CountOptions<D extends DType = DType> extends ReduceOptions {
  /** Condition on elements; only elements that satisfy it are counted. Default: all that are not skipped. */
  readonly where?: (value: ScalarOf<D>) => unknown
}

/** Options of `any` and `all`. */
export interface TruthOptions<D extends DType = DType> extends ReduceOptions {
  /** Condition on elements. The default is that an element is not 0, false or empty; NaN satisfies it. */
  readonly where?: (value: ScalarOf<D>) => unknown
}

/** Options of `groupBy`. */
export interface GroupOptions extends BlockOptions, SkipOptions, FoldOptions, RankOptions {}

const SKIP: Checks<SkipOptions> = { skipMissing: 'boolean', skipNaN: 'boolean' }
const FOLD: Checks<FoldOptions> = { ddof: 'number' }
const EACH: Checks<BlockOptions & SkipOptions> = { ...BLOCK_CHECKS, ...SKIP }
const REDUCE: Checks<ReduceOptions> = { ...EACH, axis: 'number or string or list', keepDims: 'boolean', ignoreStats: 'boolean' }
const VARIANCE: Checks<ReduceOptions & FoldOptions> = { ...REDUCE, ...FOLD }
const WHERE: Checks<CountOptions<DType> & TruthOptions<DType>> = { ...REDUCE, where: 'function' }
const QUANTILE: Checks<QuantileOptions> = { ...REDUCE, maxBytes: 'number from 0' }

export type ReducingCall =
  | 'sum'
  | 'min'
  | 'max'
  | 'extrema'
  | 'mean'
  | 'prod'
  | 'variance'
  | 'std'
  | 'describe'
  | 'count'
  | 'countNonzero'
  | 'any'
  | 'all'
  | 'argMin'
  | 'argMax'
  | 'unique'
  | 'histogram'
  | 'quantile'
  | 'median'
  | 'reduce'
  | 'mapReduce'
  | 'weightedMean'
  | 'cumsum'
  | 'groupBy'

/** Options of every call that reduces. */
const CALLS: Readonly<Record<ReducingCall, Readonly<Record<string, Check>>>> = {
  sum: REDUCE,
  min: REDUCE,
  max: REDUCE,
  extrema: REDUCE,
  mean: REDUCE,
  prod: REDUCE,
  variance: VARIANCE,
  std: VARIANCE,
  describe: { ...VARIANCE, std: 'boolean' } satisfies Checks<DescribeOptions>,
  count: WHERE,
  countNonzero: REDUCE,
  any: WHERE,
  all: WHERE,
  argMin: REDUCE,
  argMax: REDUCE,
  unique: { ...EACH, limit: 'number from 0' } satisfies Checks<UniqueOptions>,
  histogram: { ...EACH, bins: 'number or list', range: 'list' } satisfies Checks<HistogramOptions>,
  quantile: QUANTILE,
  median: QUANTILE,
  reduce: EACH,
  mapReduce: REDUCE,
  weightedMean: REDUCE,
  cumsum: { ...EACH, into: 'DiskArray' } satisfies Checks<CumulativeOptions>,
  groupBy: { ...EACH, ...FOLD, q: 'number' } satisfies Checks<GroupOptions>,
}

/** @throws InvalidArgumentError for options that the call does not accept */
export const checkCall = (call: ReducingCall, options: unknown, { label }: Pick<BlockSource, 'label'>): void =>
  checkOptions(call, options, CALLS[call], label)

/**
 * Rejects a missing initial value, also if options were passed in its place.
 * @throws InvalidArgumentError if it is missing
 */
export function checkInitial(call: 'reduce' | 'mapReduce', init: unknown, { label }: Pick<BlockSource, 'label'>): void {
  const isPlain = typeof init === 'object' && init !== null && Object.getPrototypeOf(init) === Object.prototype
  const names = isPlain ? Object.keys(init) : []
  if (init !== undefined && (names.length === 0 || !names.every((name) => Object.hasOwn(CALLS[call], name)))) return
  const found = init === undefined ? '' : `; { ${names.join(', ')} } are its options, which come after it`
  throw new HyperslabError('InvalidArgumentError', `${call} takes an initial value after the functions${found}`, label)
}
