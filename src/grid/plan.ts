import type { AxisIndices } from '../core/axis-indices.ts'
import { HyperslabError } from '../core/errors.ts'
import type { Checks } from '../core/options.ts'
import { eachIndex, sizeOf } from '../core/shape.ts'
import type { AxisChunks } from './chunks.ts'
import { type ChunkGrid, READ_BYTES } from './chunks.ts'
import type { Box } from './range.ts'
import { checkReads, type ReadRegion, type SplitList, type SplitOptions, splitProgression } from './read-regions.ts'
import type { ResolvedSelection, SelectionPart } from './selection.ts'

/** One transfer between a source and a result. */
export interface Transfer {
  /** The box to read or write. */
  readonly box: Box
  /** Shape of the box with one axis per selector. */
  readonly shape: readonly number[]
  /** Number of box axes that each of these axes combines. */
  readonly axes: readonly number[]
  /**
   * Selected elements of the box in that shape; `null` if the whole box is selected in order. Axes that
   * points or a mask take together count as one, in C order.
   */
  readonly inner: readonly AxisIndices[] | null
  /**
   * Their positions in the result, with one axis per selector (see {@link Plan.fullShape}). Backward slices
   * have step -1 there.
   */
  readonly outer: readonly AxisIndices[]
  /** Whether every element of the box is selected. Otherwise, a write reads the box first. */
  readonly covered: boolean
  /** Number of chunks of the box. */
  readonly chunks: number
}

/** All reads of a selection, known before any I/O. */
export interface Plan {
  /** Shape of the result. */
  readonly shape: readonly number[]
  /**
   * Shape of the result with one axis per selector, omitted selectors included. Integers have length 1; lists
   * of any rank are flat.
   */
  readonly fullShape: readonly number[]
  /** The reads, in ascending order. They do not overlap. */
  readonly transfers: readonly Transfer[]
  /** Number of touched chunks. */
  readonly chunks: number
  /** Number of elements read. */
  readonly elements: number
}

/** Options of cutting a selection with gaps into reads. They do not change the result. */
export interface PlanOptions {
  /**
   * Places where a selection is cut (default `'chunk'`):
   *
   * - `'chunk'`: where at least one whole chunk is saved, the only I/O that a cut can save
   * - `'ranges'`: at every gap, for sources that read single elements cheaply
   * - `'box'`: nowhere, unless positions in the read exceed 32 bits
   */
  readonly strategy?: 'chunk' | 'ranges' | 'box' | undefined
  /**
   * Share from 0 to 1 (default 1). Along an axis, a selection that fills at least this share of its bounding
   * range is not cut.
   */
  readonly density?: number | undefined
}

export const PLAN_CHECKS: Checks<PlanOptions> = { strategy: ['chunk', 'ranges', 'box'], density: 'number' }

/** Options of `plan`, including those that a source determines. */
export interface PlanContext extends PlanOptions {
  /** Whether the source accepts boxes with steps. */
  readonly steps?: boolean | undefined
  /** Bytes of an element (default 8). They bound reads that contain unselected elements. */
  readonly elementBytes?: number | undefined
}

/** Positions within a read are 32-bit numbers. */
const MOST_PLACES = 2 ** 32

/**
 * Plans a selection, with options that were checked.
 * @param splitList needed for selections with lists or points
 */
export function planChecked(selection: ResolvedSelection, grid: ChunkGrid, context: PlanContext, splitList?: SplitList): Plan {
  const { strategy = 'chunk', density = 1, steps = false, elementBytes = 8 } = context
  if (!(density >= 0 && density <= 1))
    throw new HyperslabError('InvalidArgumentError', `density must be from 0 to 1, got ${density}`, { actual: density })
  const options = { strategy, density, steps, maxSize: MOST_PLACES, splitList: splitList }
  const axes = axesOf(selection.parts, grid)
  const regions = selection.parts.map((part, i) => split(part, axes[i]!, options))
  if (strategy !== 'box') bound(selection.parts, axes, regions, { options, maxSize: READ_BYTES / elementBytes })
  checkReads(regions.reduce((count, { length }) => count * length, 1))
  const transfers: Transfer[] = []
  let [chunks, elements] = [0, 0]
  eachIndex(
    regions.map(({ length }) => length),
    (index) => {
      const transfer = combine(index.map((i, part) => regions[part]![i]!))
      chunks += transfer.chunks
      elements += sizeOf(transfer.shape)
      transfers.push(transfer)
    },
  )
  return { shape: selection.shape, fullShape: selection.parts.map(({ length }) => length), transfers, chunks, elements }
}

function combine(parts: readonly ReadRegion[]): Transfer {
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

function axesOf(parts: readonly SelectionPart[], grid: ChunkGrid): (readonly AxisChunks[])[] {
  let axis = 0
  return parts.map(({ picks }) => {
    const first = axis
    axis += isPoints(picks) ? picks.length : 1
    return grid.axes.slice(first, axis)
  })
}

export const isPoints = (picks: SelectionPart['picks']): picks is readonly Float64Array[] => Array.isArray(picks)

type PlanSplit = SplitOptions & { readonly splitList: SplitList | undefined }

function split({ picks }: SelectionPart, axes: readonly AxisChunks[], options: PlanSplit): ReadRegion[] {
  return isPoints(picks) ? options.splitList!(picks, axes, options) : splitProgression(picks, axes[0]!, options)
}

/** Cuts reads again that contain too much at once, one part after another. */
function bound(
  parts: readonly SelectionPart[],
  axes: readonly (readonly AxisChunks[])[],
  regions: ReadRegion[][],
  { options, maxSize }: { options: PlanSplit; maxSize: number },
): void {
  const largest = regions.map((own) => own.reduce((most, { size }) => Math.max(most, size), 0))
  let size = largest.reduce((a, b) => a * b, 1)
  for (let i = 0; i < parts.length && size > maxSize; i++) {
    if (regions[i]!.every(({ exact }) => exact)) continue
    size /= largest[i]!
    regions[i] = split(parts[i]!, axes[i]!, { ...options, maxSize: maxSize / size })
    size *= regions[i]!.reduce((most, region) => Math.max(most, region.size), 0)
  }
}
