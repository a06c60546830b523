import { type AxisIndices, indexAt, isListed } from '../core/axis-indices.ts'
import { type AxisView, wholeAxis } from '../core/tensor.ts'
import type { AxisChunks, ChunkGrid } from './chunks.ts'
import { findProgression } from './list.ts'
import { numbersTo, sortingOrder } from './order.ts'
import type { Transfer } from './plan.ts'
import { type AxisProjection, projectAxis } from './projection.ts'
import { type Range, rangeLength } from './range.ts'

type ListProjection = AxisProjection<AxisIndices>

/** The chunks that a transfer touches. */
export interface ListedRegion {
  readonly axes: readonly (readonly ListProjection[])[]
  /** Chunk counts of the grid along these axes. */
  readonly counts: readonly number[]
  /** Number of touched chunks. */
  readonly count: number
}

/** Projects the transfers of one plan. A piece of an axis that several transfers share is projected once. */
export class ListProjector {
  #grid: ChunkGrid | undefined
  /** Projections of each selector by the `outer` of their piece, which is unique. */
  #known: Map<AxisIndices, readonly ListProjection[]>[] = []

  /**
   * Returns the projections of each selector. The transfer touches the chunks of every combination of these.
   */
  project(transfer: Transfer, grid: ChunkGrid): ListedRegion {
    if (grid !== this.#grid) this.#known = []
    this.#grid = grid
    let axis = 0
    const counts: number[] = []
    const axes = transfer.axes.map((rank, i) => {
      const from = axis
      axis += rank
      const [own, outer] = [grid.axes.slice(from, axis), transfer.outer[i]!]
      counts.push(own.reduce((count, chunks) => count * chunks.count, 1))
      this.#known[i] ??= new Map()
      let known = this.#known[i].get(outer)
      if (known === undefined) {
        const inner = transfer.inner?.[i] ?? wholeAxis(transfer.shape[i]!)
        known = projectPiece(transfer.box.slice(from, axis), own, inner, outer)
        this.#known[i].set(outer, known)
      }
      return known
    })
    return { axes, counts, count: axes.reduce((product, { length }) => product * length, 1) }
  }
}

function projectPiece(
  ranges: readonly Range[],
  axes: readonly AxisChunks[],
  inner: AxisIndices,
  outer: AxisIndices,
): ListProjection[] {
  if (ranges.length > 1) return projectPoints(ranges, axes, inner, outer)
  if (isListed(inner)) return projectList(ranges[0]!, axes[0]!, inner, outer)
  return projectView(ranges[0]!, axes[0]!, inner, outer)
}

/** @param inner ascending */
function projectView(range: Range, chunks: AxisChunks, inner: AxisView, outer: AxisIndices): ListProjection[] {
  const start = range.start + inner.start * range.step
  const step = inner.step * range.step
  const picked = { start, stop: start + (inner.length - 1) * step + 1, step }
  return projectAxis(picked, chunks).map(({ chunk, length, from, to: { start, length: count } }) => ({
    chunk,
    length,
    from,
    to: partOf(outer, start, start + count),
  }))
}

/** @param inner ascending, possibly with duplicates */
function projectList(range: Range, chunks: AxisChunks, inner: Uint32Array, outer: AxisIndices): ListProjection[] {
  const projections: ListProjection[] = []
  for (let from = 0; from < inner.length; ) {
    const chunk = chunks.find(range.start + inner[from]! * range.step)
    const [start, stop] = [chunks.start(chunk), chunks.stop(chunk)]
    let to = from
    while (to < inner.length && range.start + inner[to]! * range.step < stop) to++
    const own = inner.subarray(from, to).map((place) => range.start + place * range.step - start)
    projections.push({ chunk, length: chunks.storedLength(chunk), from: evenOr(own), to: partOf(outer, from, to) })
    from = to
  }
  return projections
}

/** @param inner in any order, numbered in C order of the product of the ranges */
function projectPoints(
  ranges: readonly Range[],
  axes: readonly AxisChunks[],
  inner: AxisIndices,
  outer: AxisIndices,
): ListProjection[] {
  const { length } = inner
  const rest = new Float64Array(length).map((_, i) => indexAt(inner, i))
  const cells = new Float64Array(length)
  const indices = new Float64Array(length)
  const sizes = new Float64Array(length).fill(1)
  let cellsBefore = 1
  for (let k = axes.length - 1; k >= 0; k--) {
    const { start, step } = ranges[k]!
    const count = rangeLength(ranges[k]!)
    const chunks = axes[k]!
    for (let i = 0; i < length; i++) {
      const position = start + (rest[i]! % count) * step
      const chunk = chunks.find(position)
      const chunkStart = chunks.start(chunk)
      cells[i]! += chunk * cellsBefore
      indices[i]! += (position - chunkStart) * sizes[i]!
      sizes[i]! *= chunks.storedLength(chunk)
      rest[i] = Math.floor(rest[i]! / count)
    }
    cellsBefore *= chunks.count
  }
  const order = sortingOrder(cells) ?? numbersTo(length)
  const projections: ListProjection[] = []
  for (let from = 0, to = 0; from < length; from = to) {
    const cell = cells[order[from]!]!
    while (to < length && cells[order[to]!] === cell) to++
    const points = order.subarray(from, to)
    projections.push({
      chunk: cell,
      length: sizes[points[0]!]!,
      from: evenOr(points.map((point) => indices[point]!)),
      to: evenOr(points.map((point) => indexAt(outer, point))),
    })
  }
  return projections
}

const partOf = (indices: AxisIndices, from: number, to: number): AxisIndices =>
  isListed(indices)
    ? evenOr(indices.subarray(from, to))
    : { start: indexAt(indices, from), step: indices.step, length: to - from }

/** Converts a list to a progression, if it is one. */
export const evenOr = (list: Uint32Array): AxisIndices => findProgression(list) ?? list
