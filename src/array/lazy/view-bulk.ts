import { isPlain, isWhole, type PlacedAggregate, type Reduction, splitReduction } from '../../aggregate/reduction.ts'
import { type AxisIndices, isListed } from '../../core/axis-indices.ts'
import type { DType, TypedArray } from '../../core/dtype.ts'
import { Pace } from '../../core/pace.ts'
import { eachIndex, sizeOf, stridesOf } from '../../core/shape.ts'
import { type AxisView, copyTensor, type Tensor, tensorOf, viewTensor } from '../../core/tensor.ts'
import type { ChunkGrid } from '../../grid/chunks.ts'
import { findProgression } from '../../grid/list.ts'
import { type Box, boxShape, type Range, rangeLength, rangeOf } from '../../grid/range.ts'
import type { BlockReadOptions, BlockSource, PartVisitor, ReduceBoxOptions } from '../source.ts'
import { picksBelow, type ViewOf } from './picks.ts'

/*
 * Bulk operations of a view through its base, loaded with the first of them, because reading needs none.
 */

/**
 * Visits a box of a view through its base. This requires ascending lists, whose positions in a chunk of the
 * base are contiguous. Other views are visited chunk by chunk.
 */
export async function* visitView<D extends DType, R>(
  source: BlockSource<D>,
  view: ViewOf<D>,
  box: Box,
  visitor: PartVisitor<D, R>,
  options?: BlockReadOptions,
): AsyncGenerator<R, void, undefined> {
  const { base, order } = view
  const picks = picksBelow(view, box)
  if (picks.some((pick) => isListed(pick) && pick.some((position, i) => i > 0 && position <= pick[i - 1]!))) {
    const { visitChunkByChunk } = await import('../visit.ts')
    yield* visitChunkByChunk(source, box, visitor, options)
    return
  }
  const axes = picks.map(toTaken)
  /** Returns the part of the box that a part of the base covers; undefined if it is empty. */
  const upwards = (part: Box): { part: Box; inner: readonly Inner[] } | undefined => {
    const inner = part.map((range, axis) => axes[axis]!.within(range))
    if (inner.some(({ range }) => range.stop <= range.start)) return undefined
    return { part: order.map((axis) => (axis === null ? { start: 0, stop: 1, step: 1 } : inner[axis]!.range)), inner }
  }
  const below: PartVisitor<D, R> = {
    shouldRead: (part, stats) => {
      const own = upwards(part)
      if (own === undefined) return false
      const exact = own.inner.every(({ range }, axis) => rangeLength(range) === rangeLength(part[axis]!))
      return visitor.shouldRead(own.part, stats && { ...stats, exact: stats.exact && exact })
    },
    visit: (part, elements) => {
      const own = upwards(part)!
      const { data, shape, stride, offset } = takeEach(base.dtype, elements, own.inner)
      const along = (values: readonly number[], other: number): number[] =>
        order.map((axis) => (axis === null ? other : values[axis]!))
      return visitor.visit(own.part, { data, shape: along(shape, 1), stride: along(stride, 0), offset })
    },
  }
  yield* base.bulk!.visit!(axes.map(({ below }) => below), below, options) // biome-ignore format: one line
}

/** Selected positions within a range of the base, and their positions in that range. */
interface Inner {
  readonly range: Range
  readonly views: AxisView | readonly number[]
}

/** The range to read for the selected positions of an axis. */
interface Taken {
  readonly below: Range
  /** @param range counted from the start of the range read */
  within(range: Range): Inner
}

function toTaken(pick: AxisIndices<Float64Array>): Taken {
  if (isListed(pick)) {
    const first = pick[0]!
    const findFirst = (position: number): number => {
      let [low, high] = [0, pick.length]
      while (low < high) {
        const middle = (low + high) >> 1
        if (pick[middle]! < position) low = middle + 1
        else high = middle
      }
      return low
    }
    return {
      below: { start: first, stop: pick.at(-1)! + 1, step: 1 },
      within: ({ start, stop }) => {
        const range = { start: findFirst(first + start), stop: findFirst(first + stop), step: 1 }
        const own = Array.from(pick.subarray(range.start, range.stop), (position) => position - first - start)
        return { range, views: findProgression(own) ?? own }
      },
    }
  }
  const { start, step, length } = pick
  if (step > 0) {
    const whole = (range: Range): AxisView => ({ start: 0, step: 1, length: rangeLength(range) })
    return { below: rangeOf(pick), within: (range) => ({ range, views: whole(range) }) }
  }
  return {
    below: rangeOf({ start: start + (length - 1) * step, step: -step, length }),
    within: (range) => ({
      range: { start: length - range.stop, stop: length - range.start, step: 1 },
      views: { start: rangeLength(range) - 1, step: -1, length: rangeLength(range) },
    }),
  }
}

