import { type AxisIndices, indexAt, isListed } from '../../core/axis-indices.ts'
import type { DType } from '../../core/dtype.ts'
import type { Signal } from '../../core/signal.ts'
import { type AxisView, type Tensor, tensorOf } from '../../core/tensor.ts'
import { findProgression } from '../../grid/list.ts'
import { type Box, boxShape, viewOf } from '../../grid/range.ts'
import type { SelectionPart } from '../../grid/selection.ts'
import type { BlockOptions, BlockSource } from '../source.ts'

/** Number of concurrent reads of a lazy array. */
export const READS_AT_A_TIME = 8

/** Positions of elements along an axis of an array. */
type Positions = AxisIndices<Float64Array>

/** Composes two selections: returns the positions that `taken` selects of those in `pick`. */
export function composePick(pick: Positions, taken: Positions): Positions {
  const position = (i: number): number => indexAt(pick, i)
  if (isListed(taken)) return taken.map(position)
  const { start, step, length } = taken
  if (isListed(pick)) return Float64Array.from({ length }, (_, i) => position(start + i * step))
  // A single position needs no step.
  return { start: position(start), step: length > 1 ? pick.step * step : 1, length }
}

/** Definition of a view. */
export interface ViewOf<D extends DType = DType> {
  readonly base: BlockSource<D>
  readonly picks: readonly Positions[]
  /** For each axis of the view, the axis of the base; `null` for new axes. */
  readonly order: readonly (number | null)[]
  /** For each axis of the base, the axis of the view; -1 for dropped axes. */
  readonly places: readonly number[]
}

/** Returns the positions along each axis of the base that a box of a view takes. */
export const picksBelow = ({ picks, places }: ViewOf, box: Box): Positions[] =>
  picks.map((pick, axis) => (places[axis]! < 0 ? pick : composePick(pick, viewOf(box[places[axis]!]!))))

/** Definition of a view whose axes may each stand for several axes of its base, or several for one. */
export interface PointsViewOf<D extends DType = DType> {
  readonly base: BlockSource<D>
  /** The selection, in the order of the base's axes. Only its shape counts if there is `find`. */
  readonly parts: readonly SelectionPart[]
  /** Returns the selection, which is found by reading. */
  readonly find?: FindParts | undefined
}

/** Finds a selection of a known shape by reading other arrays. */
export type FindParts = (signal?: Signal) => Promise<readonly SelectionPart[]>

/** Whether a part selects along one axis, and has at most one axis in the result. */
export const isAlongAxis = ({ picks, shape }: SelectionPart): boolean =>
  ('step' in picks || picks.length === 1) && shape.length < 2

/** Returns the positions along the only axis of a part. */
export const combinedPick = ({ picks }: SelectionPart): Positions => ('step' in picks ? picks : picks[0]!)

/** Returns the number of axes of the base that a part takes. */
export const countAxes = ({ picks }: SelectionPart): number => ('step' in picks ? 1 : picks.length)

/**
 * Converts places in a part of a selection to positions along each axis of the base. Places are numbered in C
 * order.
 */
export const positionsAt = ({ picks }: SelectionPart, places: Float64Array): Float64Array[] =>
  'step' in picks
    ? [places.map((place) => picks.start + place * picks.step)]
    : picks.map((list) => places.map((place) => list[place]!))

/** Returns the selection that a view takes, in the order of the base's axes. */
export const viewParts = ({ picks, places }: ViewOf): SelectionPart[] =>
  picks.map((pick, axis) => ({
    picks: isListed(pick) ? [pick] : pick,
    length: pick.length,
    shape: places[axis]! < 0 ? [] : [pick.length],
  }))

/** Reads a box to new memory. */
export async function readFresh<D extends DType>(source: BlockSource<D>, box: Box, options?: BlockOptions): Promise<Tensor<D>> {
  const tensor = tensorOf(source.dtype, boxShape(box))
  await source.readBlock(box, tensor, options)
  return tensor
}

/**
 * Returns a list of positions as a progression if it is one, because evenly spaced positions cost less to
 * read. Several lists, which belong to points, stay as they are.
 */
export const evenPicks = (lists: readonly Float64Array[]): AxisView | readonly Float64Array[] =>
  lists.length === 1 ? (findProgression(lists[0]!) ?? lists) : lists
