import type { FoldOptions } from '../array/reductions/fold-kinds.ts'
import { Printable } from '../core/inspect.ts'
import type { KeepDimsOptions, ReduceKind } from './reductions.ts'

/** Reductions of arrays and datasets along dimensions. Each is lazy. */
export abstract class Reducible<A> extends Printable {
  /**
   * @internal
   * @param q shares of quantiles
   */
  protected abstract reduce(kind: ReduceKind, options: KeepDimsOptions | undefined, q?: number | readonly number[]): A

  /**
   * Returns the sum along some dimensions; 0 if there are no values.
   * @throws UnsupportedError for times, which only have `min`, `max`, `mean` and `count`
   */
  sum(options?: KeepDimsOptions): A {
    return this.reduce('sum', options)
  }

  /**
   * Returns the mean along some dimensions, as float64; NaN if there are no values. The mean of times is a
   * time, rounded to the nanosecond.
   */
  mean(options?: KeepDimsOptions): A {
    return this.reduce('mean', options)
  }

  /** Returns the smallest value along some dimensions; NaN if there are no values. */
  min(options?: KeepDimsOptions): A {
    return this.reduce('min', options)
  }

  /** Returns the greatest value along some dimensions; NaN if there are no values. */
  max(options?: KeepDimsOptions): A {
    return this.reduce('max', options)
  }

  /** Returns the product along some dimensions; 1 if there are no values. */
  prod(options?: KeepDimsOptions): A {
    return this.reduce('prod', options)
  }

  /** Counts the values along some dimensions that are not missing. */
  count(options?: KeepDimsOptions): A {
    return this.reduce('count', options)
  }

  /** Counts the values along some dimensions that are neither missing nor 0, false or empty. */
  countNonzero(options?: KeepDimsOptions): A {
    return this.reduce('countNonzero', options)
  }

  /** Whether any value along some dimensions is not 0, false or empty; false if there are no values. */
  any(options?: KeepDimsOptions): A {
    return this.reduce('any', options)
  }

  /** Whether all values along some dimensions are not 0, false or empty; true if there are no values. */
  all(options?: KeepDimsOptions): A {
    return this.reduce('all', options)
  }

  /** Returns the variance along some dimensions, divided by the number of values minus `ddof` (default 0). */
  variance(options?: KeepDimsOptions & FoldOptions): A {
    return this.reduce('variance', options)
  }

  /** Returns the standard deviation along some dimensions, the root of {@link variance}. */
  std(options?: KeepDimsOptions & FoldOptions): A {
    return this.reduce('std', options)
  }

  /** Returns the median along some dimensions. */
  median(options?: KeepDimsOptions): A {
    return this.reduce('median', options)
  }

  /**
   * Returns the quantile along some dimensions, interpolated linearly between values. A list of shares adds a
   * leading dimension `quantile`.
   * @param q share from 0 to 1, or a list of shares
   * @throws InvalidArgumentError for shares outside 0 to 1
   */
  quantile(q: number | readonly number[], options?: KeepDimsOptions): A {
    return this.reduce('quantile', options, q)
  }
}
