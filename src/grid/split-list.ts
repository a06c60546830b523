import { type Checks, checkOptions } from '../core/options.ts'
import type { AxisChunks, ChunkGrid } from './chunks.ts'
import { findProgression } from './list.ts'
import { numbersTo, sortingOrder } from './order.ts'
import { PLAN_CHECKS, type Plan, type PlanContext, type PlanOptions, planChecked } from './plan.ts'
import type { ReadRegion, SplitList, SplitOptions } from './read-regions.ts'
import type { ResolvedSelection } from './selection.ts'

/*
 * Parts of planning that only lists and points need, loaded with the first of them.
 */

/** Cuts the positions of a list along an axis, or of points along several axes, into reads. */
export const splitList: SplitList = (positions, axes, options) =>
  positions.length === 1 ? splitPositions(positions[0]!, axes[0]!, options) : splitPoints(positions, axes, options)

/**
 * Plans how to read (or write) a resolved selection.
 *
 * Sources receive ascending boxes only. A backward slice is read forwards and placed backwards, at no cost.
 * Sources that accept steps receive them. A selection that is no box is read as its bounding box, cut by the
 * rules of {@link PlanOptions}. A read that contains unselected elements is also cut between chunks if it
 * exceeds 8 MiB. Transfers come in C order.
 *
 * @throws InvalidArgumentError for invalid options; TooLargeError for a selection of more than 2^20 reads
 */
export function plan(selection: ResolvedSelection, grid: ChunkGrid, context: PlanContext = {}): Plan {
  checkOptions('plan', context, CONTEXT_CHECKS)
  return planChecked(selection, grid, context, splitList)
}

const CONTEXT_CHECKS: Checks<PlanContext> = { ...PLAN_CHECKS, steps: 'boolean', elementBytes: 'number from 0' }

/** Cuts positions in any order, duplicates included. */
function splitPositions(positions: Float64Array, chunks: AxisChunks, options: SplitOptions): ReadRegion[] {
  const { length } = positions
  if (length === 0) return []
  const order = sortingOrder(positions)
  const sorted = order === undefined ? positions : new Float64Array(length)
  if (order !== undefined) for (let i = 0; i < length; i++) sorted[i] = positions[order[i]!]!
  const places = order ?? numbersTo(length)
  const run = new Run(sorted, places, options.steps)
  const regions: ReadRegion[] = []
  const full = options.strategy === 'box' || (options.density < 1 && isFull(sorted, options.density))
  // Constant difference between the positions of a run; 0 if it is unknown.
  let step = 0
  let chunk = chunks.find(sorted[0]!)
  let stop = chunks.stop(chunk)
  let [from, touched, firstChunk] = [0, 1, chunk]
  for (let i = 1; i <= length; i++) {
    let cut = i === length
    let [next, entered] = [chunk, 0]
    if (!cut) {
      const position = sorted[i]!
      const difference = position - sorted[i - 1]!
      if (position >= stop) {
        next = chunks.find(position)
        stop = chunks.stop(next)
        entered = 1
        // The whole chunk counts, because later positions may touch any part of it.
        const tooLarge = stop - sorted[from]! > options.maxSize
        cut = tooLarge || (!full && options.strategy === 'chunk' && next > chunk + 1)
      }
      if (!full && options.strategy === 'ranges' && difference > 0) {
        const goesOn = difference === 1 || options.steps ? step === 0 || difference === step : false
        if (!goesOn) cut = true
        step = cut ? 0 : difference
      }
    }
    if (cut) {
      regions.push(run.region(from, i, { touched, spanned: chunk - firstChunk + 1 }))
      from = i
      firstChunk = next
      touched = 1
    } else touched += entered
    chunk = next
  }
  return regions
}

function isFull(sorted: Float64Array, density: number): boolean {
  let distinct = 1
  for (let i = 1; i < sorted.length; i++) if (sorted[i] !== sorted[i - 1]) distinct++
  return distinct / (sorted.at(-1)! - sorted[0]! + 1) >= density
}

/** Sorted positions and their indices in the result. */
class Run {
  readonly #sorted: Float64Array
  readonly #places: Uint32Array
  readonly #steps: boolean

  constructor(sorted: Float64Array, places: Uint32Array, steps: boolean) {
    this.#sorted = sorted
    this.#places = places
    this.#steps = steps
  }

