import type { DType } from '../../core/dtype.ts'
import { sizeOf } from '../../core/shape.ts'
import { type AxisChunks, ChunkGrid, RegularChunks } from '../../grid/chunks.ts'
import { subsetChunks } from '../../grid/derived-chunks.ts'
import { axisChunks } from '../../grid/irregular-chunks.ts'
import type { ResolvedSelection, SelectionPart } from '../../grid/selection.ts'
import type { BlockSource } from '../source.ts'
import { deriveSource } from './derive.ts'
import { countAxes, isAlongAxis, type PointsViewOf, pickOf, positionsAt, takeOf } from './picks.ts'

const body = () => import('./read-points.ts')

/** Most elements of a chunk of a view by points. */
const MAX_CHUNK_ELEMENTS = 2 ** 20

const POINTS_VIEWS = new WeakSet<BlockSource>()

/** Whether a source is a view by points. */
export const isPointsView = (source: BlockSource): boolean => POINTS_VIEWS.has(source)

/**
 * Returns a view by points, masks of several axes and nested lists. Its chunks along these axes are runs of
 * positions in their order, of at most 2^20 elements. A run ends between two chunks of the base where
 * possible.
 */
export function viewPoints<D extends DType>(source: BlockSource<D>, selected: ResolvedSelection): BlockSource<D> {
  const { source: base, selection } = source.bulk?.below?.(selected) ?? { source, selection: selected }
  const { parts } = selection
  const view: PointsViewOf<D> = { base, parts }
  const derived = deriveSource<D>(base, {
    chunks: new ChunkGrid(chunksOfParts(base.chunks, parts)),
    dimensionNames: namesOf(view),
    capabilities: { steps: true },
    readBlock: async (...asked) => (await body()).readPoints(view, ...asked),
    write: async (...asked) => (await body()).writePoints(view, ...asked),
    bulk: {
      below: (selection) => ({ source: base, selection: { ...selection, parts: composed(parts, selection.parts) } }),
      requests: async (boxes) => (await body()).requestsOfPoints(view, boxes),
    },
  })
  POINTS_VIEWS.add(derived)
  return derived
}

/** Returns the names of the axes. An axis that stands for several, or for a part of one, has none. */
function namesOf({ base: { dimensionNames }, parts }: PointsViewOf): readonly string[] | undefined {
  let axis = 0
  const names = parts.flatMap((part) => {
    const name = isAlongAxis(part) ? dimensionNames?.[axis] : undefined
    axis += countAxes(part)
    return part.shape.map(() => name ?? '')
  })
  return names.some(Boolean) ? names : undefined
}

function chunksOfParts(grid: ChunkGrid, parts: readonly SelectionPart[]): AxisChunks[] {
  let axis = 0
  const own = parts.map((part) => {
    const first = axis
    axis += countAxes(part)
    const below = grid.axes.slice(first, axis)
    return isAlongAxis(part) ? part.shape.map(() => subsetChunks(below[0]!, pickOf(part))) : below
  })
  const others = parts.reduce(
    (size, part, i) => (isAlongAxis(part) ? own[i]!.reduce((n, c) => n * c.chunkLength, size) : size),
    1,
  )
  return parts.flatMap((part, i) => {
    if (isAlongAxis(part)) return own[i]!
    const [length, ...inner] = part.shape
    if (length === undefined) return []
    const most = Math.max(1, Math.floor(MAX_CHUNK_ELEMENTS / Math.max(1, others * sizeOf(inner))))
    const first =
      inner.length === 0 && length > most
        ? runsOf(part, own[i]!, most)
        : new RegularChunks(Math.min(most, Math.max(1, length)), length)
    return [first, ...inner.map((each) => new RegularChunks(Math.max(1, each), each))]
  })
}

/** Cuts points into runs of at most `most`, between two chunks of the base if there is such a place. */
function runsOf({ picks }: SelectionPart, chunks: readonly AxisChunks[], most: number): AxisChunks {
  const lists = picks as readonly Float64Array[]
  const { length } = lists[0]!
  const isWithin = (i: number): boolean => lists.every((list, k) => chunks[k]!.find(list[i]!) === chunks[k]!.find(list[i - 1]!))
  const lengths: number[] = []
  for (let from = 0, to = 0; from < length; from = to) {
    to = Math.min(length, from + most)
    let cut = to
    while (to < length && cut > from + most / 2 && isWithin(cut)) cut--
    if (to < length && !isWithin(cut)) to = cut
    lengths.push(to - from)
  }
  return axisChunks(lengths)
}

/** Composes the selections of a view of a view: parts over the axes of the base of both. */
export function composed(inner: readonly SelectionPart[], outer: readonly SelectionPart[]): SelectionPart[] {
  const found: SelectionPart[] = []
  for (let i = 0, o = 0; i < inner.length; ) {
    // Takes parts of both until they cover the same axes of the view between them.
    const [own, taken] = [[inner[i]!], [] as SelectionPart[]]
    let [below, above] = [inner[i++]!.shape.length, 0]
    while (above !== below)
      if (above < below) {
        taken.push(outer[o]!)
        above += countAxes(outer[o++]!)
      } else {
        own.push(inner[i]!)
        below += inner[i++]!.shape.length
      }
    found.push(...joined(own, taken))
  }
  return found
}

function joined(inner: readonly SelectionPart[], outer: readonly SelectionPart[]): readonly SelectionPart[] {
  const [first] = outer
  if (first === undefined) return inner
  if (inner.length === 1 && isAlongAxis(inner[0]!) && isAlongAxis(first)) {
    const picks = takeOf(pickOf(inner[0]!), pickOf(first))
    return [{ picks: 'step' in picks ? picks : [picks], length: first.length, shape: first.shape }]
  }
  const shape = outer.flatMap((part) => part.shape)
  // The position along each axis of the view, for each element of the result.
  const positions = listsOf(outer)
  let axis = 0
  const picks = inner.flatMap((part) => {
    const { length } = part.shape
    const own = positions.slice(axis, axis + length)
    axis += length
    const at = new Float64Array(sizeOf(shape))
    for (let i = 0; i < at.length; i++) for (let k = 0; k < length; k++) at[i] = at[i]! * part.shape[k]! + own[k]![i]!
    return positionsAt(part, at)
  })
  return [{ picks, length: sizeOf(shape), shape }]
}

/** Returns the positions that all combinations of some parts select, in C order, along each of their axes. */
function listsOf(parts: readonly SelectionPart[]): Float64Array[] {
  const count = parts.reduce((size, { length }) => size * length, 1)
  let every = count
  return parts.flatMap(({ picks, length }) => {
    every /= length || 1
    const lists = 'step' in picks ? [Float64Array.from({ length }, (_, i) => picks.start + i * picks.step)] : picks
    return lists.map((list) => Float64Array.from({ length: count }, (_, i) => list[Math.floor(i / every) % length]!))
  })
}
