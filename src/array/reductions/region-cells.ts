import { cellBox, cellStride, eachCell } from '../../aggregate/cells.ts'
import { sizeOf } from '../../core/shape.ts'
import type { ChunkGrid } from '../../grid/chunks.ts'
import { type Box, boxShape, wholeBox } from '../../grid/range.ts'
import { hullOf, TouchedChunks } from '../../grid/touched.ts'

/** Cells of parts of an array, in C order of the smallest region that contains them. */
export class RegionCells {
  /** Region in which reduced axes have length 1. */
  readonly region: Box
  readonly size: number
  readonly reduced: readonly boolean[]
  readonly stride: readonly number[]

  /** @param boxes at least one */
  constructor(boxes: readonly Box[], reduced: readonly boolean[]) {
    this.reduced = reduced
    this.region = cellBox(hullOf(boxes), reduced)
    const shape = boxShape(this.region)
    this.size = sizeOf(shape)
    this.stride = cellStride(shape, reduced)
  }

  /** Returns the cells of the units `[from, to)`, at least one. */
  static ofUnits(units: ChunkGrid, from: number, to: number, reduced: readonly boolean[]): RegionCells {
    return new RegionCells([...new TouchedChunks(wholeBox(units.shape), units).boxes(from, to)], reduced)
  }

  /** Returns the cell of the first element of a box. */
  first(box: Box): number {
    return box.reduce((cell, { start }, axis) => cell + (start - this.region[axis]!.start) * this.stride[axis]!, 0)
  }

  /** Visits the cells of a region within this one, with their numbers there. */
  each(region: Box, visit: (i: number, cell: number) => void): void {
    eachCell(boxShape(region), this.first(region), this.stride, visit)
  }
}