  /** Returns the region of the positions `[from, to)`. */
  region(from: number, to: number, { touched, spanned }: { touched: number; spanned: number }): ReadRegion {
    const sorted = this.#sorted
    const start = sorted[from]!
    const stop = sorted[to - 1]! + 1
    let distinct = 1
    // Constant difference between neighbours; 0 if they differ.
    let step: number | undefined
    for (let i = from + 1; i < to; i++) {
      const difference = sorted[i]! - sorted[i - 1]!
      if (difference === 0) continue
      distinct++
      step = step === undefined || step === difference ? difference : 0
    }
    step ??= 1
    const read = step === 1 || (step > 1 && this.#steps) ? step : 1
    const size = Math.ceil((stop - start) / read)
    const inner =
      step > 0 && distinct === to - from
        ? { start: 0, step: step / read, length: distinct }
        : relativeTo(sorted.subarray(from, to), start, read)
    const outer = findProgression(this.#places, from, to) ?? this.#places.subarray(from, to)
    const covered = distinct === size
    return {
      ranges: [{ start, stop, step: read }],
      inner,
      outer,
      size,
      exact: covered && !(inner instanceof Uint32Array || outer instanceof Uint32Array),
      covered,
      chunks: read > 1 ? touched : spanned,
    }
  }
}

function relativeTo(positions: Float64Array, start: number, step: number): Uint32Array {
  const relative = new Uint32Array(positions.length)
  for (let i = 0; i < relative.length; i++) relative[i] = (positions[i]! - start) / step
  return relative
}

/** A box of whole chunks. */
interface Area {
  readonly start: number[]
  readonly stop: number[]
  /** The larger area that absorbed this one. */
  within?: Area
}

/**
 * Cuts points into reads. The points of one chunk are read together. Neighbouring chunks are joined as long
 * as no chunk without a point is read. Regions come in the order of their first chunks.
 */
function splitPoints(coordinates: readonly Float64Array[], axes: readonly AxisChunks[], options: SplitOptions): ReadRegion[] {
  const { length } = coordinates[0]!
  if (length === 0) return []
  const all = numbersTo(length)
  const whole = boundsOf(coordinates, all)
  const full = options.strategy === 'box' || (options.density < 1 && length / whole.size >= options.density)
  if (full && whole.size <= options.maxSize) return [createListRegion(coordinates, all, whole, countWithin(whole, axes))]
  const cells = new Float64Array(length)
  coordinates.forEach((positions, k) => {
    const chunks = axes[k]!
    for (let i = 0; i < length; i++) cells[i] = cells[i]! * chunks.count + chunks.find(positions[i]!)
  })
  const order = sortingOrder(cells) ?? all
  const starts: number[] = []
  for (let i = 0; i < length; i++) if (i === 0 || cells[order[i]!] !== cells[order[i - 1]!]) starts.push(i)
  const areas = starts.map((i) => findArea(coordinates, axes, order[i]!))
  join(areas, axes, options.maxSize)

  const members = new Map<Area, Uint32Array[]>()
  starts.forEach((start, n) => {
    let area = areas[n]!
    while (area.within !== undefined) area = area.within
    const points = order.subarray(start, starts[n + 1] ?? length)
    const others = members.get(area)
    if (others === undefined) members.set(area, [points])
    else others.push(points)
  })
  return Array.from(members.values(), (parts) => {
    const points = parts.length === 1 ? parts[0]! : concat(parts)
    return createListRegion(coordinates, points, boundsOf(coordinates, points), parts.length)
  })
}

function findArea(coordinates: readonly Float64Array[], axes: readonly AxisChunks[], point: number): Area {
  const start = coordinates.map((positions, k) => axes[k]!.find(positions[point]!))
  return { start, stop: start.map((k) => k + 1) }
}

/** Joins areas that together form a box, axis by axis from the last to the first; `areas` are in C order. */
function join(areas: readonly Area[], axes: readonly AxisChunks[], maxSize: number): void {
  for (let axis = axes.length - 1; axis >= 0; axis--) {
    const open = new Map<string, Area>()
    for (const area of areas) {
      if (area.within !== undefined) continue
      const beside = area.start.map((start, k) => (k === axis ? '' : `${start}:${area.stop[k]}`)).join()
      const neighbour = open.get(beside)
      const adjoins = neighbour !== undefined && neighbour.stop[axis] === area.start[axis]
      if (adjoins && sizeOfBoth(neighbour, area, axis, axes) <= maxSize) {
        neighbour.stop[axis] = area.stop[axis]!
        area.within = neighbour
      } else open.set(beside, area)
    }
  }
}

const sizeOfBoth = (first: Area, last: Area, axis: number, axes: readonly AxisChunks[]): number =>
  axes.reduce((size, chunks, k) => {
    const stop = k === axis ? last.stop[k]! : first.stop[k]!
    return size * (chunks.stop(stop - 1) - chunks.start(first.start[k]!))
  }, 1)

interface Bounds {
  readonly low: number[]
  readonly high: number[]
  readonly size: number
}

function boundsOf(coordinates: readonly Float64Array[], points: Uint32Array): Bounds {
  let size = 1
  const [low, high] = [new Array<number>(coordinates.length), new Array<number>(coordinates.length)]
  coordinates.forEach((positions, k) => {
    let [least, most] = [Infinity, 0]
    for (let i = 0; i < points.length; i++) {
      const position = positions[points[i]!]!
      if (position < least) least = position
      if (position > most) most = position
    }
    low[k] = least
    high[k] = most
    size *= most + 1 - least
  })
  return { low, high, size }
}

const countWithin = ({ low, high }: Bounds, axes: readonly AxisChunks[]): number =>
  axes.reduce((count, chunks, k) => count * (chunks.find(high[k]!) - chunks.find(low[k]!) + 1), 1)

function createListRegion(
  coordinates: readonly Float64Array[],
  points: Uint32Array,
  { low, high, size }: Bounds,
  chunks: number,
): ReadRegion {
  const places = new Uint32Array(points.length)
  coordinates.forEach((positions, k) => {
    const length = high[k]! + 1 - low[k]!
    for (let i = 0; i < points.length; i++) places[i] = places[i]! * length + positions[points[i]!]! - low[k]!
  })
  const line = findProgression(places)
  return {
    ranges: low.map((start, k) => ({ start, stop: high[k]! + 1, step: 1 })),
    inner: line ?? places,
    outer: findProgression(points) ?? points,
    size,
    // Several axes must be combined into one.
    exact: false,
    covered: points.length >= size && countDistinct(places, size) === size,
    chunks,
  }
}

function countDistinct(places: Uint32Array, size: number): number {
  const seen = new Uint8Array(size)
  let count = 0
  for (let i = 0; i < places.length; i++) {
    count += 1 - seen[places[i]!]!
    seen[places[i]!] = 1
  }
  return count
}

function concat(parts: readonly Uint32Array[]): Uint32Array {
  const all = new Uint32Array(parts.reduce((sum, { length }) => sum + length, 0))
  let end = 0
  for (const part of parts) {
    all.set(part, end)
    end += part.length
  }
  return all
}
