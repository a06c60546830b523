import type { FoldKind } from '../array/reductions/fold-kinds.ts'
import type { Labelled } from './coords.ts'
import type { ReduceDimsOptions } from './reductions.ts'

/** Makes an array of what parts were reduced to, knowing how they were. */
export type Wrap<A> = (result: Labelled, kind: string, ...options: readonly unknown[]) => A

/** An array in parts, groups or windows, each of which is reduced to one value; reductions are lazy. */
export abstract class Parted<A> {
  /** @internal */
  protected abstract reduce(kind: FoldKind, options: ReduceDimsOptions | undefined): A

  /** The sum of each part. */
  sum(options?: ReduceDimsOptions): A {
    return this.reduce('sum', options)
  }

  /** The mean of each part, as float64; of times a time. */
  mean(options?: ReduceDimsOptions): A {
    return this.reduce('mean', options)
  }

  /** The least value of each part. */
  min(options?: ReduceDimsOptions): A {
    return this.reduce('min', options)
  }

  /** The greatest value of each part. */
  max(options?: ReduceDimsOptions): A {
    return this.reduce('max', options)
  }

  /** The product of each part. */
  prod(options?: ReduceDimsOptions): A {
    return this.reduce('prod', options)
  }

  /** The number of values of each part that are not missing. */
  count(options?: ReduceDimsOptions): A {
    return this.reduce('count', options)
  }

  /** The variance of each part, divided by the number of values. */
  variance(options?: ReduceDimsOptions): A {
    return this.reduce('variance', options)
  }

  /** The standard deviation of each part, the root of {@link variance}. */
  std(options?: ReduceDimsOptions): A {
    return this.reduce('std', options)
  }
}
