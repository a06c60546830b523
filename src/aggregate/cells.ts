import { eachIndex, sizeOf, stridesOf } from '../core/shape.ts'
import type { Box } from '../grid/range.ts'

/** Returns the number of cells between neighbours along each axis; 0 along reduced axes. */
export const cellStride = (shape: readonly number[], reduced: readonly boolean[]): number[] =>
  stridesOf(shape).map((step, axis) => (reduced[axis] ? 0 : step))

/** Returns the cells of the elements of a box, as a box in which reduced axes have length 1. */
export const cellBox = (box: Box, reduced: readonly boolean[]): Box =>
  box.map((range, axis) => (reduced[axis] ? { start: 0, stop: 1, step: 1 } : range))

/**
 * Visits cells in C order of their shape, with their numbers in a larger layout, where they begin at `first`
 * and are `stride` apart.
 */
export function eachCell(
  shape: readonly number[],
  first: number,
  stride: readonly number[],
  visit: (i: number, cell: number) => void,
): void {
  const length = shape.at(-1) ?? 1
  const step = stride.at(-1) ?? 0
  let i = 0
  eachIndex(shape.slice(0, -1), (index) => {
    let cell = first
    for (let axis = 0; axis < index.length; axis++) cell += index[axis]! * stride[axis]!
    for (let k = 0; k < length; k++, cell += step) visit(i++, cell)
  })
}

/** Cells of a reduction along axes: one for each position along the kept axes, in C order. */
export class CellLayout {
  readonly axes: ReadonlySet<number>
  /** Shape of the array, with length 1 for reduced axes. */
  readonly shape: readonly number[]
  readonly size: number
  readonly reduced: readonly boolean[]
  /** Number of cells between neighbours along each axis of the array; 0 along reduced axes. */
  readonly stride: readonly number[]

  constructor(shape: readonly number[], axes: ReadonlySet<number>) {
    this.axes = axes
    this.shape = shape.map((length, axis) => (axes.has(axis) ? 1 : length))
    this.size = sizeOf(this.shape)
    this.reduced = shape.map((_, axis) => axes.has(axis))
    this.stride = cellStride(this.shape, this.reduced)
  }

  /** Returns the cell of the first element of a box. */
  first(box: Box): number {
    return box.reduce((cell, { start }, axis) => cell + start * this.stride[axis]!, 0)
  }

  resultShape(keepDims: boolean | undefined): number[] {
    return this.shape.filter((_, axis) => keepDims || !this.axes.has(axis))
  }
}
