import type { FoldOptions } from '../array/reductions/fold-kinds.ts'
import { Printable } from '../core/inspect.ts'
import type { KeepDimsOptions, ReduceKind } from './reductions.ts'

/** Results of each reduction: of all dimensions, and along some. */
export type ReductionResults = Readonly<Record<ReduceKind, readonly [whole: unknown, along: unknown]>>

/** Options that reduce all dimensions. */
type Whole = { readonly axis?: undefined; readonly keepDims?: false | undefined }

/** Reductions of arrays and datasets along dimensions. Each is lazy. */
export abstract class Reducible<M extends ReductionResults> extends Printable {
  /**
   * @internal
   * @param q shares of quantiles
   */
  protected abstract reduce<K extends ReduceKind>(
    kind: K,
    options: KeepDimsOptions | undefined,
    q?: number | readonly number[],
  ): M[K][1]

  /**
   * Returns the sum along some dimensions; 0 if there are no values.
   * @throws UnsupportedError for times, which only have `min`, `max`, `mean` and `count`
   */
  sum(options?: KeepDimsOptions & Whole): M['sum'][0]
  sum(options?: KeepDimsOptions): M['sum'][1]
  sum(options?: KeepDimsOptions): M['sum'][1] {
    return this.reduce('sum', options)
  }

  /**
   * Returns the mean along some dimensions, as float64; NaN if there are no values. The mean of times is a
   * time, rounded to the nanosecond.
   */
  mean(options?: KeepDimsOptions & Whole): M['mean'][0]
  mean(options?: KeepDimsOptions): M['mean'][1]
  mean(options?: KeepDimsOptions): M['mean'][1] {
    return this.reduce('mean', options)
  }

  /** Returns the smallest value along some dimensions; NaN if there are no values. */
  min(options?: KeepDimsOptions & Whole): M['min'][0]
  min(options?: KeepDimsOptions): M['min'][1]
  min(options?: KeepDimsOptions): M['min'][1] {
    return this.reduce('min', options)
  }

  /** Returns the greatest value along some dimensions; NaN if there are no values. */
  max(options?: KeepDimsOptions & Whole): M['max'][0]
  max(options?: KeepDimsOptions): M['max'][1]
  max(options?: KeepDimsOptions): M['max'][1] {
    return this.reduce('max', options)
  }

  /** Returns the product along some dimensions; 1 if there are no values. */
  prod(options?: KeepDimsOptions & Whole): M['prod'][0]
  prod(options?: KeepDimsOptions): M['prod'][1]
  prod(options?: KeepDimsOptions): M['prod'][1] {
    return this.reduce('prod', options)
  }

  /** Counts the values along some dimensions that are not missing. */
  count(options?: KeepDimsOptions & Whole): M['count'][0]
  count(options?: KeepDimsOptions): M['count'][1]
  count(options?: KeepDimsOptions): M['count'][1] {
    return this.reduce('count', options)
  }

  /** Counts the values along some dimensions that are neither missing nor 0, false or empty. */
  countNonzero(options?: KeepDimsOptions & Whole): M['countNonzero'][0]
  countNonzero(options?: KeepDimsOptions): M['countNonzero'][1]
  countNonzero(options?: KeepDimsOptions): M['countNonzero'][1] {
    return this.reduce('countNonzero', options)
  }

  /** Whether any value along some dimensions is not 0, false or empty; false if there are no values. */
  any(options?: KeepDimsOptions & Whole): M['any'][0]
  any(options?: KeepDimsOptions): M['any'][1]
  any(options?: KeepDimsOptions): M['any'][1] {
    return this.reduce('any', options)
  }

  /** Whether all values along some dimensions are not 0, false or empty; true if there are no values. */
  all(options?: KeepDimsOptions & Whole): M['all'][0]
  all(options?: KeepDimsOptions): M['all'][1]
  all(options?: KeepDimsOptions): M['all'][1] {
    return this.reduce('all', options)
  }

  /** Returns the variance along some dimensions, divided by the number of values minus `ddof` (default 0). */
  variance(options?: KeepDimsOptions & FoldOptions & Whole): M['variance'][0]
  variance(options?: KeepDimsOptions & FoldOptions): M['variance'][1]
  variance(options?: KeepDimsOptions & FoldOptions): M['variance'][1] {
    return this.reduce('variance', options)
  }

  /** Returns the standard deviation along some dimensions, the root of {@link variance}. */
  std(options?: KeepDimsOptions & FoldOptions & Whole): M['std'][0]
  std(options?: KeepDimsOptions & FoldOptions): M['std'][1]
  std(options?: KeepDimsOptions & FoldOptions): M['std'][1] {
    return this.reduce('std', options)
  }

  /** Returns the median along some dimensions. */
  median(options?: KeepDimsOptions & Whole): M['median'][0]
  median(options?: KeepDimsOptions): M['median'][1]
  median(options?: KeepDimsOptions): M['median'][1] {
    return this.reduce('median', options)
  }

  /**
   * Returns the quantile along some dimensions, interpolated linearly between values. A list of shares adds a
   * leading dimension `quantile`.
   * @param q share from 0 to 1, or a list of shares
   * @throws InvalidArgumentError for shares outside 0 to 1
   */
  quantile(q: number, options?: KeepDimsOptions & Whole): M['quantile'][0]
  quantile(q: number | readonly number[], options?: KeepDimsOptions): M['quantile'][1]
  quantile(q: number | readonly number[], options?: KeepDimsOptions): M['quantile'][1] {
    return this.reduce('quantile', options, q)
  }
}
