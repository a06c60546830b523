import type { AxisView } from '../../core/tensor.ts'
import { type Box, type Range, rangeLength } from '../../grid/range.ts'

/** What a box takes of a part of an array, and where in the result that goes. */
export interface Overlap {
  /** Counted from the start of the part. */
  readonly box: Box
  readonly outer: readonly AxisView[]
}

/** @returns undefined when the box takes nothing of the part that starts at `origin` and has this shape */
export function overlapOf(box: Box, origin: readonly number[], shape: readonly number[]): Overlap | undefined {
  const inner: Range[] = []
  const outer: AxisView[] = []
  for (const [axis, range] of box.entries()) {
    const { start, step } = range
    const from = origin[axis]!
    const first = Math.max(0, Math.ceil((from - start) / step))
    const end = Math.min(rangeLength(range), Math.ceil((from + shape[axis]! - start) / step))
    const length = end - first
    if (length <= 0) return undefined
    const begin = start + first * step - from
    inner.push({ start: begin, stop: begin + (length - 1) * step + 1, step: length > 1 ? step : 1 })
    outer.push({ start: first, step: 1, length })
  }
  return { box: inner, outer }
}
