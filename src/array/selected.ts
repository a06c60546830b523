import type { DType, ScalarOf } from '../core/dtype.js'
import type { Tensor } from '../core/tensor.js'
import type { PointsSelector } from '../grid/selectors.js'

/** What drops its axes. */
type Dropping = number | PointsSelector<true>

/** Whether a selector may drop its axes, or is sure to. */
type MayDrop<T> = [Extract<T, Dropping>] extends [never] ? false : true
type Drops<T> = T extends readonly (infer E)[] ? ([E] extends [Dropping] ? true : false) : false
/** Whether one of several is sure to keep an axis. */
type Keeps<T extends readonly unknown[]> = T extends readonly [infer First, ...infer Rest]
  ? MayDrop<First> extends false
    ? true
    : Keeps<Rest>
  : false

/**
 * What reading a selection gives: a scalar where every selector is an integer or a single point, a tensor where one is not, and either
 * where the type does not tell: of selections built at run time, and by name.
 *
 * Types do not know the rank: integers for fewer axes than there are give a tensor, which `[0, '...']` or a `null` each lets the type see.
 */
export type Selected<D extends DType, S> = S extends null | undefined
  ? Tensor<D>
  : S extends readonly unknown[]
    ? number extends S['length']
      ? MayDrop<S[number]> extends true
        ? Tensor<D> | ScalarOf<D>
        : Tensor<D>
      : S extends readonly []
        ? Tensor<D> | ScalarOf<D>
        : Keeps<S> extends true
          ? Tensor<D>
          : Drops<S> extends true
            ? ScalarOf<D>
            : Tensor<D> | ScalarOf<D>
    : S extends PointsSelector<infer Single>
      ? Single extends true
        ? Tensor<D> | ScalarOf<D>
        : Tensor<D>
      : S extends { readonly data: unknown } | { readonly index: readonly number[] }
        ? Tensor<D>
        : S extends { readonly [name: string]: infer Each }
          ? [Each] extends [Dropping]
            ? Tensor<D> | ScalarOf<D>
            : NamedKeeps<S> extends true
              ? Tensor<D>
              : Tensor<D> | ScalarOf<D>
          : Tensor<D> | ScalarOf<D>

/** Whether a selector by name is sure to keep its axis. */
type NamedKeeps<S> = true extends { [K in keyof S]: MayDrop<S[K]> extends false ? true : false }[keyof S] ? true : false
