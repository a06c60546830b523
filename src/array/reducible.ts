import type { DType } from '../core/dtype.js'
import { within } from '../core/errors.js'
import { ArrayHandle } from './handle.js'
import type { Reduced, ReduceOptions } from './reduce.js'

/** An array that can be reduced, going through its chunks once. */
export abstract class Reducible<D extends DType> extends ArrayHandle<D> {
  /**
   * Sum over everything or along `axis`. Integers are added exactly: the result is `float64` for types up to 32 bits, a 64-bit type for
   * 64-bit ones; floats are added in `float64`. The sum of nothing is 0.
   * @throws OverflowError when a 64-bit sum along an axis does not fit; UnsupportedError for strings, binaries and timestamps
   */
  sum<const O extends ReduceOptions>(options?: O): Promise<Reduced<D, 'sum', O>> {
    return this.reduced('sum', options)
  }

  /**
   * Smallest element; NaN where there is one and it is not skipped. Along an axis, cells where everything was skipped are the fill value.
   * @throws EmptyReductionError when there is no element to take
   */
  min<const O extends ReduceOptions>(options?: O): Promise<Reduced<D, 'min', O>> {
    return this.reduced('min', options)
  }

  /** Largest element; as {@link min} otherwise. */
  max<const O extends ReduceOptions>(options?: O): Promise<Reduced<D, 'max', O>> {
    return this.reduced('max', options)
  }

  /** Arithmetic mean in `float64`; NaN where there is no element to take. */
  mean<const O extends ReduceOptions>(options?: O): Promise<Reduced<D, 'mean', O>> {
    return this.reduced('mean', options)
  }

  private async reduced<K extends 'sum' | 'min' | 'max' | 'mean', O extends ReduceOptions>(
    kind: K,
    options: O | undefined,
  ): Promise<Reduced<D, K, O>> {
    // Who only reads does not load it.
    const { reduce } = await import('./reduce.js')
    return (await within(this.source.label ?? {}, () => reduce(this.source, kind, options ?? {}))) as Reduced<D, K, O>
  }
}
