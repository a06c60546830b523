import { cellBox, cellStride, eachCell } from '../../aggregate/cells.ts'
import { sizeOf, stridesOf } from '../../core/shape.ts'
import { type Tensor, viewTensor } from '../../core/tensor.ts'
import type { ChunkGrid } from '../../grid/chunks.ts'
import { type Box, boxShape, type Range, wholeBox } from '../../grid/range.ts'
import { hullOf, TouchedChunks } from '../../grid/touched.ts'
import type { CellPositions, Run } from './runs.ts'

/** Groups of the positions along an axis. */
export interface AxisGroups {
  readonly axis: number
  /** Number of the group of each position. */
  readonly groupOf: readonly number[]
}

/** A region of cells, and the groups that replace the axis of groups, if there is one. */
export interface CellRegion {
  /** Region in which reduced axes have length 1. */
  readonly region: Box
  /** Group numbers, ascending. */
  readonly groups?: readonly number[] | undefined
}

/**
 * Cells of parts of an array, in C order of the smallest region that contains them. With groups, each cell
 * belongs to a group instead of a position along the axis of groups, which counts as reduced.
 */
export class RegionCells implements CellPositions, CellRegion {
  readonly region: Box
  readonly groups: readonly number[] | undefined
  readonly size: number
  readonly reduced: readonly boolean[]
  /** Number of cells between neighbours along each axis; 0 along reduced axes. */
  readonly stride: readonly number[]
  readonly #grouping: AxisGroups | undefined
  /** Number of cells between neighbouring groups. */
  readonly #step: number
  readonly #places: ReadonlyMap<number, number>

  /**
   * @param boxes at least one
   * @param groups groups of the cells; by default those of the positions of the boxes
   */
  constructor(boxes: readonly Box[], reduced: readonly boolean[], grouping?: AxisGroups, groups?: readonly number[]) {
    const hull = hullOf(boxes)
    this.reduced = reduced
    this.region = cellBox(hull, reduced)
    this.#grouping = grouping
    this.groups = grouping && (groups ?? groupsAlong(grouping, hull[grouping.axis]!))
    const shape = boxShape(this.region).map((length, axis) => (axis === grouping?.axis ? this.groups!.length : length))
    this.size = sizeOf(shape)
    this.stride = cellStride(shape, reduced)
    this.#step = grouping === undefined ? 0 : stridesOf(shape)[grouping.axis]!
    this.#places = new Map(this.groups?.map((group, i) => [group, i]))
  }

  /** Returns the cells of the units `[from, to)`, at least one. */
  static ofUnits(
    units: ChunkGrid,
    [from, to]: readonly [number, number],
    reduced: readonly boolean[],
    grouping?: AxisGroups,
  ): RegionCells {
    return new RegionCells([...new TouchedChunks(wholeBox(units.shape), units).boxes(from, to)], reduced, grouping)
  }

  /** Returns the cells of some parts, at least one. */
  static ofParts(parts: readonly CellRegion[], reduced: readonly boolean[], grouping?: AxisGroups): RegionCells {
    const groups = [...new Set(parts.flatMap((part) => part.groups ?? []))].sort((a, b) => a - b)
    return new RegionCells(
      parts.map(({ region }) => region),
      reduced,
      grouping,
      groups,
    )
  }

  /** Returns the cell of the first element of a box, which belongs to a group if there are some. */
  first(box: Box, group = 0): number {
    const start = (this.#places.get(group) ?? 0) * this.#step
    return box.reduce((cell, range, axis) => cell + (range.start - this.region[axis]!.start) * this.stride[axis]!, start)
  }

  /** Yields the groups of the elements of a box, with the number of elements of each in a cell. */
  *groupsIn(box: Box): Generator<readonly [group: number, times: number], void> {
    if (this.#grouping === undefined) {
      yield [0, sizeOf(boxShape(box).filter((_, axis) => this.reduced[axis]))]
      return
    }
    const { axis, groupOf } = this.#grouping
    const times = new Map<number, number>()
    for (let k = box[axis]!.start; k < box[axis]!.stop; k++) times.set(groupOf[k]!, (times.get(groupOf[k]!) ?? 0) + 1)
    yield* times
  }

  /** Yields the parts of a run whose elements belong to the same group, with the first cell of each. */
  *partsOf({ box, tensor }: Run): Generator<{ readonly tensor: Tensor; readonly first: number }, void> {
    if (this.#grouping === undefined) {
      yield { tensor, first: this.first(box) }
      return
    }
    const { axis, groupOf } = this.#grouping
    const { start, stop } = box[axis]!
    for (let at = start, end = start; at < stop; at = end) {
      while (end < stop && groupOf[end] === groupOf[at]) end++
      const views = tensor.shape.map((length, k) =>
        k === axis ? { start: at - start, step: 1, length: end - at } : { start: 0, step: 1, length },
      )
      yield { tensor: viewTensor(tensor, views), first: this.first(box, groupOf[at]!) }
    }
  }

  /** Visits the cells of a part within this one, with their numbers there. */
  each({ region, groups }: CellRegion, visit: (i: number, cell: number) => void): void {
    const shape = boxShape(region)
    if (groups === undefined) {
      eachCell(shape, this.first(region), this.stride, visit)
      return
    }
    const inner = sizeOf(shape.slice(this.#grouping!.axis + 1))
    for (const [at, group] of groups.entries())
      eachCell(shape, this.first(region, group), this.stride, (i, cell) => {
        const outer = Math.floor(i / inner)
        visit(i + (outer * (groups.length - 1) + at) * inner, cell)
      })
  }
}

const groupsAlong = ({ groupOf }: AxisGroups, { start, stop }: Range): number[] =>
  [...new Set(groupOf.slice(start, stop))].sort((a, b) => a - b)
