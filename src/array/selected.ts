import type { DType, ScalarOf } from '../core/dtype.ts'
import type { Tensor } from '../core/tensor.ts'
import type { LinearSelector, PointsSelector } from '../grid/selectors.ts'

/** Selectors that drop their axes. */
type Dropping = number | PointsSelector<true>

/** Whether a selector may drop its axes, or certainly does. */
type MayDrop<T> = [Extract<T, Dropping>] extends [never] ? false : true
type Drops<T> = T extends readonly (infer E)[] ? ([E] extends [Dropping] ? true : false) : false
/** Whether one of several selectors certainly keeps an axis. */
type Keeps<T extends readonly unknown[]> = T extends readonly [infer First, ...infer Rest]
  ? MayDrop<First> extends false
    ? true
    : Keeps<Rest>
  : false

/**
 * Whether selectors that are all integers or single points are as many as the axes, and thus select an
 * element.
 */
type Picks<S extends readonly unknown[], R extends number> = number extends R
  ? boolean
  : Extract<S[number], PointsSelector<true>> extends never
    ? S['length'] extends R
      ? true
      : false
    : boolean

/** An element, a tensor, or both if the type does not determine it. */
type Either<D extends DType, Scalar extends boolean> = Scalar extends true ? ScalarOf<D> : Tensor<D>

/**
 * Result type of reading a selection. A tensor if a selector keeps an axis, or if there are fewer integers
 * than axes. An element if there is an integer for each axis. Either if the type does not determine it: for
 * arrays of unknown rank `R`, selections built at run time, and selections by name.
 */
export type Selected<D extends DType, S, R extends number = number> = S extends null | undefined
  ? Tensor<D>
  : S extends readonly unknown[]
    ? number extends S['length']
      ? MayDrop<S[number]> extends true
        ? Tensor<D> | ScalarOf<D>
        : Tensor<D>
      : S extends readonly []
        ? Either<D, Picks<S, R>>
        : Keeps<S> extends true
          ? Tensor<D>
          : Drops<S> extends true
            ? Either<D, Picks<S, R>>
            : Tensor<D> | ScalarOf<D>
    : S extends LinearSelector<infer Single>
      ? Either<D, Single>
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

/** Whether a selector by name certainly keeps its axis. */
type NamedKeeps<S> = true extends { [K in keyof S]: MayDrop<S[K]> extends false ? true : false }[keyof S] ? true : false
