import { sizeOf, stridesOf } from '../../core/shape.js'
import type { Box } from '../../grid/range.js'
import { type AxisOption, resolveAxes } from '../axes.js'
import type { BlockSource } from '../source.js'

/** The cells of a reduction along axes: one for each position of the axes that are kept, in C order. */
export class CellLayout {
  readonly axes: ReadonlySet<number>
  /** Shape of the array with reduced axes of length 1. */
  readonly shape: readonly number[]
  readonly size: number
  /** How many cells one goes on along each axis of the array; 0 along reduced ones. */
  readonly stride: readonly number[]

  /** @throws InvalidArgumentError for axes that do not exist or are given twice */
  constructor(source: Pick<BlockSource, 'shape' | 'dimensionNames'>, option: AxisOption | undefined) {
    this.axes = resolveAxes(option, source)
    this.shape = source.shape.map((length, axis) => (this.axes.has(axis) ? 1 : length))
    this.size = sizeOf(this.shape)
    this.stride = stridesOf(this.shape).map((step, axis) => (this.axes.has(axis) ? 0 : step))
  }

  /** The cell that the first element of a box goes to. */
  first(box: Box): number {
    return box.reduce((cell, { start }, axis) => cell + start * this.stride[axis]!, 0)
  }

  resultShape(keepDims: boolean | undefined): number[] {
    return this.shape.filter((_, axis) => keepDims || !this.axes.has(axis))
  }
}
