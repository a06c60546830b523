import type { DType } from '../../core/dtype.ts'
import { sizeOf } from '../../core/shape.ts'
import { type AxisChunks, ChunkGrid, RegularChunks } from '../../grid/chunks.ts'
import { subsetChunks } from '../../grid/derived-chunks.ts'
import { axisChunks } from '../../grid/irregular-chunks.ts'
import type { SelectionPart } from '../../grid/selection.ts'
import type { BlockSource } from '../source.ts'
import { deriveSource } from './derive.ts'
import { combinedPick, countAxes, type FindParts, isAlongAxis, type PointsViewOf } from './picks.ts'

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
 * @param name of the axes that stand for several, or for a part of one
 * @param find finds the positions on first use; those of `parts` then only have their shape
 */
export function viewPoints<D extends DType>(
  source: BlockSource<D>,
  parts: readonly SelectionPart[],
  name = '',
  find?: FindParts,
): BlockSource<D> {
  const view: PointsViewOf<D> = { base: source, parts, find }
  const derived = deriveSource<D>(source, {
    chunks: new ChunkGrid(chunksOfParts(source.chunks, parts)),
    dimensionNames: pointNames(view, name),
    capabilities: { steps: true },
    readBlock: async (...asked) => (await body()).readPoints(view, ...asked),
    write: async (...asked) => (await body()).writePoints(view, ...asked),
    bulk: {
      below: async (selection) => (await body()).selectionBelow(view, selection),
      requests: async (boxes) => (await body()).requestsOfPoints(view, boxes),
    },
  })
  POINTS_VIEWS.add(derived)
  return derived
}

/** Returns the names of the axes. */
function pointNames({ base: { dimensionNames }, parts }: PointsViewOf, other: string): readonly string[] | undefined {
  let axis = 0
  const names = parts.flatMap((part) => {
    const name = isAlongAxis(part) ? (dimensionNames?.[axis] ?? '') : other
    axis += countAxes(part)
    return part.shape.map(() => name)
  })
  return names.some(Boolean) ? names : undefined
}

function chunksOfParts(grid: ChunkGrid, parts: readonly SelectionPart[]): AxisChunks[] {
  let axis = 0
  const own = parts.map((part) => {
    const first = axis
    axis += countAxes(part)
    const below = grid.axes.slice(first, axis)
    return isAlongAxis(part) ? part.shape.map(() => subsetChunks(below[0]!, combinedPick(part))) : below
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
        ? listRuns(part, own[i]!, most)
        : new RegularChunks(Math.min(most, Math.max(1, length)), length)
    return [first, ...inner.map((each) => new RegularChunks(Math.max(1, each), each))]
  })
}

/** Cuts points into runs of at most `most`, between two chunks of the base if there is such a place. */
function listRuns({ picks }: SelectionPart, chunks: readonly AxisChunks[], most: number): AxisChunks {
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
