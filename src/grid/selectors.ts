import { showShape } from '../core/shape.ts'
import type { TensorLike } from '../core/tensor.ts'
import { flatten, listPositions, type Nested, ragged } from './list.ts'
import { invalid } from './slice.ts'

/** A new axis of length 1 in the result. */
export const newAxis: unique symbol = Symbol.for('hyperslab.newAxis')

/** Selects points from as many `axes` as their `coordinates` have; created by {@link points}. */
export class PointsSelector<Single extends boolean = boolean> {
  readonly coordinates: ArrayLike<unknown> | TensorLike
  readonly axes: number | undefined
  /** Whether this is a single point, which drops its axes. */
  declare readonly single: Single

  /** @internal Reads the coordinates. Injected, so that programs without points do not load the parser. */
  readonly read: () => Points

  constructor(coordinates: ArrayLike<unknown> | TensorLike, axes: number | undefined, read: () => Points) {
    this.coordinates = coordinates
    this.axes = axes
    this.read = read
  }
}

/** Parsed points. */
export interface Points {
  readonly axes: number
  /** Shape in the result. */
  readonly shape: readonly number[]
  /** Returns their positions along each axis from `first`, for an array of this shape. */
  resolve(shape: readonly number[], first: number): Float64Array[]
}

/** Parses coordinates. An empty list keeps the given number of axes. */
function readPoints(coordinates: ArrayLike<unknown> | TensorLike, given: number | undefined): Points {
  const { values, shape } = flatten(coordinates, ragged)
  // The shape of an empty list does not contain the number of coordinates.
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
 * Selects single elements: each point has one integer for each of the axes that it replaces. `points([[0, 3],
 * [2, 5]])` selects the elements (0, 3) and (2, 5) of two axes, as one axis of the result. Deeper nesting
 * yields more axes, a single point `points([0, 3])` none.
 *
 * @param coordinates nested arrays, or a tensor whose last axis contains the coordinates of a point
 * @param axes number of axes that the points select from; needed only for an empty list
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

/** Selects one chunk by its coordinates (`index`); created by {@link chunk}. */
export class ChunkSelector {
  readonly index: readonly number[]

  constructor(index: readonly number[]) {
    this.index = index
  }
}

/**
 * Selects the elements of one chunk by its coordinates in the grid, one for each axis; negative ones count
 * from the end.
 */
export const chunk = (...index: number[]): ChunkSelector => new ChunkSelector(index)

/** Selects elements by their positions in C order; created by `linear`. */
export class LinearSelector<Single extends boolean = boolean> {
  /** Whether this is a single position. */
  declare readonly single: Single

  /** @internal Resolves the positions. Injected, so that programs without them do not load it. */
  readonly resolve: (shape: readonly number[]) => object

  constructor(resolve: (shape: readonly number[]) => object) {
    this.resolve = resolve
  }
}
