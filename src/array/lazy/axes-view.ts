import type { DType } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { wholeAxis } from '../../core/tensor.ts'
import { ChunkGrid, RegularChunks } from '../../grid/chunks.ts'
import { subsetChunks } from '../../grid/derived-chunks.ts'
import { resolveSelection, type Selection } from '../../grid/selection.ts'
import type { BlockSource } from '../source.ts'
import { deriveSource } from './derive.ts'
import { type AxisPick, isList, takeOf, type ViewOf } from './picks.ts'

const body = () => import('./picked.ts')

/** Changes of the axes of a source by a view. */
export interface AxesChange {
  /** Positions taken of each axis of the base; by default all. */
  readonly picks?: readonly AxisPick[]
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
  const picks: readonly AxisPick[] = change.picks ?? source.shape.map(wholeAxis)
  const names = change.order.map((axis) => (typeof axis === 'string' ? axis : (source.dimensionNames?.[axis] ?? '')))
  const known = names.some(Boolean) ? names : undefined
  const order = change.order.map((axis) => (typeof axis === 'string' ? null : axis))
  const view = VIEWS.get(source)
  // An empty selection of a new axis needs a view of its own.
  if (!view?.order.every((axis, i) => axis !== null || picks[i]!.length === 1)) return viewOn(source, picks, order, known)
  const below = view.picks.map((pick, axis) => {
    const own = view.places[axis]!
    return own < 0 ? pick : takeOf(pick, picks[own]!)
  })
  const through = order.map((axis) => (axis === null ? null : view.order[axis]!))
  return viewOn(view.base as BlockSource<D>, below, through, known)
}

function viewOn<D extends DType>(
  base: BlockSource<D>,
  picks: readonly AxisPick[],
  order: readonly (number | null)[],
  dimensionNames: readonly string[] | undefined,
): BlockSource<D> {
  const view: ViewOf<D> = { base, picks, order, places: picks.map((_, axis) => order.indexOf(axis)) }
  const { bulk = {}, capabilities } = base
  // Parts of reversed axes would have to be reversed, and parts along new axes only are of another kind.
  const forwards = picks.every((pick) => !isList(pick) && pick.step > 0) && !order.includes(null)
  const source: BlockSource<D> = deriveSource<D>(base, {
    chunks: new ChunkGrid(
      order.map((axis) => (axis === null ? new RegularChunks(1, 1) : subsetChunks(base.chunks.axes[axis]!, picks[axis]!))),
    ),
    dimensionNames,
    capabilities: { steps: true },
    readBlock: async (...asked) => (await body()).readView(view, ...asked),
    // If an element has several positions, the read between written ones and its write-back could undo a
    // write.
    write:
      picks.every((pick) => !isList(pick) || new Set(pick).size === pick.length) &&
      (async (...asked) => (await body()).writeView(view, ...asked)),
    bulk: {
      requests: async (boxes) => (await body()).requestsOfView(view, boxes),
      ...(bulk.read && { read: async (...asked) => (await body()).readManyOfView(view, ...asked) }),
      ...(bulk.written && !picks.some(isList) && { written: async (...asked) => (await body()).writtenOfView(view, ...asked) }),
      ...(bulk.visit &&
        capabilities?.steps && {
          visit: async function* (...asked) {
            yield* (await body()).visitView(source, view, ...asked)
          },
        }),
      ...(bulk.reduce &&
        capabilities?.steps &&
        forwards && { reduce: async (...asked) => (await body()).reduceView(view, ...asked) }),
    },
  })
  VIEWS.set(source, view)
  return source
}

/**
 * Returns a selection of an array as an array: integers drop their axis; slices of any sign, lists and masks
 * of one axis cut it.
 * @throws InvalidSelectionError for an invalid selection; UnsupportedError for points, masks of several
 *   axes and nested lists, which `get` accepts
 */
export function view<D extends DType>(source: BlockSource<D>, selection: Selection): BlockSource<D> {
  const { parts, shape } = resolveSelection(selection, source.shape, source)
  const picks = parts.map(({ picks, shape }, axis) => {
    const pick = 'step' in picks ? picks : picks.length === 1 ? picks[0] : undefined
    if (pick !== undefined && shape.length <= 1) return pick
    const text = `axis ${axis}: a view takes integers, slices, lists and masks of one axis; points and nested lists are for get`
    throw new HyperslabError('UnsupportedError', text, { ...source.label, axis })
  })
  const kept = [...parts.keys()].filter((axis) => parts[axis]!.shape.length > 0)
  // The remaining axes of the result's shape are new.
  const order = shape.map((length) => (kept.length > 0 && picks[kept[0]!]!.length === length ? kept.shift()! : ''))
  return viewAxes(source, { picks, order })
}
