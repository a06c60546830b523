import { type AxisIndices, isListed } from '../../core/axis-indices.ts'
import type { DType } from '../../core/dtype.ts'
import { wholeAxis } from '../../core/tensor.ts'
import { ChunkGrid, RegularChunks } from '../../grid/chunks.ts'
import { subsetChunks } from '../../grid/derived-chunks.ts'
import { resolveSelection, type Selection } from '../../grid/selection.ts'
import type { BlockSource } from '../source.ts'
import { deriveSource } from './derive.ts'
import { combinedPick, composePick, isAlongAxis, type ViewOf, viewParts } from './picks.ts'
import { isPointsView, viewPoints } from './view-points.ts'

const body = () => import('./picked.ts')
const bulkBody = () => import('./view-bulk.ts')
const points = () => import('./read-points.ts')

/** Changes of the axes of a source by a view. */
export interface AxesChange {
  /** Positions taken of each axis of the base; by default all. */
  readonly picks?: readonly AxisIndices<Float64Array>[]
  /**
   * For each axis of the view, the axis of the base it comes from, or the name of a new axis of length 1.
   * Axes of the base that are not listed must have length 1.
   */
  readonly order: readonly (number | string)[]
}

/** Base and definition of each view, so that a view of a view becomes a single view of its base. */
export const VIEWS: WeakMap<BlockSource, ViewOf> = new WeakMap()

/** Returns a source with its axes cut, reversed, reordered, dropped and added. */
export function viewAxes<D extends DType>(source: BlockSource<D>, change: AxesChange): BlockSource<D> {
  const picks: readonly AxisIndices<Float64Array>[] = change.picks ?? source.shape.map(wholeAxis)
  const names = change.order.map((axis) => (typeof axis === 'string' ? axis : (source.dimensionNames?.[axis] ?? '')))
  const known = names.some(Boolean) ? names : undefined
  const order = change.order.map((axis) => (typeof axis === 'string' ? null : axis))
  const view = VIEWS.get(source)
  // An empty selection of a new axis needs a view of its own.
  if (!view?.order.every((axis, i) => axis !== null || picks[i]!.length === 1)) return viewOn(source, picks, order, known)
  const below = view.picks.map((pick, axis) => {
    const own = view.places[axis]!
    return own < 0 ? pick : composePick(pick, picks[own]!)
  })
  const through = order.map((axis) => (axis === null ? null : view.order[axis]!))
  return viewOn(view.base as BlockSource<D>, below, through, known)
}

function viewOn<D extends DType>(
  base: BlockSource<D>,
  picks: readonly AxisIndices<Float64Array>[],
  order: readonly (number | null)[],
  dimensionNames: readonly string[] | undefined,
): BlockSource<D> {
  const view: ViewOf<D> = { base, picks, order, places: picks.map((_, axis) => order.indexOf(axis)) }
  const { bulk = {}, capabilities } = base
  // Parts of reversed axes would have to be reversed, and parts along new axes only are of another kind.
  const forwards = picks.every((pick) => !isListed(pick) && pick.step > 0) && !order.includes(null)
  const source: BlockSource<D> = deriveSource<D>(base, {
    chunks: new ChunkGrid(
      order.map((axis) => (axis === null ? new RegularChunks(1, 1) : subsetChunks(base.chunks.axes[axis]!, picks[axis]!))),
    ),
    dimensionNames,
    capabilities: { steps: true },
    readBlock: async (...asked) => (await body()).readView(view, ...asked),
    write: async (...asked) => (await body()).writeView(view, ...asked),
    bulk: {
      // Parts come in the order of the base's axes.
      ...(order.every((axis, i) => axis !== null && (i === 0 || axis > order[i - 1]!)) && {
        below: async (selection) => (await points()).selectionBelow({ base, parts: viewParts(view) }, selection),
      }),
      requests: async (boxes) => (await body()).requestsOfView(view, boxes),
      ...(bulk.read && { read: async (...asked) => (await body()).readManyOfView(view, ...asked) }),
      ...(bulk.written &&
        !picks.some(isListed) && { written: async (...asked) => (await bulkBody()).writtenOfView(view, ...asked) }),
      ...(bulk.visit &&
        capabilities?.steps && {
          visit: async function* (...asked) {
            yield* (await bulkBody()).visitView(source, view, ...asked)
          },
        }),
      ...(bulk.reduce &&
        capabilities?.steps &&
        forwards && { reduce: async (...asked) => (await bulkBody()).reduceView(view, ...asked) }),
    },
  })
  VIEWS.set(source, view)
  return source
}

/**
 * Returns a selection of an array as an array, by any selector.
 * @throws InvalidSelectionError for an invalid selection
 */
export function view<D extends DType>(source: BlockSource<D>, selection: Selection): BlockSource<D> {
  const { parts, shape } = resolveSelection(selection, source.shape, source)
  if (isPointsView(source) || !parts.every(isAlongAxis)) {
    const own = viewPoints(source, parts)
    return own.shape.length === shape.length ? own : viewAxes(own, { order: withNewAxes(own.shape, shape) })
  }
  const kept = [...parts.keys()].filter((axis) => parts[axis]!.shape.length > 0)
  const order = withNewAxes(kept.map((axis) => parts[axis]!.length), shape) // biome-ignore format: one line
  return viewAxes(source, { picks: parts.map(combinedPick), order: order.map((at) => (typeof at === 'number' ? kept[at]! : at)) })
}

/** Returns the order of axes of length `lengths` in `shape`, whose other axes are new. */
function withNewAxes(lengths: readonly number[], shape: readonly number[]): (number | '')[] {
  let next = 0
  return shape.map((length) => (lengths[next] === length ? next++ : ''))
}
