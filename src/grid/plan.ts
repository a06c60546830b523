import { HyperslabError } from '../core/errors.ts'
import type { Checks } from '../core/options.ts'
import type { AxisIndices } from '../core/places.ts'
import { eachIndex, sizeOf } from '../core/shape.ts'
import type { AxisChunks } from './chunks.ts'
import { type ChunkGrid, READ_BYTES } from './chunks.ts'
import { type CutPicks, type Cutting, checkReads, cutProgression, type Piece } from './pieces.ts'
import type { Box } from './range.ts'
import type { ResolvedSelection, SelectionPart } from './selection.ts'

/** One transfer between a source and a result. */
export interface Transfer {
  /** The box that the source is asked for. */
  readonly box: Box
  /** Shape of the box with one axis for each selector. */
  readonly shape: readonly number[]
  /** Number of axes of the box that each of these is. */
  readonly axes: readonly number[]
  /**
   * The wanted elements of the box so seen; `null` when they are all of it and lie in the result as in the
   * box. Axes that points or a mask take together count as one, in C order.
   */
  readonly inner: readonly AxisIndices[] | null
  /**
   * Their places in the result, seen with one axis for each selector (see {@link Plan.fullShape}). Backward
   * slices go there with step -1.
   */
  readonly outer: readonly AxisIndices[]
  /** True when each element of the box is among the wanted; where not, writing reads the box first. */
  readonly covered: boolean
  /** Chunks of the box. */
  readonly chunks: number
}

/** Everything a selection will do, known before any I/O. */
export interface Plan {
  /** Shape of the result. */
  readonly shape: readonly number[]
  /**
   * Shape of the result with one axis for each selector, missing ones included: of length 1 for integers,
   * flat for lists of any rank.
   */
  readonly fullShape: readonly number[]
  /** The reads, in ascending order; no element of the array is in two of them. */
  readonly transfers: readonly Transfer[]
  /** Chunks touched. */
  readonly chunks: number
  /** Elements read. */
  readonly elements: number
}

/** Options of cutting a selection with gaps into reads; the result is the same. */
export interface PlanOptions {
  /**
   * The places where a selection is cut:
   *
   * - `'chunk'`, unless told otherwise: where at least one whole chunk is saved, the only I/O that a cut can
   *   save
   * - `'ranges'`: wherever something between is not wanted, for sources that read single elements cheaply
   * - `'hull'`: not at all, unless 32 bits do not count what lies between
   */
  readonly strategy?: 'chunk' | 'ranges' | 'hull' | undefined
  /**
   * A share from 0 to 1: a selection of an axis that makes up at least this part of its hull is not cut. 1
   * unless told otherwise.
   */
  readonly density?: number | undefined
}

export const PLAN_CHECKS: Checks<PlanOptions> = { strategy: ['chunk', 'ranges', 'hull'], density: 'number' }

/** Options of `plan`, with what a source would add to them. */
export interface PlanContext extends PlanOptions {
  /** True when the source takes boxes with steps. */
  readonly steps?: boolean | undefined
  /** Bytes of an element, which bound what is read for some of its elements only; 8 unless given. */
  readonly elementBytes?: number | undefined
}

/** Places among what is read are numbers of 32 bits. */
const MOST_PLACES = 2 ** 32

/**
 * Plans a selection; of options that were checked.
 * @param cutPicks for selections with lists or points
 */
export function planChecked(selection: ResolvedSelection, grid: ChunkGrid, context: PlanContext, cutPicks?: CutPicks): Plan {
  const { strategy = 'chunk', density = 1, steps = false, elementBytes = 8 } = context
  if (!(density >= 0 && density <= 1))
    throw new HyperslabError('InvalidArgumentError', `density must be from 0 to 1, got ${density}`, { actual: density })
  const cutting = { strategy, density, steps, maxSize: MOST_PLACES, cutPicks }
  const axes = axesOf(selection.parts, grid)
  const pieces = selection.parts.map((part, i) => cut(part, axes[i]!, cutting))
  if (strategy !== 'hull') bound(selection.parts, axes, pieces, { cutting, maxSize: READ_BYTES / elementBytes })
  checkReads(pieces.reduce((count, { length }) => count * length, 1))
  const transfers: Transfer[] = []
  let [chunks, elements] = [0, 0]
  eachIndex(
    pieces.map(({ length }) => length),
    (index) => {
      const transfer = combine(index.map((i, part) => pieces[part]![i]!))
      chunks += transfer.chunks
      elements += sizeOf(transfer.shape)
      transfers.push(transfer)
    },
  )
  return { shape: selection.shape, fullShape: selection.parts.map(({ length }) => length), transfers, chunks, elements }
}

function combine(parts: readonly Piece[]): Transfer {
  let [chunks, exact, covered] = [1, true, true]
  for (const part of parts) {
    chunks *= part.chunks
    exact &&= part.exact
    covered &&= part.covered
  }
  return {
    box: parts.flatMap(({ ranges }) => ranges),
    shape: parts.map(({ size }) => size),
    axes: parts.map(({ ranges }) => ranges.length),
    inner: exact ? null : parts.map(({ inner }) => inner),
    outer: parts.map(({ outer }) => outer),
    covered,
    chunks,
  }
}

/** The axes of the grid that each part takes. */
function axesOf(parts: readonly SelectionPart[], grid: ChunkGrid): (readonly AxisChunks[])[] {
  let axis = 0
  return parts.map(({ picks }) => {
    const first = axis
    axis += isPoints(picks) ? picks.length : 1
    return grid.axes.slice(first, axis)
  })
}

export const isPoints = (picks: SelectionPart['picks']): picks is readonly Float64Array[] => Array.isArray(picks)

type PlanCutting = Cutting & { readonly cutPicks: CutPicks | undefined }

function cut({ picks }: SelectionPart, axes: readonly AxisChunks[], cutting: PlanCutting): Piece[] {
  return isPoints(picks) ? cutting.cutPicks!(picks, axes, cutting) : cutProgression(picks, axes[0]!, cutting)
}

/** Cuts again what would hold too much at once, one part after another. */
function bound(
  parts: readonly SelectionPart[],
  axes: readonly (readonly AxisChunks[])[],
  pieces: Piece[][],
  { cutting, maxSize }: { cutting: PlanCutting; maxSize: number },
): void {
  const largest = pieces.map((own) => own.reduce((most, { size }) => Math.max(most, size), 0))
  let size = largest.reduce((a, b) => a * b, 1)
  for (let i = 0; i < parts.length && size > maxSize; i++) {
    if (pieces[i]!.every(({ exact }) => exact)) continue
    size /= largest[i]!
    pieces[i] = cut(parts[i]!, axes[i]!, { ...cutting, maxSize: maxSize / size })
    size *= pieces[i]!.reduce((most, piece) => Math.max(most, piece.size), 0)
  }
}
