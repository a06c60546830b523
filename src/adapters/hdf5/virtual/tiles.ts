import { HyperslabError } from '../../../core/errors.ts'
import { sizeOf } from '../../../core/shape.ts'
import type { Range } from '../../../grid/range.ts'
import { LIMITS } from '../limits.ts'
import type { Mapping } from './mappings.ts'
import { type AxisBlocks, boxesInOrder, type SelectedBlock, type StoredSelection } from './selection.ts'

/** Positions along one axis: `length` of them, in blocks. The last block may be shorter. */
export interface BlockPlaces {
  readonly start: number
  readonly stride: number
  readonly block: number
  readonly length: number
}

/** Elements of a virtual array that one array shows. */
export interface SourceTile {
  readonly places: readonly BlockPlaces[]
  /** Position of the first element within the selection of the source. */
  readonly first: number
  readonly file: string
  readonly array: string
  readonly source: StoredSelection
  /** Number of selected elements of the source. */
  readonly total: number
}

/** Returns the places of blocks. */
export function toPlaces({ start, stride, count, block, slices = Infinity }: AxisBlocks): BlockPlaces {
  const length = Math.min(slices, count * block)
  return count === 1 || stride === block || length <= block
    ? { start, stride: Math.max(1, length), block: Math.max(1, length), length }
    : { start, stride, block, length }
}

export const wholePlaces = (length: number): BlockPlaces => ({
  start: 0,
  stride: Math.max(1, length),
  block: Math.max(1, length),
  length,
})

/** Returns the places of a box. */
export const boxPlaces = (box: SelectedBlock): BlockPlaces[] =>
  box.map(({ start, stop }) => ({ start, stride: stop - start, block: stop - start, length: stop - start }))

/** Returns the number of elements at places of all axes. */
export const countIn = (places: readonly BlockPlaces[]): number => sizeOf(places.map(({ length }) => length))

/** Returns the tiles of a mapping whose selections are limited. */
export function listTiles(mapping: Mapping, [file, array]: readonly [string, string], shape: readonly number[]): SourceTile[] {
  const { target, source } = mapping
  if (target.kind === 'none') return []
  const tile = (places: readonly BlockPlaces[], first = 0, total = countIn(places)): SourceTile => {
    checkRank(places.length, shape)
    return { places, first, total, file, array, source }
  }
  if (target.kind === 'all') return [tile(shape.map(wholePlaces))]
  if (target.kind === 'regular') return [tile(target.axes.map((axis) => toPlaces(axis)))]
  let first = 0
  const boxes = boxesInOrder(target.blocks).map(boxPlaces)
  const total = boxes.reduce((sum, places) => sum + countIn(places), 0)
  return boxes.map((places) => {
    const made = tile(places, first, total)
    first += countIn(places)
    return made
  })
}

function checkRank(rank: number, shape: readonly number[]): void {
  if (rank === shape.length) return
  const text = `a selection of ${rank} axes in a virtual array of ${shape.length}`
  throw new HyperslabError('FormatError', text, { actual: rank, expected: shape.length })
}

/** Positions of a box that follow one another evenly, and where the box has them. */
export interface PlaceRun {
  /** Range of the places, by their numbers. */
  readonly range: Range
  /** First position within the box. */
  readonly start: number
  readonly step: number
}

/** Returns the runs of the places that are within a range. */
export function runsWithin({ start, stride, block, length }: BlockPlaces, range: Range): PlaceRun[] {
  const numberAt = (position: number): number => {
    const from = Math.max(0, position - start)
    return Math.min(length, Math.floor(from / stride) * block + Math.min(block, from % stride))
  }
  const [first, end] = [numberAt(range.start), numberAt(range.stop)]
  const positionAt = (i: number): number => start + Math.floor(i / block) * stride + (i % block) - range.start
  if (first >= end) return []
  if (block === 1) return [{ range: { start: first, stop: end, step: 1 }, start: positionAt(first), step: stride }]
  const runs: PlaceRun[] = []
  for (let i = first; i < end; ) {
    const stop = Math.min(end, (Math.floor(i / block) + 1) * block)
    runs.push({ range: { start: i, stop, step: 1 }, start: positionAt(i), step: 1 })
    i = stop
  }
  return runs
}

/** Returns the position behind the last place. */
export const findEnd = ({ start, stride, block, length }: BlockPlaces): number =>
  length === 0 ? 0 : start + Math.floor((length - 1) / block) * stride + ((length - 1) % block) + 1

/** Whether two tiles may have elements in common. Blocks of different strides are not compared. */
export function mayOverlap(a: SourceTile, b: SourceTile): boolean {
  return a.places.every((own, axis) => {
    const other = b.places[axis]!
    if (findEnd(own) <= other.start || findEnd(other) <= own.start) return false
    if (own.stride !== other.stride) return true
    const shift = (((other.start - own.start) % own.stride) + own.stride) % own.stride
    return shift < own.block || shift + other.block > own.stride
  })
}

/** @throws UnsupportedError for more tiles than are read */
export function checkTiles(count: number): void {
  if (count <= LIMITS.mappedBlocks) return
  const text = `a virtual array is in more than ${LIMITS.mappedBlocks} parts`
  throw new HyperslabError('UnsupportedError', text, { actual: count, expected: LIMITS.mappedBlocks })
}
