import type { DataOf, DType } from '../../core/dtype.ts'
import { eachIndex } from '../../core/shape.ts'
import { type AxisView, copyTensor, fillTensor, type Tensor, viewTensor } from '../../core/tensor.ts'
import { findOverlap } from '../../grid/overlap.ts'
import { type Box, type Range, rangeLength } from '../../grid/range.ts'
import type { BlockOptions, BlockSource } from '../source.ts'
import { readFresh } from './picks.ts'

/** Padding around an array. */
export interface Surroundings<D extends DType> {
  /** Position of the array's first element. */
  readonly origin: readonly number[]
  /** Whether edges are repeated; otherwise the padding is `fill`. */
  readonly edge: boolean
  /** Fill as stored. */
  readonly fill: DataOf<D>[number]
}

/** Reads a box of a padded array, with at most one read of the array. */
export async function readPadded<D extends DType>(
  source: BlockSource<D>,
  { origin, edge, fill }: Surroundings<D>,
  box: Box,
  out: Tensor<D>,
  options?: BlockOptions,
): Promise<void> {
  const inside = findOverlap(box, origin, source.shape)
  const whole = inside?.outer.every(({ length }, axis) => length === out.shape[axis])
  if (inside !== undefined && (whole || !edge)) {
    if (!whole) fillTensor(out, fill)
    return source.readBlock(inside.box, viewTensor(out, inside.outer), options)
  }
  if (!edge) return fillTensor(out, fill)
  const axes = box.map((range, axis) => clamp(range, origin[axis]!, source.shape[axis]!))
  const nearest = await readFresh(
    source,
    axes.map(({ range }) => range),
    options,
  )
  eachIndex(
    axes.map(({ pieces }) => pieces.length),
    (index) => {
      const own = index.map((i, axis) => axes[axis]!.pieces[i]!)
      const [from, to] = [own.map(({ inner }) => inner), own.map(({ outer }) => outer)]
      copyTensor(viewTensor(nearest, from), viewTensor(out, to))
    },
  )
}

interface Piece {
  readonly inner: AxisView
  readonly outer: AxisView
}

/**
 * Clamps a range to the array. Returns the positions to read, and the pieces of the result: the first
 * position repeated, all positions, the last position repeated.
 */
function clamp(range: Range, low: number, length: number): { range: Range; pieces: Piece[] } {
  const total = rangeLength(range)
  const { start, step } = range
  const before = Math.min(total, Math.max(0, Math.ceil((low - start) / step)))
  const inside = Math.min(total, Math.max(before, Math.ceil((low + length - start) / step)))
  // The padding repeats the first or the last element, so these are read even if the step skips them.
  const first = before > 0 ? 0 : Math.min(start - low, length - 1)
  const last = inside < total ? length - 1 : Math.max(0, start + (total - 1) * step - low)
  const pieces = [
    { inner: { start: 0, step: 0, length: before }, outer: { start: 0, step: 1, length: before } },
    {
      inner: { start: start + before * step - low - first, step, length: inside - before },
      outer: { start: before, step: 1, length: inside - before },
    },
    {
      inner: { start: last - first, step: 0, length: total - inside },
      outer: { start: inside, step: 1, length: total - inside },
    },
  ]
  return { range: { start: first, stop: last + 1, step: 1 }, pieces: pieces.filter(({ outer }) => outer.length > 0) }
}
