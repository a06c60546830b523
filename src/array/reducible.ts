import type { DType, ScalarOf } from '../core/dtype.ts'
import { within } from '../core/errors.ts'
import type { Tensor } from '../core/tensor.ts'
import type { Axis, AxisOption } from './axes.ts'
import { ArrayHandle } from './handle.ts'
import type { CumulativeOptions } from './reductions/cumulative-sum.ts'
import type { FoldOptions } from './reductions/fold.ts'
import type { FoldedDType, FoldKind, SumDTypes } from './reductions/fold-kinds.ts'
import type { TruthOptions } from './reductions/folded.ts'
import type { Grouped, GroupOptions } from './reductions/group-by.ts'
import type { Histogram, HistogramOptions } from './reductions/histogram.ts'
import type { ReducingCall } from './reductions/options.ts'
import type { QuantileOptions } from './reductions/quantile.ts'
import type { ReduceOptions } from './reductions/reduce.ts'
import type { SkipOptions } from './reductions/rows.ts'
import type { Unique, UniqueOptions } from './reductions/unique.ts'
import type { Weights } from './reductions/weighted-mean.ts'
import type { BlockOptions, BlockSource } from './source.ts'

/** What options of a reduction of everything have, and what those of one along axes do. */
type Whole = { readonly axis?: undefined }
type Along = { readonly axis: AxisOption }

/** Both extremes, of one type. */
interface Extrema<T> {
  min: T
  max: T
}

/**
 * An array that can be reduced, going through its chunks once, some MiB at a time. Results do not depend on
 * which chunk is there first.
 *
 * With `axis`, a reduction gives a tensor of the other axes (with `keepDims`, the reduced ones stay with
 * length 1), without it one value.
 *
 * Missing elements are passed over, unless `skipMissing` is false. Of those alone the sum is 0, the count 0,
 * the mean NaN, and a minimum is refused; along axes it is NaN, and of integers the missing value.
 */
export abstract class Reducible<D extends DType> extends ArrayHandle<D> {
  /**
   * Sum over everything or along `axis`. Integers are added exactly: the result is `float64` for types up to
   * 32 bits, a 64-bit type for 64-bit ones; floats are added in `float64`. The sum of nothing is 0. A sum of
   * n floats is off by at most about (280 + log2(n)) * 2^-53 of the sum of their magnitudes; where many cells
   * are kept and each is added to once a row, by n * 2^-53 of it.
   * @throws OverflowError when a 64-bit sum does not fit; UnsupportedError for strings, binaries and
   *   timestamps
   */
  sum(options?: ReduceOptions & Whole): Promise<ScalarOf<SumDTypes[D]>>
  sum(options: ReduceOptions & Along): Promise<Tensor<SumDTypes[D]>>
  sum(options?: ReduceOptions): Promise<ScalarOf<SumDTypes[D]> | Tensor<SumDTypes[D]>>
  sum(options?: ReduceOptions): Promise<ScalarOf<SumDTypes[D]> | Tensor<SumDTypes[D]>> {
    return this.#do('sum', options, ({ reduceSource }, source) => reduceSource(source, 'sum', options ?? {}))
  }

  /**
   * Smallest element; NaN where there is one and it is not skipped. Along an axis, cells where everything was
   * skipped are NaN, those of integers the missing value.
   * @throws EmptyReductionError when there is no element to take
   */
  min(options?: ReduceOptions & Whole): Promise<ScalarOf<D>>
  min(options: ReduceOptions & Along): Promise<Tensor<D>>
  min(options?: ReduceOptions): Promise<ScalarOf<D> | Tensor<D>>
  min(options?: ReduceOptions): Promise<ScalarOf<D> | Tensor<D>> {
    return this.#do('min', options, ({ reduceSource }, source) => reduceSource(source, 'min', options ?? {}))
  }

  /** Largest element; as {@link min} otherwise. */
  max(options?: ReduceOptions & Whole): Promise<ScalarOf<D>>
  max(options: ReduceOptions & Along): Promise<Tensor<D>>
  max(options?: ReduceOptions): Promise<ScalarOf<D> | Tensor<D>>
  max(options?: ReduceOptions): Promise<ScalarOf<D> | Tensor<D>> {
    return this.#do('max', options, ({ reduceSource }, source) => reduceSource(source, 'max', options ?? {}))
  }

