import { eachIndex } from '../core/shape.js'
import type { AxisView } from '../core/tensor.js'
import type { ChunkGrid, RegularChunks } from './chunks.js'
import { countChunks, projectAxis } from './projection.js'
import type { Box, Range } from './range.js'
import type { AxisSelection } from './selection.js'

/** One transfer between a source and a result. */
export interface Transfer {
  /** What the source is asked for. */
  readonly box: Box
  /** The wanted positions within the box; `null` when it is all of them. */
  readonly inner: readonly AxisView[] | null
  /** Where they lie in the result, whose integer axes still have length 1. Backward slices go there with step -1. */
  readonly outer: readonly AxisView[]
}

/** Everything a selection will do, known before any I/O. */
export interface Plan {
  /** Shape of the result, integer axes dropped. */
  readonly shape: readonly number[]
  /** Shape of the result with integer axes kept as length 1. */
  readonly fullShape: readonly number[]
  readonly transfers: readonly Transfer[]
  /** Chunks touched. */
  readonly chunks: number
}

/**
 * Plans how to read (or write) a resolved selection.
 *
 * A source is asked for ascending boxes only: a backward slice is read forwards and placed backwards, which costs nothing. Where the
 * source takes no steps, a stepped axis is read as its hull, cut exactly where at least one whole chunk is saved, the only I/O a cut can
 * save. Transfers come in C order of their boxes.
 */
export function plan(selection: readonly AxisSelection[], grid: ChunkGrid, takesSteps: boolean): Plan {
  const fullShape = selection.map(({ length }) => length)
  const shape = fullShape.filter((_, axis) => selection[axis]!.keep)
  const pieces = selection.map((axis, i) => cutAxis(axis, grid.axes[i]!, takesSteps))
  const transfers: Transfer[] = []
  let chunks = 0
  eachIndex(
    pieces.map(({ length }) => length),
    (index) => {
      const parts = index.map((i, axis) => pieces[axis]![i]!)
      const exact = parts.every(({ inner }) => inner.step === 1)
      const box = parts.map(({ range }) => range)
      chunks += countChunks(box, grid)
      transfers.push({ box, inner: exact ? null : parts.map(({ inner }) => inner), outer: parts.map(({ outer }) => outer) })
    },
  )
  return { shape, fullShape, transfers, chunks }
}

interface Piece {
  range: Range
  /** The wanted positions within `range`; step 1 when it is all of them. */
  inner: AxisView
  outer: AxisView
}

function cutAxis({ start, step, length }: AxisSelection, chunks: RegularChunks, takesSteps: boolean): Piece[] {
  if (length === 0) return []
  const stride = Math.abs(step)
  const first = step > 0 ? start : start + (length - 1) * step
  const piece = (from: number, count: number): Piece => {
    const begin = first + from * stride
    const stop = begin + (count - 1) * stride + 1
    const outer = step > 0 ? { start: from, step: 1, length: count } : { start: length - 1 - from, step: -1, length: count }
    // A single position has no step left to speak of.
    const hull = takesSteps || stride === 1 || count === 1
    return {
      range: { start: begin, stop, step: takesSteps && count > 1 ? stride : 1 },
      inner: { start: 0, step: hull ? 1 : stride, length: count },
      outer,
    }
  }
  if (takesSteps || stride === 1) return [piece(0, length)]
  const touched = projectAxis({ start: first, stop: first + (length - 1) * stride + 1, step: stride }, chunks)
  const pieces: Piece[] = []
  let from = 0
  touched.forEach(({ chunk, outer }, i) => {
    const next = touched[i + 1]
    if (next !== undefined && next.chunk === chunk + 1) return
    const end = outer.start + outer.length
    pieces.push(piece(from, end - from))
    from = end
  })
  return pieces
}
