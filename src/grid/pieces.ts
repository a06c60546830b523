import { HyperslabError } from '../core/errors.ts'
import type { AxisIndices } from '../core/places.ts'
import type { AxisView } from '../core/tensor.ts'
import type { AxisChunks } from './chunks.ts'
import { RegularChunks } from './chunks.ts'
import { countTouched } from './projection.ts'
import type { Range } from './range.ts'

/** What one read gives of the picks of a selector. */
export interface Piece {
  /** What to read of the axes that the selector takes. */
  readonly ranges: readonly Range[]
  /**
   * The picks among the elements of `ranges` (in C order, if those are of several axes), and where they lie
   * in the result.
   */
  readonly inner: AxisIndices
  readonly outer: AxisIndices
  /** Elements in `ranges`. */
  readonly size: number
  /**
   * Whether `inner` is all of them, once and in order, and `outer` a progression: then they need no place
   * between.
   */
  readonly exact: boolean
  /** Whether each of them is picked: then writing need not know what was there. */
  readonly covered: boolean
  /** Chunks touched. */
  readonly chunks: number
}

/** How to cut picks into reads. */
export interface Cutting {
  /** Whether ranges may have a step above 1. */
  readonly steps: boolean
  readonly strategy: 'chunk' | 'ranges' | 'hull'
  /** What is at least this full of picks is not cut. */
  readonly density: number
  /**
   * Pieces that are read for some of their elements only are cut between chunks when they hold more than
   * this.
   */
  readonly maxSize: number
}

/** Cuts the positions that a list takes of an axis, or points of several: `list-pieces.ts`. */
export type CutPicks = (picks: readonly Float64Array[], axes: readonly AxisChunks[], cutting: Cutting) => Piece[]

/** Reads that a selection comes to at most: each takes some hundred bytes of memory in the plan. */
const MOST_READS = 2 ** 20

/** @throws TooLargeError when a selection is cut into too many reads */
export function checkReads(count: number): void {
  if (count <= MOST_READS) return
  throw new HyperslabError('TooLargeError', `the selection comes to more than ${MOST_READS} reads`, {
    actual: count,
    expected: MOST_READS,
  })
}

/**
 * Cuts a progression. Its positions are never listed, so that it costs as little as the pieces it comes to.
 */
export function cutProgression(picks: AxisView, chunks: AxisChunks, cutting: Cutting): Piece[] {
  const { start, step, length } = picks
  if (length === 0) return []
  const stride = Math.abs(step)
  const first = step > 0 ? start : start + (length - 1) * step
  const piece = (from: number, count: number): Piece => {
    const begin = first + from * stride
    const last = begin + (count - 1) * stride
    const outer = step > 0 ? { start: from, step: 1, length: count } : { start: length - 1 - from, step: -1, length: count }
    // A single position has no step left to speak of.
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
  const full = cutting.strategy === 'hull' || (cutting.density < 1 && length / span >= cutting.density)
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
