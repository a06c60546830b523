import type { AxisIndices } from '../core/axis-indices.ts'
import { coordsAt, sizeOf } from '../core/shape.ts'
import type { AxisView } from '../core/tensor.ts'
import { type AxisChunks, type ChunkGrid, RegularChunks } from './chunks.ts'
import { type AxisProjection, countTouched, projectAxis } from './projection.ts'
import { type Box, boxShape, type Range, rangeLength, rangeOf, viewOf } from './range.ts'

/** Number of touched chunks along an axis up to which they are listed. */
const LISTED = 4096

/** Touched chunks along an axis, numbered in ascending order. */
interface TouchedAxis<I extends AxisIndices> {
  readonly count: number
  at(i: number): AxisProjection<I>
  /** Returns the number of a chunk here; undefined if it is not touched. */
  find(chunk: number): number | undefined
}

/** Chunks touched by lists or points. */
class ListedAxis<I extends AxisIndices> implements TouchedAxis<I> {
  readonly count: number
  readonly #list: readonly AxisProjection<I>[]
  #numbers: Map<number, number> | undefined

  constructor(list: readonly AxisProjection<I>[]) {
    this.count = list.length
    this.#list = list
  }

  at(i: number): AxisProjection<I> {
    return this.#list[i]!
  }

  find(chunk: number): number | undefined {
    this.#numbers ??= new Map(this.#list.map((each, i) => [each.chunk, i]))
    return this.#numbers.get(chunk)
  }
}

/**
 * Chunks touched by a range. Many chunks of one length are computed instead of listed. Chunks of different
 * lengths are always listed, because a step may skip any of them.
 */
class RangeAxis implements TouchedAxis<AxisView> {
  readonly count: number
  readonly #range: Range
  readonly #chunks: AxisChunks
  readonly #first: number
  readonly #list: readonly AxisProjection[] | undefined
  /** Whether all chunks have one length, except the last. */
  readonly isRegular: boolean
  #listed: ListedAxis<AxisView> | undefined

  constructor(range: Range, chunks: AxisChunks) {
    this.#range = range
    this.#chunks = chunks
    this.count = countTouched(range, chunks)
    this.#first = this.count === 0 ? 0 : chunks.find(range.start)
    this.isRegular = chunks instanceof RegularChunks
    this.#list = this.count <= LISTED || !this.isRegular ? projectAxis(range, chunks) : undefined
  }

  at(i: number): AxisProjection {
    const known = this.#list?.[i]
    if (known !== undefined) return known
    const { start, step } = this.#range
    // A step that is longer than a chunk skips some chunks.
    const chunk = step >= this.#chunks.chunkLength ? this.#chunks.find(start + i * step) : this.#first + i
    const [from, to] = this.#places(chunk)
    const first = this.#chunks.start(chunk)
    return {
      chunk,
      length: this.#chunks.storedLength(chunk),
      from: { start: start + from * step - first, step, length: to - from },
      to: { start: from, step: 1, length: to - from },
    }
  }

  find(chunk: number): number | undefined {
    if (!this.isRegular) {
      this.#listed ??= new ListedAxis(this.#list!)
      return this.#listed.find(chunk)
    }
    const [from, to] = this.#places(chunk)
    if (from >= to) return undefined
    return this.#range.step >= this.#chunks.chunkLength ? from : chunk - this.#first
  }

