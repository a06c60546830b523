import type { DType, ScalarOf } from '../core/dtype.ts'
import type { Tensor } from '../core/tensor.ts'
import type { PointsSelector } from '../grid/selectors.ts'

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

/** Whether as many selectors as an array has axes, all of them integers or single points, pick an element. */
type Picks<S extends readonly unknown[], R extends number> = number extends R
  ? boolean
  : Extract<S[number], PointsSelector<true>> extends never
    ? S['length'] extends R
      ? true
      : false
    : boolean

/** An element, a tensor, or what of both the type does not tell. */
type Either<D extends DType, Scalar extends boolean> = Scalar extends true ? ScalarOf<D> : Tensor<D>

/**
 * The result of reading a selection: a tensor where a selector keeps an axis, or where there are fewer
 * integers than axes; an element where there is an integer for each axis; and either where the type does not
 * tell: of arrays of unknown rank `R`, of selections built at run time, and by name.
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
