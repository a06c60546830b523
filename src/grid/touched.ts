import type { AxisIndices } from '../core/places.ts'
import { coordsAt, sizeOf } from '../core/shape.ts'
import type { AxisView } from '../core/tensor.ts'
import type { AxisChunks, ChunkGrid } from './chunks.ts'
import { type AxisProjection, countTouched, projectAxis } from './projection.ts'
import { type Box, boxShape, type Range, rangeLength, rangeOf, viewOf } from './range.ts'

/** Axes that touch more chunks than this have no list of them. */
const LISTED = 4096

/** Chunks that are touched along an axis, numbered in ascending order. */
interface TouchedAxis<I extends AxisIndices> {
  readonly count: number
  at(i: number): AxisProjection<I>
  /** The number that a chunk has here; undefined when it is not touched. */
  find(chunk: number): number | undefined
}

/** Those that lists or points touch. */
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

/** Those that a range touches. */
class RangeAxis implements TouchedAxis<AxisView> {
  readonly count: number
  readonly #range: Range
  readonly #chunks: AxisChunks
  readonly #first: number
  readonly #list: readonly AxisProjection[] | undefined

  constructor(range: Range, chunks: AxisChunks) {
    this.#range = range
    this.#chunks = chunks
    this.count = countTouched(range, chunks)
    this.#first = this.count === 0 ? 0 : chunks.find(range.start)
    this.#list = this.count <= LISTED ? projectAxis(range, chunks) : undefined
  }

  at(i: number): AxisProjection {
    const known = this.#list?.[i]
    if (known !== undefined) return known
    const { start, step } = this.#range
    // A step that is longer than a chunk jumps over some.
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
    const [from, to] = this.#places(chunk)
    if (from >= to) return undefined
    return this.#range.step >= this.#chunks.chunkLength ? from : chunk - this.#first
  }

  /** Positions of the range that lie in a chunk: from the first up to the second. */
  #places(chunk: number): [number, number] {
    const { start, step } = this.#range
    const before = (position: number): number =>
      Math.min(rangeLength(this.#range), Math.max(0, Math.ceil((position - start) / step)))
    return [before(this.#chunks.start(chunk)), before(this.#chunks.stop(chunk))]
  }
}

/** A box, or what is projected of each axis, with the chunks that the grid has along these. */
export interface TouchedRegion<I extends AxisIndices = AxisIndices> {
  readonly axes: Box | readonly (readonly AxisProjection<I>[])[]
  readonly counts: readonly number[]
}

/**
 * The chunks of a grid of regular chunks that a box touches, or lists and points, numbered in C order. There
 * may be very many: nothing here lists those of a box.
 */
export class TouchedChunks<I extends AxisIndices = AxisView> {
  readonly count: number
  readonly #counts: readonly number[]
  readonly #axes: readonly TouchedAxis<I>[]
  readonly #gridCounts: readonly number[]

  /**
   * @param axes those of a box, or what is projected of each, in which points take some axes of the grid
   *   together
   */
  constructor(axes: TouchedRegion<I>['axes'], grid: Pick<ChunkGrid, 'axes' | 'counts'>) {
    this.#gridCounts = grid.counts
    this.#axes = axes.map((own, axis) =>
      'step' in own ? (new RangeAxis(own, grid.axes[axis]!) as unknown as TouchedAxis<I>) : new ListedAxis(own),
    )
    this.#counts = this.#axes.map(({ count }) => count)
    this.count = sizeOf(this.#counts)
  }

  /** What is taken from a chunk, along each axis. */
  projections(at: number): AxisProjection<I>[] {
    const projections = new Array<AxisProjection<I>>(this.#axes.length)
    for (let axis = projections.length - 1; axis >= 0; axis--) {
      const count = this.#counts[axis]!
      projections[axis] = this.#axes[axis]!.at(at % count)
      at = Math.floor(at / count)
    }
    return projections
  }

  /** The number of a chunk in the grid. */
  number(at: number): number {
    return this.numberOf(this.projections(at))
  }

  /** The number in the grid of a chunk with these projections. */
  numberOf(projections: readonly AxisProjection<I>[]): number {
    let number = 0
    for (let axis = 0; axis < projections.length; axis++) number = number * this.#gridCounts[axis]! + projections[axis]!.chunk
    return number
  }

  /**
   * Whether something holds for a chunk along an axis. Only those at both ends differ in shape from the
   * others.
   */
  someAlong(axis: number, holds: (projection: AxisProjection<I>) => boolean): boolean {
    const { count } = this.#axes[axis]!
    const places = new Set([0, 1, count - 1].filter((i) => i >= 0 && i < count))
    return [...places].some((i) => holds(this.#axes[axis]!.at(i)))
  }

  /** The number here of a chunk, given by its number in the grid; undefined when it is not touched. */
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
   * What chunks of a box from one up to another make up of the result, in C order: at most two boxes an axis,
   * whatever their number.
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
   * Where chunks from one up to another go in the result: those of a box together, cut into parts of at most
   * so many positions; others one by one.
   */
  *places(from: number, to: number, maxSize: number): Generator<readonly AxisIndices[], void> {
    if (this.#axes.some((axis) => axis instanceof ListedAxis))
      for (let at = from; at < to; at++) yield this.projections(at).map((own) => own.to)
    else for (const box of this.boxes(from, to)) for (const part of cutBox(box, maxSize)) yield part.map(viewOf)
  }
}

/** What a chunk makes up of the result. */
export const outerBox = (projections: readonly Pick<AxisProjection, 'to'>[]): Box => projections.map(({ to }) => rangeOf(to))

/** The indices from one place in C order up to another as boxes: along each axis the first and the last. */
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
 * A box without steps in parts of at most so many positions of the axes that are kept: those that are not
 * `reduced`.
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

/** The smallest box around some without steps. */
export const hullOf = (boxes: readonly Box[]): Box =>
  boxes[0]!.map((_, axis) => {
    let [start, stop] = [Infinity, 0]
    for (const box of boxes) {
      start = Math.min(start, box[axis]!.start)
      stop = Math.max(stop, box[axis]!.stop)
    }
    return { start, stop, step: 1 }
  })

/** The box that some make up which do not overlap; undefined when there are gaps between them. */
export function filledBox(boxes: readonly Box[]): Box | undefined {
  const hull = hullOf(boxes)
  return boxes.reduce((sum, box) => sum + sizeOf(boxShape(box)), 0) === sizeOf(boxShape(hull)) ? hull : undefined
}
