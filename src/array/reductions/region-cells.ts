import { cellBox, cellStride, eachCell } from '../../aggregate/cells.ts'
import { sizeOf } from '../../core/shape.ts'
import type { ChunkGrid } from '../../grid/chunks.ts'
import { type Box, boxShape, wholeBox } from '../../grid/range.ts'
import { hullOf, TouchedChunks } from '../../grid/touched.ts'

/** The cells that parts of an array go to, in C order of the smallest region that has them. */
export class RegionCells {
  /** Reduced axes have length 1. */
  readonly region: Box
  readonly size: number
  readonly reduced: readonly boolean[]
  readonly stride: readonly number[]

  /** @param boxes one at least */
  constructor(boxes: readonly Box[], reduced: readonly boolean[]) {
    this.reduced = reduced
    this.region = cellBox(hullOf(boxes), reduced)
    const shape = boxShape(this.region)
    this.size = sizeOf(shape)
    this.stride = cellStride(shape, reduced)
  }

  /** Those of units from one number up to another, of which there is one at least. */
  static ofUnits(units: ChunkGrid, from: number, to: number, reduced: readonly boolean[]): RegionCells {
    return new RegionCells([...new TouchedChunks(wholeBox(units.shape), units).boxes(from, to)], reduced)
  }

  /** The cell that the first element of a box goes to. */
  first(box: Box): number {
    return box.reduce((cell, { start }, axis) => cell + (start - this.region[axis]!.start) * this.stride[axis]!, 0)
  }

  /** Visits the cells of a region within this one, with their numbers there. */
  each(region: Box, visit: (i: number, cell: number) => void): void {
    eachCell(boxShape(region), this.first(region), this.stride, visit)
  }
}
