import type { AxisIndices } from '../core/axis-indices.ts'
import { HyperslabError } from '../core/errors.ts'
import type { AxisView } from '../core/tensor.ts'
import type { AxisChunks } from './chunks.ts'
import { RegularChunks } from './chunks.ts'
import { countTouched } from './projection.ts'
import type { Range } from './range.ts'

/** One read, with the selected positions of a selector that it yields. */
export interface ReadRegion {
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
export interface SplitOptions {
  /** Whether ranges may have a step above 1. */
  readonly steps: boolean
  readonly strategy: 'chunk' | 'ranges' | 'box'
  /** Least share of selected positions at which a selection is not cut. */
  readonly density: number
  /** Largest region with unselected elements; beyond it, regions are cut between chunks. */
  readonly maxSize: number
}

/** Cuts the positions of a list along an axis, or of points along several axes: `split-list.ts`. */
export type SplitList = (positions: readonly Float64Array[], axes: readonly AxisChunks[], options: SplitOptions) => ReadRegion[]

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

/** Cuts a progression. Its positions are never listed, so the cost depends only on the number of regions. */
export function splitProgression(positions: AxisView, chunks: AxisChunks, options: SplitOptions): ReadRegion[] {
  const { start, step, length } = positions
  if (length === 0) return []
  const stride = Math.abs(step)
  const first = step > 0 ? start : start + (length - 1) * step
  const region = (from: number, count: number): ReadRegion => {
    const begin = first + from * stride
    const last = begin + (count - 1) * stride
    const outer = step > 0 ? { start: from, step: 1, length: count } : { start: length - 1 - from, step: -1, length: count }
    // A single position needs no step.
    const exact = options.steps || stride === 1 || count === 1
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
  const full = options.strategy === 'box' || (options.density < 1 && length / span >= options.density)
  if (options.steps || stride === 1 || (full && span <= options.maxSize)) return [region(0, length)]
  if (options.strategy === 'ranges' && !full) {
    checkReads(length)
    return Array.from({ length }, (_, i) => region(i, 1))
  }
  if (span <= options.maxSize && chunks instanceof RegularChunks && stride <= chunks.chunkLength) return [region(0, length)]
  const regions: ReadRegion[] = []
  let from = 0
  let previous = chunks.find(first)
  let steps = 0
  for (let i = 0; i < length; ) {
    checkReads(++steps)
    const position = first + i * stride
    const k = chunks.find(position)
    const end = Math.min(length, i + Math.floor((chunks.stop(k) - 1 - position) / stride) + 1)
    const tooLarge = (end - 1 - from) * stride + 1 > options.maxSize
    if (i > from && ((k > previous + 1 && !full) || tooLarge)) {
      regions.push(region(from, i - from))
      from = i
    }
    previous = k
    i = end
  }
  regions.push(region(from, length - from))
  return regions
}
