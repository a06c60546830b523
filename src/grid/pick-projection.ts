import { type AxisIndices, indexAt, isListed } from '../core/places.ts'
import { coordsAt } from '../core/shape.ts'
import { type AxisView, wholeAxis } from '../core/tensor.ts'
import type { AxisChunks, ChunkGrid } from './chunks.ts'
import { evenOr } from './list.ts'
import { numbersTo, sortingOrder } from './order.ts'
import type { Transfer } from './plan.ts'
import { projectAxis } from './projection.ts'
import { type Range, rangeLength } from './range.ts'

/** What a selector picks from one chunk of the axes that it takes, and where that goes. */
export interface PickProjection {
  /** Numbers of the chunk along these axes. */
  readonly chunk: readonly number[]
  /** Elements of the chunk along them, taken together. */
  readonly length: number
  /** Among those, in C order. */
  readonly inner: AxisIndices
  /** In the result. */
  readonly outer: AxisIndices
}

/**
 * Projects transfers of one plan: what they have in common, the same pieces along an axis, is projected once.
 */
export class PickProjector {
  readonly #grid: ChunkGrid
  /** For each selector, by where its pieces go: no two go to the same places. */
  readonly #known: Map<AxisIndices, PickProjection[]>[] = []

  constructor(grid: ChunkGrid) {
    this.#grid = grid
  }

  /** What each selector does; a transfer picks something from the chunks of every combination of these. */
  project(transfer: Transfer): (readonly PickProjection[])[] {
    let axis = 0
    return transfer.axes.map((count, i) => {
      const from = axis
      axis += count
      const outer = transfer.outer[i]!
      this.#known[i] ??= new Map()
      let own = this.#known[i].get(outer)
      if (own === undefined) {
        const inner = transfer.inner?.[i] ?? wholeAxis(transfer.shape[i]!)
        own = projectPiece(transfer.box.slice(from, axis), this.#grid.axes.slice(from, axis), inner, outer)
        this.#known[i].set(outer, own)
      }
      return own
    })
  }
}

function projectPiece(
  ranges: readonly Range[],
  axes: readonly AxisChunks[],
  inner: AxisIndices,
  outer: AxisIndices,
): PickProjection[] {
  if (ranges.length > 1) return projectPoints(ranges, axes, inner, outer)
  if (isListed(inner)) return projectList(ranges[0]!, axes[0]!, inner, outer)
  return projectView(ranges[0]!, axes[0]!, inner, outer)
}

/** @param inner ascending */
function projectView(range: Range, chunks: AxisChunks, inner: AxisView, outer: AxisIndices): PickProjection[] {
  const start = range.start + inner.start * range.step
  const step = inner.step * range.step
  const picked = { start, stop: start + (inner.length - 1) * step + 1, step }
  return projectAxis(picked, chunks).map(({ chunk, inner, outer: { start, length } }) => ({
    chunk: [chunk],
    length: chunks.stop(chunk) - chunks.start(chunk),
    inner,
    outer: partOf(outer, start, start + length),
  }))
}

/** @param inner ascending, duplicates among them */
function projectList(range: Range, chunks: AxisChunks, inner: Uint32Array, outer: AxisIndices): PickProjection[] {
  const projections: PickProjection[] = []
  for (let from = 0; from < inner.length; ) {
    const chunk = chunks.find(range.start + inner[from]! * range.step)
    const [start, stop] = [chunks.start(chunk), chunks.stop(chunk)]
    let to = from
    while (to < inner.length && range.start + inner[to]! * range.step < stop) to++
    const own = inner.subarray(from, to).map((place) => range.start + place * range.step - start)
    projections.push({ chunk: [chunk], length: stop - start, inner: evenOr(own), outer: partOf(outer, from, to) })
    from = to
  }
  return projections
}

/** @param inner in any order, counted in C order of what the ranges cover together */
function projectPoints(
  ranges: readonly Range[],
  axes: readonly AxisChunks[],
  inner: AxisIndices,
  outer: AxisIndices,
): PickProjection[] {
  const { length } = inner
  const rest = new Float64Array(length).map((_, i) => indexAt(inner, i))
  const cells = new Float64Array(length)
  const places = new Float64Array(length)
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
      places[i]! += (position - chunkStart) * sizes[i]!
      sizes[i]! *= chunks.stop(chunk) - chunkStart
      rest[i] = Math.floor(rest[i]! / count)
    }
    cellsBefore *= chunks.count
  }
  const counts = axes.map(({ count }) => count)
  const order = sortingOrder(cells) ?? numbersTo(length)
  const projections: PickProjection[] = []
  for (let from = 0, to = 0; from < length; from = to) {
    const cell = cells[order[from]!]!
    while (to < length && cells[order[to]!] === cell) to++
    const points = order.subarray(from, to)
    projections.push({
      chunk: coordsAt(cell, counts),
      length: sizes[points[0]!]!,
      inner: evenOr(points.map((point) => places[point]!)),
      outer: evenOr(points.map((point) => indexAt(outer, point))),
    })
  }
  return projections
}

const partOf = (places: AxisIndices, from: number, to: number): AxisIndices =>
  isListed(places) ? evenOr(places.subarray(from, to)) : { start: indexAt(places, from), step: places.step, length: to - from }