  /** Returns the positions `[from, to)` of the range that belong to a chunk. */
  #places(chunk: number): [number, number] {
    const { start, step } = this.#range
    const before = (position: number): number =>
      Math.min(rangeLength(this.#range), Math.max(0, Math.ceil((position - start) / step)))
    return [before(this.#chunks.start(chunk)), before(this.#chunks.stop(chunk))]
  }
}

/** A box, or the projections of each axis, with the chunk counts of the grid along these axes. */
export interface TouchedRegion<I extends AxisIndices = AxisIndices> {
  readonly axes: Box | readonly (readonly AxisProjection<I>[])[]
  readonly counts: readonly number[]
}

/**
 * The chunks of a grid that a box, lists or points touch, numbered in C order. Regular chunks of a box are
 * not listed all at once, because there may be very many.
 */
export class TouchedChunks<I extends AxisIndices = AxisView> {
  readonly count: number
  readonly #counts: readonly number[]
  readonly #axes: readonly TouchedAxis<I>[]
  readonly #gridCounts: readonly number[]

  /** @param axes ranges of a box, or projections per axis; points combine several axes of the grid */
  constructor(axes: TouchedRegion<I>['axes'], grid: Pick<ChunkGrid, 'axes' | 'counts'>) {
    this.#gridCounts = grid.counts
    this.#axes = axes.map((own, axis) =>
      'step' in own ? (new RangeAxis(own, grid.axes[axis]!) as unknown as TouchedAxis<I>) : new ListedAxis(own),
    )
    this.#counts = this.#axes.map(({ count }) => count)
    this.count = sizeOf(this.#counts)
  }

  /** Returns the elements taken from a chunk, along each axis. */
  projections(at: number): AxisProjection<I>[] {
    const projections = new Array<AxisProjection<I>>(this.#axes.length)
    for (let axis = projections.length - 1; axis >= 0; axis--) {
      const count = this.#counts[axis]!
      projections[axis] = this.#axes[axis]!.at(at % count)
      at = Math.floor(at / count)
    }
    return projections
  }

  /** Returns the number of a chunk in the grid. */
  number(at: number): number {
    return this.numberOf(this.projections(at))
  }

  /** Returns the number in the grid of the chunk with these projections. */
  numberOf(projections: readonly AxisProjection<I>[]): number {
    let number = 0
    for (let axis = 0; axis < projections.length; axis++) number = number * this.#gridCounts[axis]! + projections[axis]!.chunk
    return number
  }

  /**
   * Whether a condition holds for any chunk along an axis. Only the chunks at both ends of regular ones can
   * differ in shape from the others.
   */
  someAlong(axis: number, holds: (projection: AxisProjection<I>) => boolean): boolean {
    const own: TouchedAxis<I> = this.#axes[axis]!
    const { count } = own
    const isRegular = own instanceof RangeAxis && own.isRegular
    const some = isRegular ? [...new Set([0, 1, count - 1].filter((i) => i >= 0 && i < count))] : Array(count).keys()
    for (const i of some) if (holds(own.at(i))) return true
    return false
  }

  /** Returns the number here of a chunk, given its number in the grid; undefined if it is not touched. */
  find(chunk: number): number | undefined {
    const index = coordsAt(chunk, this.#gridCounts)
    let at = 0
    for (let axis = 0; axis < index.length; axis++) {
      const place = this.#axes[axis]!.find(index[axis]!)
      if (place === undefined) return undefined
      at = at * this.#counts[axis]! + place
    }
    return at
  }

  /**
   * Yields the boxes of the result that the chunks `[from, to)` of a box cover, in C order. There are at most
   * two boxes per axis, however many chunks.
   */
  *boxes(from: number, to: number): Generator<Box, void> {
    for (const ranges of indexBoxes(from, to, this.#counts)) {
      yield ranges.map(([first, last], axis) => {
        const [a, b] = [this.#axes[axis]!.at(first).to, this.#axes[axis]!.at(last).to] as [AxisView, AxisView]
        return rangeOf({ start: a.start, step: 1, length: b.start + b.length - a.start })
      })
    }
  }

  /**
   * Yields the positions in the result of the chunks `[from, to)`. Chunks of a box are merged and cut into
   * parts of at most `maxSize` positions; other chunks are yielded one by one.
   */
  *places(from: number, to: number, maxSize: number): Generator<readonly AxisIndices[], void> {
    if (this.#axes.some((axis) => axis instanceof ListedAxis))
      for (let at = from; at < to; at++) yield this.projections(at).map((own) => own.to)
    else for (const box of this.boxes(from, to)) for (const part of cutBox(box, maxSize)) yield part.map(viewOf)
  }
}

/** Returns the box of the result that a chunk covers. */
export const outerBox = (projections: readonly Pick<AxisProjection, 'to'>[]): Box => projections.map(({ to }) => rangeOf(to))

/** Yields the indices `[from, to)` in C order as boxes: the first and the last index along each axis. */
function* indexBoxes(from: number, to: number, counts: readonly number[]): Generator<[number, number][], void> {
  if (from >= to) return
  const [, ...inner] = counts
  if (counts.length === 0) {
    yield []
    return
  }
  const size = sizeOf(inner)
  let [first, last] = [Math.floor(from / size), Math.floor((to - 1) / size)]
  if (first === last) {
    for (const box of indexBoxes(from - first * size, to - first * size, inner)) yield [[first, first], ...box]
    return
  }
  if (from > first * size) {
    for (const box of indexBoxes(from - first * size, size, inner)) yield [[first, first], ...box]
    first++
  }
  const rest = to - last * size
  if (rest < size) last--
  if (first <= last) yield [[first, last], ...inner.map((count): [number, number] => [0, count - 1])]
  if (rest < size) for (const box of indexBoxes(0, rest, inner)) yield [[last + 1, last + 1], ...box]
}

/**
 * Cuts a box without steps into parts of at most `maxSize` positions. Axes that are `reduced` count as length
 * 1.
 */
export function* cutBox(box: Box, maxSize: number, reduced: readonly boolean[] = []): Generator<Box, void> {
  const lengths = boxShape(box).map((length, axis) => (reduced[axis] ? 1 : length))
  if (sizeOf(lengths) <= maxSize) {
    yield box
    return
  }
  const axis = lengths.indexOf(Math.max(...lengths))
  const { start, stop } = box[axis]!
  const middle = start + Math.ceil((stop - start) / 2)
  for (const [from, to] of [
    [start, middle],
    [middle, stop],
  ] as const) {
    yield* cutBox(
      box.map((range, i) => (i === axis ? { ...range, start: from, stop: to } : range)),
      maxSize,
      reduced,
    )
  }
}

/** Returns the smallest box that contains some boxes without steps. */
export const hullOf = (boxes: readonly Box[]): Box =>
  boxes[0]!.map((_, axis) => {
    let [start, stop] = [Infinity, 0]
    for (const box of boxes) {
      start = Math.min(start, box[axis]!.start)
      stop = Math.max(stop, box[axis]!.stop)
    }
    return { start, stop, step: 1 }
  })

/** Returns the box that disjoint boxes fill; undefined if they leave gaps. */
export function filledBox(boxes: readonly Box[]): Box | undefined {
  const hull = hullOf(boxes)
  return boxes.reduce((sum, box) => sum + sizeOf(boxShape(box)), 0) === sizeOf(boxShape(hull)) ? hull : undefined
}
