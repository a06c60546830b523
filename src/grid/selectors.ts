import { showShape } from '../core/shape.ts'
import type { TensorLike } from '../core/tensor.ts'
import { listOf, listPositions, type Nested, ragged } from './list.ts'
import { invalid } from './slice.ts'

/** A new axis of length 1 in the result. */
export const newAxis: unique symbol = Symbol.for('hyperslab.newAxis')

/** Picks points from as many `axes` as their `coordinates` have; made by {@link points}. */
export class PointsSelector<Single extends boolean = boolean> {
  readonly coordinates: ArrayLike<unknown> | TensorLike
  readonly axes: number | undefined
  /** True for one point, which drops its axes. */
  declare readonly single: Single

  /** @internal Reads the coordinates: who selects no points does not load what that takes. */
  readonly read: () => Points

  constructor(coordinates: ArrayLike<unknown> | TensorLike, axes: number | undefined, read: () => Points) {
    this.coordinates = coordinates
    this.axes = axes
    this.read = read
  }
}

/** Points as read. */
export interface Points {
  readonly axes: number
  /** In the result. */
  readonly shape: readonly number[]
  /** Their positions along each axis from `first` of an array of some shape. */
  resolve(shape: readonly number[], first: number): Float64Array[]
}

/** Those without any keep the number of axes they were given. */
function readPoints(coordinates: ArrayLike<unknown> | TensorLike, given: number | undefined): Points {
  const { values, shape } = listOf(coordinates, ragged)
  // The shape of an empty list does not tell how many coordinates points would have.
  const isNone = shape.length === 1 && shape[0] === 0
  const axes = (isNone ? given : shape.at(-1)) ?? 1
  if (axes < 1 || axes !== (given ?? axes)) {
    const text = `points of shape ${showShape(shape)} have no coordinates for ${given ?? 'any'} axes`
    invalid(text, { actual: shape, expected: given })
  }
  return {
    axes,
    shape: isNone ? shape : shape.slice(0, -1),
    resolve: (shape, first) =>
      Array.from({ length: axes }, (_, k) => listPositions(values, first + k, shape[first + k]!, [k, axes])),
  }
}

/**
 * Picks single elements: each point has one integer for each of the axes it takes the place of.
 * `points([[0, 3], [2, 5]])` is the elements (0, 3) and (2, 5) of two axes, one axis in the result; deeper
 * nesting gives more axes, a single point `points([0, 3])` none.
 *
 * @param coordinates nested arrays, or a tensor whose last axis holds the coordinates of a point
 * @param axes how many axes they pick from; needed only when there is no point to tell
 * @example
 * const t = generate((i, j) => 10 * i + j, { dtype: 'int32', shape: [4, 6] })
 * console.log((await t.get([points([[0, 3], [2, 5]])])).data) // Int32Array(2) [ 3, 25 ]
 */
export function points(coordinates: readonly [], axes?: number): PointsSelector<false>
export function points(coordinates: readonly number[], axes?: number): PointsSelector<true>
export function points(coordinates: readonly Nested<number | bigint>[] | TensorLike, axes?: number): PointsSelector<false>
export function points(coordinates: ArrayLike<unknown> | TensorLike, axes?: number): PointsSelector {
  return new PointsSelector(coordinates, axes, () => readPoints(coordinates, axes))
}

/** One chunk by its coordinates (`index`); made by {@link chunk}. */
export class ChunkSelector {
  readonly index: readonly number[]

  constructor(index: readonly number[]) {
    this.index = index
  }
}

/**
 * Picks the elements of one chunk: its coordinates in the grid, negative ones counting from the end, in place
 * of as many axes.
 */
export const chunk = (...index: number[]): ChunkSelector => new ChunkSelector(index)