  /** Both, reading once; as {@link min} otherwise. */
  extrema(options?: ReduceOptions & Whole): Promise<Extrema<ScalarOf<D>>>
  extrema(options: ReduceOptions & Along): Promise<Extrema<Tensor<D>>>
  extrema(options?: ReduceOptions): Promise<Extrema<ScalarOf<D>> | Extrema<Tensor<D>>>
  extrema(options?: ReduceOptions): Promise<Extrema<ScalarOf<D>> | Extrema<Tensor<D>>> {
    return this.#do('extrema', options, ({ extrema }, source) => extrema(source, options ?? {}))
  }

  /** Arithmetic mean in `float64`; NaN where there is no element to take. */
  mean(options?: ReduceOptions & Whole): Promise<number>
  mean(options: ReduceOptions & Along): Promise<Tensor<'float64'>>
  mean(options?: ReduceOptions): Promise<number | Tensor<'float64'>>
  mean(options?: ReduceOptions): Promise<number | Tensor<'float64'>> {
    return this.#do('mean', options, ({ reduceSource }, source) => reduceSource(source, 'mean', options ?? {}))
  }

  /**
   * Product: in `float64`, for 64-bit integers exact. That of nothing is 1.
   * @throws OverflowError when a 64-bit product does not fit; UnsupportedError as for {@link sum}
   */
  prod(options?: ReduceOptions & Whole): Promise<ScalarOf<SumDTypes[D]>>
  prod(options: ReduceOptions & Along): Promise<Tensor<SumDTypes[D]>>
  prod(options?: ReduceOptions): Promise<ScalarOf<SumDTypes[D]> | Tensor<SumDTypes[D]>>
  prod(options?: ReduceOptions): Promise<ScalarOf<SumDTypes[D]> | Tensor<SumDTypes[D]>> {
    return this.#do('prod', options, ({ product }, source) => product(source, options ?? {}))
  }

  /**
   * Variance in `float64`, divided by the number of elements less `ddof`; NaN where that is not positive.
   * From means of what is read at once (a block, or a run of chunks) and the squares of what elements differ
   * from them by, merged by Chan's formula in order: off by at most about (600 + n / 32768 + how many are
   * merged) * 2^-53 of itself, times the root of 1 + mean^2 / variance; where many cells are kept and each is
   * added to once a row, by n * 2^-53.
   */
  variance(options?: ReduceOptions & FoldOptions & Whole): Promise<number>
  variance(options: ReduceOptions & FoldOptions & Along): Promise<Tensor<'float64'>>
  variance(options?: ReduceOptions & FoldOptions): Promise<number | Tensor<'float64'>>
  variance(options?: ReduceOptions & FoldOptions): Promise<number | Tensor<'float64'>> {
    return this.#do('variance', options, ({ variance }, source) => variance(source, 'variance', options ?? {}))
  }

  /** Standard deviation, the root of the {@link variance}. */
  std(options?: ReduceOptions & FoldOptions & Whole): Promise<number>
  std(options: ReduceOptions & FoldOptions & Along): Promise<Tensor<'float64'>>
  std(options?: ReduceOptions & FoldOptions): Promise<number | Tensor<'float64'>>
  std(options?: ReduceOptions & FoldOptions): Promise<number | Tensor<'float64'>> {
    return this.#do('std', options, ({ variance }, source) => variance(source, 'std', options ?? {}))
  }

  /**
   * How many elements are not 0, false or empty, or how many `where` holds for:
   * `count({ where: () => true, skipNaN: true })`.
   */
  count(options?: TruthOptions<D> & Whole): Promise<number>
  count(options: TruthOptions<D> & Along): Promise<Tensor<'float64'>>
  count(options?: TruthOptions<D>): Promise<number | Tensor<'float64'>>
  count(options?: TruthOptions<D>): Promise<number | Tensor<'float64'>> {
    return this.#do('count', options, ({ truth }, source) => truth(source, 'count', (options ?? {}) as TruthOptions))
  }

  /**
   * Whether an element is not 0, false or empty, or `where` holds for one. Stops where that is known, with
   * nothing read ahead. False of nothing.
   */
  any(options?: TruthOptions<D> & Whole): Promise<boolean>
  any(options: TruthOptions<D> & Along): Promise<Tensor<'bool'>>
  any(options?: TruthOptions<D>): Promise<boolean | Tensor<'bool'>>
  any(options?: TruthOptions<D>): Promise<boolean | Tensor<'bool'>> {
    return this.#do('any', options, ({ truth }, source) => truth(source, 'any', (options ?? {}) as TruthOptions))
  }

