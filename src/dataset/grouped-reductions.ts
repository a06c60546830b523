import type { FoldKind, FoldOptions } from '../array/reductions/fold-kinds.ts'
import type { Coords, Labelled } from './coords.ts'
import type { ReduceDimsOptions } from './reductions.ts'

/** Wraps a result as an array, and records the reduction. */
export type Wrap<A> = (result: Labelled, kind: string, ...options: readonly unknown[]) => A

/**
 * Reduces the parts of an array, or of the variables of a dataset along some dimensions, and records the
 * reduction.
 */
export type Over<A> = (
  reduce: (array: Labelled) => Labelled,
  along: readonly string[],
  kind: string,
  ...options: readonly unknown[]
) => A

/** Names and lengths of the dimensions that are divided into parts, and the coordinates along them. */
export interface Divided {
  /** Array that errors are about; none for a dataset. */
  readonly label: { readonly array?: string }
  readonly lengths: ReadonlyMap<string, number>
  readonly coordinates: Coords
}

/** An array in parts, such as groups or windows. Reductions return one value for each part, and are lazy. */
export abstract class GroupedReductions<A> {
  /** @internal */
  protected abstract reduce(kind: FoldKind, options: ReduceDimsOptions | undefined): A

  /** Returns the sum of each part. */
  sum(options?: ReduceDimsOptions): A {
    return this.reduce('sum', options)
  }

  /** Returns the mean of each part, as float64; for times, as a time. */
  mean(options?: ReduceDimsOptions): A {
    return this.reduce('mean', options)
  }

  /** Returns the smallest value of each part. */
  min(options?: ReduceDimsOptions): A {
    return this.reduce('min', options)
  }

  /** Returns the greatest value of each part. */
  max(options?: ReduceDimsOptions): A {
    return this.reduce('max', options)
  }

  /** Returns the product of each part. */
  prod(options?: ReduceDimsOptions): A {
    return this.reduce('prod', options)
  }

  /** Counts the values of each part that are not missing. */
  count(options?: ReduceDimsOptions): A {
    return this.reduce('count', options)
  }

  /** Counts the values of each part that are neither missing nor 0. */
  countNonzero(options?: ReduceDimsOptions): A {
    return this.reduce('countNonzero', options)
  }

  /** Returns the variance of each part, divided by the number of values minus `ddof` (default 0). */
  variance(options?: ReduceDimsOptions & FoldOptions): A {
    return this.reduce('variance', options)
  }

  /** Returns the standard deviation of each part, the root of {@link variance}. */
  std(options?: ReduceDimsOptions & FoldOptions): A {
    return this.reduce('std', options)
  }
}
