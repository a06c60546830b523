import { eachIndex } from '../core/shape.ts'
import type { AxisView } from '../core/tensor.ts'
import { project, RECORD_LENGTH } from '../kernels/project.ts'
import { type AxisChunks, type ChunkGrid, RegularChunks } from './chunks.ts'
import { checkListed } from './irregular-chunks.ts'
import { type Box, type Range, rangeLength } from './range.ts'

/** Chunks below which calling the kernel costs more than it saves. */
const FEW = 64

/** The part that a range takes from one chunk of its axis, and its place in the result. */
export interface AxisProjection {
  /** Number of the chunk along the axis. */
  readonly chunk: number
  /** Positions within the chunk. */
  readonly inner: AxisView
  /** Positions within the result. */
  readonly outer: AxisView
}

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
    const length = small(records[at + 2]!)
    projections.push({
      chunk: small(records[at]!),
      inner: { start: small(records[at + 1]!), step: range.step, length },
      outer: { start: small(records[at + 3]!), step: 1, length },
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
    const length = Math.min(total - from, Math.ceil((chunks.stop(chunk) - position) / step))
    projections.push({
      chunk,
      inner: { start: position - chunks.start(chunk), step, length },
      outer: { start: from, step: 1, length },
    })
    from += length
  }
  return projections
}

/**
 * Projects a box onto a grid: calls `visit` for every touched chunk, in C order, with its index and the
 * projection of each axis. Axes are projected once and combined by an odometer, so the cost is the sum over
 * axes plus one visit per chunk. The arrays handed to `visit` are reused between calls.
 * @throws TooLargeError for more than 2^22 chunks
 */
export function projectBox(
  box: Box,
  grid: ChunkGrid,
  visit: (chunk: readonly number[], projections: readonly AxisProjection[]) => void,
): void {
  const axes = box.map((range, axis) => projectAxis(range, grid.axes[axis]!))
  checkListed(axes.reduce((count, { length }) => count * length, 1))
  const chunk = new Array<number>(axes.length)
  const projections = new Array<AxisProjection>(axes.length)
  const last = axes.length - 1
  const inner = axes[last]
  eachIndex(
    axes.slice(0, Math.max(last, 0)).map(({ length }) => length),
    (index) => {
      for (let axis = 0; axis < last; axis++) set(axis, axes[axis]![index[axis]!]!)
      if (inner === undefined) visit(chunk, projections)
      else
        for (const projection of inner) {
          set(last, projection)
          visit(chunk, projections)
        }
    },
  )

  function set(axis: number, projection: AxisProjection): void {
    projections[axis] = projection
    chunk[axis] = projection.chunk
  }
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

/** Whether a range has a position in a chunk. */
export function touches({ start, stop, step }: Range, chunks: AxisChunks, k: number): boolean {
  const first = start + Math.max(0, Math.ceil((chunks.start(k) - start) / step)) * step
  return first < Math.min(stop, chunks.stop(k))
}

/** Number of chunks that a box touches. */
export function countChunks(box: Box, grid: ChunkGrid): number {
  return box.reduce((count, range, axis) => count * countTouched(range, grid.axes[axis]!), 1)
}
