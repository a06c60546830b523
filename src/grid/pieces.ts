import { HyperslabError } from '../core/errors.ts'
import type { AxisIndices } from '../core/places.ts'
import type { AxisView } from '../core/tensor.ts'
import type { AxisChunks } from './chunks.ts'
import { RegularChunks } from './chunks.ts'
import { countTouched } from './projection.ts'
import type { Range } from './range.ts'

/** One read, with the selected positions of a selector that it yields. */
export interface Piece {
  /** Ranges to read along the axes of the selector. */
  readonly ranges: readonly Range[]
  /** Selected elements within `ranges` (in C order for several axes), and their positions in the result. */
  readonly inner: AxisIndices
  readonly outer: AxisIndices
  /** Number of elements in `ranges`. */
  readonly size: number
  /**
   * Whether `inner` covers all elements once and in order, and `outer` is a progression, so that no temporary
   * buffer is needed.
   */
  readonly exact: boolean
  /** Whether every element is selected, so that a write need not read first. */
  readonly covered: boolean
  /** Number of touched chunks. */
  readonly chunks: number
}

/** Options of cutting a selection into reads. */
export interface Cutting {
  /** Whether ranges may have a step above 1. */
  readonly steps: boolean
  readonly strategy: 'chunk' | 'ranges' | 'box'
  /** Least share of selected positions at which a selection is not cut. */
  readonly density: number
  /** Largest piece with unselected elements; beyond it, pieces are cut between chunks. */
  readonly maxSize: number
}

/** Cuts the positions of a list along an axis, or of points along several axes: `list-pieces.ts`. */
export type CutPicks = (picks: readonly Float64Array[], axes: readonly AxisChunks[], cutting: Cutting) => Piece[]

/** Largest number of reads of a selection; each takes some hundred bytes of memory in the plan. */
const MOST_READS = 2 ** 20

/** @throws TooLargeError if a selection is cut into too many reads */
export function checkReads(count: number): void {
  if (count <= MOST_READS) return
  throw new HyperslabError('TooLargeError', `the selection comes to more than ${MOST_READS} reads`, {
    actual: count,
    expected: MOST_READS,
  })
}

/** Cuts a progression. Its positions are never listed, so the cost depends only on the number of pieces. */
export function cutProgression(picks: AxisView, chunks: AxisChunks, cutting: Cutting): Piece[] {
  const { start, step, length } = picks
  if (length === 0) return []
  const stride = Math.abs(step)
  const first = step > 0 ? start : start + (length - 1) * step
  const piece = (from: number, count: number): Piece => {
    const begin = first + from * stride
    const last = begin + (count - 1) * stride
    const outer = step > 0 ? { start: from, step: 1, length: count } : { start: length - 1 - from, step: -1, length: count }
    // A single position needs no step.
    const exact = cutting.steps || stride === 1 || count === 1
    const size = exact ? count : last + 1 - begin
    return {
      ranges: [{ start: begin, stop: last + 1, step: exact && count > 1 ? stride : 1 }],
      inner: { start: 0, step: exact ? 1 : stride, length: count },
      outer,
      size,
      exact,
      covered: exact,
      chunks:
        exact && stride > 1
          ? countTouched({ start: begin, stop: last + 1, step: stride }, chunks)
          : chunks.find(last) - chunks.find(begin) + 1,
    }
  }
  const span = (length - 1) * stride + 1
  const full = cutting.strategy === 'box' || (cutting.density < 1 && length / span >= cutting.density)
  if (cutting.steps || stride === 1 || (full && span <= cutting.maxSize)) return [piece(0, length)]
  if (cutting.strategy === 'ranges' && !full) {
    checkReads(length)
    return Array.from({ length }, (_, i) => piece(i, 1))
  }
  if (span <= cutting.maxSize && chunks instanceof RegularChunks && stride <= chunks.chunkLength) return [piece(0, length)]
  const pieces: Piece[] = []
  let from = 0
  let previous = chunks.find(first)
  let steps = 0
  for (let i = 0; i < length; ) {
    checkReads(++steps)
    const position = first + i * stride
    const k = chunks.find(position)
    const end = Math.min(length, i + Math.floor((chunks.stop(k) - 1 - position) / stride) + 1)
    const tooLarge = (end - 1 - from) * stride + 1 > cutting.maxSize
    if (i > from && ((k > previous + 1 && !full) || tooLarge)) {
      pieces.push(piece(from, i - from))
      from = i
    }
    previous = k
    i = end
  }
  pieces.push(piece(from, length - from))
  return pieces
}
