import type { FoldKind } from '../array/reductions/fold-kinds.ts'
import type { Labelled } from './coords.ts'
import type { ReduceDimsOptions } from './reductions.ts'

/** Wraps reduced parts as an array, and records the reduction. */
export type Wrap<A> = (result: Labelled, kind: string, ...options: readonly unknown[]) => A

/** An array in parts, such as groups or windows. Reductions return one value for each part, and are lazy. */
export abstract class Parted<A> {
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

  /** Returns the variance of each part, divided by the number of values. */
  variance(options?: ReduceDimsOptions): A {
    return this.reduce('variance', options)
  }

  /** Returns the standard deviation of each part, the root of {@link variance}. */
  std(options?: ReduceDimsOptions): A {
    return this.reduce('std', options)
  }
}
