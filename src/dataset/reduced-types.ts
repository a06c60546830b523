import type { FoldedDType } from '../array/reductions/fold-kinds.ts'
import type { DataOf, DType, ScalarOf } from '../core/dtype.ts'
import type { Tensor } from '../core/tensor.ts'
import type { ReduceKind } from './reductions.ts'

/** Floats that numbers of type `D` are computed as. */
export type FloatsOf<D extends DType> = D extends 'float32' | 'float64' ? D : 'float32' | 'float64'

/** Type of masked values: times stay times, and numbers become floats. */
export type MaskedDType<D extends DType> = D extends 'timestamp_ns' ? D : FloatsOf<D>

/** Elements of arrays of some data types. */
type ElementOf<D extends DType> = DataOf<D>[number]

/** Values whose type is unknown: a typed array or, for text and binaries, a list. */
export interface UnknownValues<E> extends ArrayLike<E>, Iterable<E> {
  /** Joins the values as text. */
  join(separator?: string): string
}

/** Array that contains all values. */
export type ValuesOf<D extends DType> = [ElementOf<D>] extends [number]
  ? DataOf<D>
  : [ElementOf<D>] extends [bigint]
    ? DataOf<D>
    : [ElementOf<D>] extends [string]
      ? DataOf<D>
      : UnknownValues<ElementOf<D>>

/** Kind of value that `get` reads: the element of an array without dimensions, otherwise a tensor. */
export type ReadKind = 'scalar' | 'tensor'

/** Values that `get` reads. */
export type ReadValues<D extends DType, R extends ReadKind> = {
  readonly scalar: ScalarOf<D>
  readonly tensor: Tensor<D>
}[R]

/** Type of means: times have times as mean. */
export type MeanDType<D extends DType> = D extends 'timestamp_ns' ? D : 'float64'

/**
 * Type of values that a reduction or an operation takes from an array. Integers become floats where missing
 * values are not skipped.
 */
type TakenDType<D extends DType> = D extends 'float32' | 'float64' | 'timestamp_ns' ? D : D | 'float64'

/** Type of the values of a reduction. */
export type ReducedDType<D extends DType, K extends ReduceKind> = K extends 'any' | 'all'
  ? 'bool'
  : K extends 'mean'
    ? MeanDType<D>
    : K extends 'min' | 'max'
      ? TakenDType<D>
      : K extends 'sum' | 'prod'
        ? FoldedDType<D, K> | 'float64'
        : 'float64'