  /** Whether this is so of all elements; as {@link any} otherwise. True of nothing. */
  all(options?: TruthOptions<D> & Whole): Promise<boolean>
  all(options: TruthOptions<D> & Along): Promise<Tensor<'bool'>>
  all(options?: TruthOptions<D>): Promise<boolean | Tensor<'bool'>>
  all(options?: TruthOptions<D>): Promise<boolean | Tensor<'bool'>> {
    return this.#do('all', options, ({ truth }, source) => truth(source, 'all', (options ?? {}) as TruthOptions))
  }

  /**
   * The index of the smallest element, of equal ones the first in C order (of the first NaN where there is
   * one and it is not skipped); along one axis the positions on it, -1 where everything was skipped.
   * @throws EmptyReductionError when there is no element to take; InvalidArgumentError for several axes
   */
  argMin(options?: ReduceOptions & Whole): Promise<readonly number[]>
  argMin(options: ReduceOptions & Along): Promise<Tensor<'float64'>>
  argMin(options?: ReduceOptions): Promise<readonly number[] | Tensor<'float64'>>
  argMin(options?: ReduceOptions): Promise<readonly number[] | Tensor<'float64'>> {
    return this.#do('argMin', options, ({ arg }, source) => arg(source, 'argMin', options ?? {}))
  }

  /** The index of the largest element; as {@link argMin} otherwise. */
  argMax(options?: ReduceOptions & Whole): Promise<readonly number[]>
  argMax(options: ReduceOptions & Along): Promise<Tensor<'float64'>>
  argMax(options?: ReduceOptions): Promise<readonly number[] | Tensor<'float64'>>
  argMax(options?: ReduceOptions): Promise<readonly number[] | Tensor<'float64'>> {
    return this.#do('argMax', options, ({ arg }, source) => arg(source, 'argMax', options ?? {}))
  }

  /**
   * The different values and how often each is there.
   * @throws TooLargeError when they are more than `limit`; UnsupportedError for binaries
   */
  unique(options: UniqueOptions = {}): Promise<Unique<D>> {
    return this.#do('unique', options, ({ unique }, source) => unique(source, options))
  }

  /**
   * How many elements lie in each of some bins; 64-bit integers are rounded to `float64`. What lies outside
   * and NaN are not counted.
   * @throws InvalidArgumentError for bins that are none
   */
  histogram(options: HistogramOptions = {}): Promise<Histogram> {
    return this.#do('histogram', options, ({ histogram }, source) => histogram(source, options))
  }

  /**
   * The value that a share `q` (0 to 1; a list gives a leading axis) of the elements is not above, between
   * elements in proportion (numpy's `linear`); in `float64`. NaN of nothing and where there is a NaN that is
   * not skipped.
   *
   * Exact while the elements fit in `maxBytes` as `float64`. A whole array that does not is sketched: counted
   * by value to 12 bits of the mantissa. What that gives is within 2^-12, relatively, of the element of that
   * rank, and the same every time. Along axes, columns of chunks have to fit.
   * @throws InvalidArgumentError for a `q` outside 0 to 1; TooLargeError when a column does not fit
   */
  quantile(q: number, options?: QuantileOptions & Whole): Promise<number>
  quantile(q: number, options: QuantileOptions & Along): Promise<Tensor<'float64'>>
  quantile(q: readonly number[], options?: QuantileOptions): Promise<Tensor<'float64'>>
  quantile(q: number | readonly number[], options?: QuantileOptions): Promise<number | Tensor<'float64'>>
  quantile(q: number | readonly number[], options?: QuantileOptions): Promise<number | Tensor<'float64'>> {
    return this.#do('quantile', options, ({ quantile }, source) => quantile(source, q, options ?? {}))
  }

  /** The {@link quantile} of one half. */
  median(options?: QuantileOptions & Whole): Promise<number>
  median(options: QuantileOptions & Along): Promise<Tensor<'float64'>>
  median(options?: QuantileOptions): Promise<number | Tensor<'float64'>>
  median(options?: QuantileOptions): Promise<number | Tensor<'float64'>> {
    return this.#do('median', options, ({ quantile }, source) => quantile(source, 0.5, options ?? {}))
  }

