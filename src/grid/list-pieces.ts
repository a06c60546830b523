import type { AxisChunks } from './chunks.ts'
import { progressionOf } from './list.ts'
import { numbersTo, sortingOrder } from './order.ts'
import type { Cutting, Piece } from './pieces.ts'

/** Some whole chunks, a box of the grid. */
interface Area {
  readonly start: number[]
  readonly stop: number[]
  /** Set when it became part of a larger one. */
  within?: Area
}

/**
 * Cuts points: those of one chunk are read at once, and those of neighbouring chunks as long as that reads no
 * chunk without a point. Pieces come in the order of their first chunks.
 */
export function cutPoints(coordinates: readonly Float64Array[], axes: readonly AxisChunks[], cutting: Cutting): Piece[] {
  const { length } = coordinates[0]!
  if (length === 0) return []
  const all = numbersTo(length)
  const whole = boundsOf(coordinates, all)
  const full = cutting.strategy === 'hull' || (cutting.density < 1 && length / whole.size >= cutting.density)
  if (full && whole.size <= cutting.maxSize) return [pieceOf(coordinates, all, whole, countWithin(whole, axes))]
  const cells = new Float64Array(length)
  coordinates.forEach((positions, k) => {
    const chunks = axes[k]!
    for (let i = 0; i < length; i++) cells[i] = cells[i]! * chunks.count + chunks.find(positions[i]!)
  })
  const order = sortingOrder(cells) ?? all
  const starts: number[] = []
  for (let i = 0; i < length; i++) if (i === 0 || cells[order[i]!] !== cells[order[i - 1]!]) starts.push(i)
  const areas = starts.map((i) => areaOf(coordinates, axes, order[i]!))
  join(areas, axes, cutting.maxSize)

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
    return pieceOf(coordinates, points, boundsOf(coordinates, points), parts.length)
  })
}

function areaOf(coordinates: readonly Float64Array[], axes: readonly AxisChunks[], point: number): Area {
  const start = coordinates.map((positions, k) => axes[k]!.find(positions[point]!))
  return { start, stop: start.map((k) => k + 1) }
}

/**
 * Joins areas that together are a box again, along one axis after another, the last first; `areas` are in C
 * order.
 */
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

function pieceOf(coordinates: readonly Float64Array[], points: Uint32Array, { low, high, size }: Bounds, chunks: number): Piece {
  const places = new Uint32Array(points.length)
  coordinates.forEach((positions, k) => {
    const length = high[k]! + 1 - low[k]!
    for (let i = 0; i < points.length; i++) places[i] = places[i]! * length + positions[points[i]!]! - low[k]!
  })
  const line = progressionOf(places)
  return {
    ranges: low.map((start, k) => ({ start, stop: high[k]! + 1, step: 1 })),
    inner: line ?? places,
    outer: progressionOf(points) ?? points,
    size,
    // Several axes have to become one.
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
