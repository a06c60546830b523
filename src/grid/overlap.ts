import type { AxisView } from '../core/tensor.ts'
import { type Box, type Range, rangeLength } from './range.ts'

/** Intersection of a box with a part of an array, and its positions in the result. */
export interface Overlap {
  /** Range within the part. */
  readonly box: Box
  readonly outer: readonly AxisView[]
}

/** @returns undefined if the box does not intersect the part of this shape that starts at `origin` */
export function findOverlap(box: Box, origin: readonly number[], shape: readonly number[]): Overlap | undefined {
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

/** Yields the pieces of a box that remain after removing other boxes, which must be disjoint. */
export function* without(box: Box, others: readonly Box[]): Generator<Box, void> {
  const isApart = (a: Box, b: Box): boolean => a.some(({ start, stop }, axis) => stop <= b[axis]!.start || b[axis]!.stop <= start)
  const near = others.filter((other) => !isApart(box, other))
  const [first, ...rest] = near
  if (first === undefined) {
    yield box
    return
  }
  // Yields the pieces before and after the first box along each axis, within its range along the axes before.
  let middle = box
  for (const [axis, { start, stop }] of first.entries()) {
    const own = middle[axis]!
    const narrowed = (from: number, to: number): Box => middle.with(axis, { start: from, stop: to, step: 1 })
    if (own.start < start) yield* without(narrowed(own.start, start), rest)
    if (stop < own.stop) yield* without(narrowed(stop, own.stop), rest)
    middle = narrowed(Math.max(own.start, start), Math.min(own.stop, stop))
  }
}
