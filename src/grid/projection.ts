import type { AxisIndices } from '../core/axis-indices.ts'
import type { DType } from '../core/dtype.ts'
import type { AxisView, Tensor } from '../core/tensor.ts'
import { project, RECORD_LENGTH } from '../kernels/project.ts'
import { type AxisChunks, type ChunkGrid, RegularChunks } from './chunks.ts'
import { checkListed } from './irregular-chunks.ts'
import { type Box, type Range, rangeLength } from './range.ts'

/** Number of chunks below which calling the kernel costs more than it saves. */
const FEW = 64

/**
 * The part of one chunk that is taken along an axis, and its position in the result. Axes that points or a
 * mask take together count as one: their chunks, and the elements of a chunk, are numbered in C order.
 */
export interface AxisProjection<I extends AxisIndices = AxisView> {
  /** Index of the chunk along the axis. */
  readonly chunk: number
  /** Stored length of the chunk along the axis. */
  readonly length: number
  /** Positions within the chunk. */
  readonly from: I
  /** Positions within the result, as many as `from`. */
  readonly to: I
}

/**
 * Elements of a chunk and their positions in the result. The element at each combination of `from` is copied
 * to the same combination of `to`.
 */
export interface ChunkCopy<D extends DType = DType, I extends AxisIndices = AxisIndices> {
  /** Stored shape, in C order. */
  readonly chunkShape: readonly number[]
  /** Positions within the chunk, along each axis. */
  readonly from: readonly I[]
  /** Positions within `out`, along each axis. */
  readonly to: readonly I[]
  readonly out: Tensor<D>
}

/** Combines the projections of a chunk along all axes to a copy to `out`. */
export const toChunkCopy = <I extends AxisIndices, T>(
  projections: readonly AxisProjection<I>[],
  out: T,
): Omit<ChunkCopy<DType, I>, 'out'> & { readonly out: T } => ({
  chunkShape: projections.map(({ length }) => length),
  from: projections.map(({ from }) => from),
  to: projections.map(({ to }) => to),
  out,
})

/**
 * Projects a range onto the chunks of its axis: one entry per touched chunk, ascending. Chunks that a step
 * skips have no entry.
 * @throws TooLargeError for more than 2^22 chunks
 */
export function projectAxis(range: Range, chunks: AxisChunks): AxisProjection[] {
  const total = rangeLength(range)
  if (total === 0) return []
  if (chunks instanceof RegularChunks) checkListed(countTouched(range, chunks))
  // The kernel supports regular chunks only.
  if (!(chunks instanceof RegularChunks) || total * range.step < FEW * chunks.chunkLength)
    return projectOneByOne(range, total, chunks)
  const records = project(range.start, range.step, total, chunks.chunkLength, chunks.offset)
  const projections: AxisProjection[] = []
  for (let at = 0; at < records.length; at += RECORD_LENGTH) {
    const chunk = small(records[at]!)
    const length = small(records[at + 2]!)
    projections.push({
      chunk,
      length: chunks.storedLength(chunk),
      from: { start: small(records[at + 1]!), step: range.step, length },
      to: { start: small(records[at + 3]!), step: 1, length },
    })
  }
  return projections
}

/**
 * Converts a number to V8's small integers if possible; other numbers would each be an object on the heap.
 */
const small = (number: number): number => (number === (number | 0) ? number | 0 : number)

function projectOneByOne({ start, step }: Range, total: number, chunks: AxisChunks): AxisProjection[] {
  const projections: AxisProjection[] = []
  for (let from = 0; from < total; ) {
    const position = start + from * step
    const chunk = chunks.find(position)
    const [first, stop] = [chunks.start(chunk), chunks.stop(chunk)]
    const length = Math.min(total - from, Math.ceil((stop - position) / step))
    projections.push({
      chunk,
      length: chunks.storedLength(chunk),
      from: { start: position - first, step, length },
      to: { start: from, step: 1, length },
    })
    from += length
  }
  return projections
}

/**
 * Projects a box onto a grid. Calls `visit` for every touched chunk in C order, with the index of the chunk
 * in the grid and its projection along each axis. The array is reused between calls.
 * @throws TooLargeError for more than 2^22 chunks
 */
export function projectBox(
  box: Box,
  grid: ChunkGrid,
  visit: (chunkIndex: number, projections: readonly AxisProjection[]) => void,
): void {
  const axes = box.map((range, axis) => projectAxis(range, grid.axes[axis]!))
  checkListed(axes.reduce((count, { length }) => count * length, 1))
  eachChunk(axes, grid.counts, visit)
}

/**
 * Visits the chunks at all combinations of projections, in C order, with the index of each in its grid. Axes
 * were projected before, so the cost is one visit per chunk. The array passed to `visit` is reused between
 * calls.
 * @param counts chunks of the grid along each axis
 */
export function eachChunk<I extends AxisIndices>(
  axes: readonly (readonly AxisProjection<I>[])[],
  counts: readonly number[],
  visit: (chunkIndex: number, projections: readonly AxisProjection<I>[]) => void,
): void {
  const projections = new Array<AxisProjection<I>>(axes.length)
  const last = axes.length - 1
  const visitFrom = (axis: number, before: number): void => {
    for (const projection of axes[axis]!) {
      projections[axis] = projection
      const chunk = before * counts[axis]! + projection.chunk
      if (axis === last) visit(chunk, projections)
      else visitFrom(axis + 1, chunk)
    }
  }
  if (last < 0) visit(0, projections)
  else visitFrom(0, 0)
}

/** Returns the number of chunks that a range touches; in constant time for regular chunks. */
export function countTouched(range: Range, chunks: AxisChunks): number {
  const { start, step } = range
  const total = rangeLength(range)
  if (total === 0) return 0
  if (chunks instanceof RegularChunks)
    return step >= chunks.chunkLength ? total : chunks.find(start + (total - 1) * step) - chunks.find(start) + 1
  let touched = 0
  for (let i = 0; i < total; touched++) {
    const position = start + i * step
    i += Math.ceil((chunks.stop(chunks.find(position)) - position) / step)
  }
  return touched
}

export function countChunks(box: Box, grid: ChunkGrid): number {
  return box.reduce((count, range, axis) => count * countTouched(range, grid.axes[axis]!), 1)
}