  /** Folds the elements one after another in C order of the array, as `Array.prototype.reduce` does. */
  reduce<T>(fn: (accumulated: T, value: ScalarOf<D>) => T, init: T, options: BlockOptions & SkipOptions = {}): Promise<T> {
    return this.#do('reduce', options, ({ foldElements }, source) => foldElements(source, fn, init, options))
  }

  /**
   * Maps every element and combines the results with `combine`, which must give the same in any order; `init`
   * is what is there before the first, of every cell. Along axes, results are numbers.
   * @throws InvalidArgumentError for what are no functions
   */
  mapReduce<T>(map: (value: ScalarOf<D>) => T, combine: (a: T, b: T) => T, init: T, options?: ReduceOptions & Whole): Promise<T>
  mapReduce<T>(
    map: (value: ScalarOf<D>) => T,
    combine: (a: T, b: T) => T,
    init: T,
    options: ReduceOptions & Along,
  ): Promise<Tensor<'float64'>>
  mapReduce<T>(
    map: (value: ScalarOf<D>) => T,
    combine: (a: T, b: T) => T,
    init: T,
    options?: ReduceOptions,
  ): Promise<T | Tensor<'float64'>>
  mapReduce<T>(
    map: (value: ScalarOf<D>) => T,
    combine: (a: T, b: T) => T,
    init: T,
    options?: ReduceOptions,
  ): Promise<T | Tensor<'float64'>> {
    return this.#do('mapReduce', options, ({ mapReduce }, source) => mapReduce(source, map, combine, init, options ?? {}))
  }

  /**
   * Mean in which elements count as the product of the weights of their positions says, `{ lat: cosines }`;
   * NaN where weights add up to 0.
   * @throws InvalidArgumentError when an axis has not as many positions as weights
   */
  weightedMean(weights: Weights, options?: ReduceOptions & Whole): Promise<number>
  weightedMean(weights: Weights, options: ReduceOptions & Along): Promise<Tensor<'float64'>>
  weightedMean(weights: Weights, options?: ReduceOptions): Promise<number | Tensor<'float64'>>
  weightedMean(weights: Weights, options?: ReduceOptions): Promise<number | Tensor<'float64'>> {
    return this.#do('weightedMean', options, ({ weightedMean }, source) => weightedMean(source, weights, options ?? {}))
  }

  /**
   * For every element the sum of those up to it along an axis, of the type that sums have; what is skipped
   * adds nothing. With `into` it is written there and not returned.
   * @throws OverflowError; UnsupportedError; InvalidArgumentError and ReadOnlyError for what `into` is not
   *   fit for
   */
  cumsum(axis: Axis, options?: CumulativeOptions<D> & { readonly into?: undefined }): Promise<Tensor<SumDTypes[D]>>
  cumsum(axis: Axis, options: CumulativeOptions<D> & Required<Pick<CumulativeOptions<D>, 'into'>>): Promise<undefined>
  cumsum(axis: Axis, options?: CumulativeOptions<D>): Promise<Tensor<SumDTypes[D]> | undefined>
  cumsum(axis: Axis, options?: CumulativeOptions<D>): Promise<Tensor<SumDTypes[D]> | undefined> {
    return this.#do('cumsum', options, ({ cumsum }, source) =>
      cumsum(source as BlockSource, axis, (options ?? {}) as CumulativeOptions),
    )
  }

  /**
   * Reduces together the positions of an axis that have the same label: `groupBy('time', months, 'mean')`.
   * Sums are compensated: off by about 2^-53 of themselves.
   * @throws InvalidArgumentError when the axis has not as many positions as there are labels; as the
   *   reduction of that kind otherwise
   */
  groupBy<L, K extends FoldKind>(
    axis: Axis,
    labels: Iterable<L>,
    kind: K,
    options: GroupOptions = {},
  ): Promise<Grouped<FoldedDType<D, K>, L>> {
    return this.#do('groupBy', options, ({ groupBy }, source) => groupBy(source, axis, labels, kind, options))
  }

  /** @param work is given the source, with one missing value at most unless missing elements are kept */
  async #do<T>(
    call: ReducingCall,
    options: SkipOptions | undefined,
    work: (bodies: typeof import('./reductions/reductions.ts'), source: BlockSource<D>) => Promise<unknown>,
  ): Promise<T> {
    // Who only reads does not load it.
    const bodies = await import('./reductions/reductions.ts')
    bodies.checkCall(call, options, this.source)
    return (await within(this.source.label ?? {}, () => work(bodies, bodies.withOneMissing(this.source, options)))) as T
  }
}
