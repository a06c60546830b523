import type { FoldOptions } from '../array/reductions/fold-kinds.ts'
import { invalidArgument } from '../core/errors.ts'
import type { Coords, Labelled } from './coords.ts'
import type { GroupKind, ReduceDimsOptions } from './reductions.ts'

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
export abstract class GroupedReductions<M extends Readonly<Record<GroupKind, unknown>>> {
  /**
   * @internal
   * @param q share of a quantile
   */
  protected abstract reduce<K extends GroupKind>(kind: K, options: ReduceDimsOptions | undefined, q?: number): M[K]

  /** Returns the sum of each part. */
  sum(options?: ReduceDimsOptions): M['sum'] {
    return this.reduce('sum', options)
  }

  /** Returns the mean of each part, as float64; for times, as a time. */
  mean(options?: ReduceDimsOptions): M['mean'] {
    return this.reduce('mean', options)
  }

  /** Returns the smallest value of each part. */
  min(options?: ReduceDimsOptions): M['min'] {
    return this.reduce('min', options)
  }

  /** Returns the greatest value of each part. */
  max(options?: ReduceDimsOptions): M['max'] {
    return this.reduce('max', options)
  }

  /** Returns the product of each part. */
  prod(options?: ReduceDimsOptions): M['prod'] {
    return this.reduce('prod', options)
  }

  /** Counts the values of each part that are not missing. */
  count(options?: ReduceDimsOptions): M['count'] {
    return this.reduce('count', options)
  }

  /** Counts the values of each part that are neither missing nor 0. */
  countNonzero(options?: ReduceDimsOptions): M['countNonzero'] {
    return this.reduce('countNonzero', options)
  }

  /** Returns the variance of each part, divided by the number of values minus `ddof` (default 0). */
  variance(options?: ReduceDimsOptions & FoldOptions): M['variance'] {
    return this.reduce('variance', options)
  }

  /** Returns the standard deviation of each part, the root of {@link variance}. */
  std(options?: ReduceDimsOptions & FoldOptions): M['std'] {
    return this.reduce('std', options)
  }
  /**
   * Returns the median of each part, as float64; of times, as a time. A chunk is read once for each group in
   * it, and once for all windows.
   */
  median(options?: ReduceDimsOptions): M['median'] {
    return this.reduce('median', options)
  }

  /**
   * Returns the quantile of each part, interpolated linearly between values, as {@link median}.
   * @param q share from 0 to 1
   * @throws InvalidArgumentError for a share outside 0 to 1
   */
  quantile(q: number, options?: ReduceDimsOptions): M['quantile'] {
    if (typeof q !== 'number' || !(q >= 0 && q <= 1)) invalidArgument('a quantile of parts is a share from 0 to 1', q)
    return this.reduce('quantile', options, q)
  }
}