/** Selects elements along each axis; lists are copied. */
function takeEach<D extends DType>(dtype: D, elements: Tensor<D>, inner: readonly Inner[]): Tensor<D> {
  return inner.reduce((tensor, { views }, axis) => {
    const along = (view: AxisView): AxisView[] =>
      tensor.shape.map((length, each) => (each === axis ? view : { start: 0, step: 1, length }))
    if ('step' in views) return viewTensor(tensor, along(views))
    const copy = tensorOf(dtype, tensor.shape.with(axis, views.length))
    for (const [i, position] of views.entries()) {
      const to = along({ start: i, step: 1, length: 1 })
      copyTensor(viewTensor(tensor, along({ start: position, step: 1, length: 1 })), viewTensor(copy, to))
    }
    return copy
  }, elements)
}

/** Largest number of chunks that are collected for a view; beyond it, the whole view counts as written. */
const MOST_NOTED = 2 ** 22

/**
 * Returns the chunks of a grid over a view that contain written elements: those that overlap written chunks
 * of the base. All picks must be evenly spaced.
 */
export async function writtenOfView(
  { base, picks, places }: ViewOf,
  grid: ChunkGrid,
  options: BlockReadOptions = {},
): Promise<Float64Array | undefined> {
  const known = await base.bulk!.written!(base.chunks, options)
  if (known === undefined) return undefined
  const found: number[] = []
  const pace = new Pace(options.signal)
  for (const number of known) {
    if (pace.due()) await pace.turn()
    const firsts = grid.counts.map(() => 0)
    const counts = grid.counts.map(() => 1)
    const isTaken = base.chunks.box(base.chunks.index(number)).every((range, axis) => {
      const [first, last] = firstAndLast(picks[axis] as AxisView, range)
      const place = places[axis]!
      if (place < 0 || first > last) return first <= last
      firsts[place] = grid.axes[place]!.find(first)
      counts[place] = grid.axes[place]!.find(last) - firsts[place] + 1
      return true
    })
    if (!isTaken) continue
    if (found.length + sizeOf(counts) > MOST_NOTED) return undefined
    eachIndex(counts, (index) => found.push(grid.chunkIndex(index.map((i, axis) => firsts[axis]! + i))))
  }
  return Float64Array.from(found)
    .sort()
    .filter((number, i, sorted) => i === 0 || number !== sorted[i - 1])
}

/** Returns the first and the last of evenly spaced positions within a range of the base's axis. */
function firstAndLast({ start, step, length }: AxisView, range: Range): [first: number, last: number] {
  const [near, far] = step > 0 ? [range.start - start, range.stop - 1 - start] : [start - range.stop + 1, start - range.start]
  const stride = Math.abs(step)
  return [Math.max(0, Math.ceil(near / stride)), Math.min(length - 1, Math.floor(far / stride))]
}

/** Reduces a box of a view without new axes. */
export async function reduceView(
  view: ViewOf,
  box: Box,
  reduction: Reduction,
  take: (part: PlacedAggregate) => void,
  options?: ReduceBoxOptions,
): Promise<void> {
  const { base, places } = view
  const order = view.order as readonly number[]
  const whole = isWhole(reduction)
  const reduced = places.map((place) => (place < 0 ? whole : reduction.reduced[place]!))
  const steps = reduction.places && places.map((place) => (place < 0 ? 0 : reduction.places![place]!))
  const below = { ...reduction, reduced, ...(steps && { places: steps }) }
  const own = (picksBelow(view, box) as AxisView[]).map(rangeOf)
  await base.bulk!.reduce!(own, below, (part) => take(permutedPart(reduction, part, order)), options)
}

/**
 * Permutes the axes of a part of a reduction, and its cells.
 * @param order for each axis the one it comes from; axes of length 1 may be missing
 */
function permutedPart(reduction: Reduction, { region: from, parts }: PlacedAggregate, order: readonly number[]): PlacedAggregate {
  const region = order.map((axis) => from[axis]!)
  if (order.every((axis, i) => i === 0 || axis > order[i - 1]!)) return { parts, region }
  const ordered = (values: TypedArray, columns = 1): TypedArray => {
    // Some cells consist of several values: columns of all cells, or neighbours.
    const width = values.length / columns / sizeOf(boxShape(from))
    const [column, ...below] = stridesOf([columns, ...boxShape(from), width])
    const shape = [columns, ...boxShape(region), width]
    const stride = [column!, ...order.map((axis) => below[axis]!), 1]
    const copy = tensorOf('int8', shape, values.slice() as Int8Array)
    copyTensor({ data: values, shape, stride, offset: 0 } as Tensor, copy as Tensor)
    return copy.data as TypedArray
  }
  const each = splitReduction(reduction)
  return {
    region,
    parts: parts.map(({ values, counts, places }, i) => ({
      values: ordered(values as TypedArray, isPlain(each[i]!) ? 1 : 2),
      counts: ordered(counts) as Float64Array,
      ...(places && { places: ordered(places) as Float64Array }),
    })),
  }
}
