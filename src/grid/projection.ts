import type { DType } from '../core/dtype.ts'
import type { AxisIndices } from '../core/places.ts'
import type { AxisView, Tensor } from '../core/tensor.ts'
import { project, RECORD_LENGTH } from '../kernels/project.ts'
import { type AxisChunks, type ChunkGrid, RegularChunks } from './chunks.ts'
import { checkListed } from './irregular-chunks.ts'
import { type Box, type Range, rangeLength } from './range.ts'

/** Chunks below which calling the kernel costs more than it saves. */
const FEW = 64

/**
 * The part that is taken from one chunk along an axis, and its place in the result. Axes that points or a
 * mask take together count as one, in C order: of their chunks, and of the elements of a chunk.
 */
export interface AxisProjection<I extends AxisIndices = AxisView> {
  /** Index of the chunk along the axis. */
  readonly chunk: number
  /** Elements of the chunk along the axis, as it is stored. */
  readonly length: number
  /** Positions within the chunk. */
  readonly from: I
  /** Positions within the result, as many. */
  readonly to: I
}

/**
 * Elements of a chunk and where they go: the element at each combination of `from` goes to the same
 * combination of `to`.
 */
export interface ChunkCopy<D extends DType = DType, I extends AxisIndices = AxisIndices> {
  /** As stored, in C order. */
  readonly chunkShape: readonly number[]
  /** Positions within the chunk, along each axis. */
  readonly from: readonly I[]
  /** Positions within `out`, along each axis. */
  readonly to: readonly I[]
  readonly out: Tensor<D>
}

/** The copy to `out` that the projections of a chunk along all axes make together. */
export const copyOf = <I extends AxisIndices, T>(
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
 * jumps over get none.
 * @throws TooLargeError for more than 2^22 chunks
 */
export function projectAxis(range: Range, chunks: AxisChunks): AxisProjection[] {
  const total = rangeLength(range)
  if (total === 0) return []
  if (chunks instanceof RegularChunks) checkListed(countTouched(range, chunks))
  // The kernel knows regular chunks only.
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
 * The same number, as an integer of the engine's if it can be one: others would each be an object on the
 * heap.
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
 * Projects a box onto a grid: calls `visit` for every touched chunk, in C order, with the index of the chunk
 * in the grid and its projection along each axis, in an array that is reused between calls.
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
 * Visits the chunks that axes take something of together, in C order, with the index of each in its grid and
 * its projections. Axes were projected once and are combined by an odometer, so the cost is one visit per
 * chunk. The array handed to `visit` is reused between calls.
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

/** Number of chunks that a range touches; of regular chunks without going through them. */
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

/** Number of chunks that a box touches. */
export function countChunks(box: Box, grid: ChunkGrid): number {
  return box.reduce((count, range, axis) => count * countTouched(range, grid.axes[axis]!), 1)
}
