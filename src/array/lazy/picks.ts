import type { DType } from '../../core/dtype.ts'
import { type AxisView, type Tensor, tensorOf } from '../../core/tensor.ts'
import { type Box, boxShape } from '../../grid/range.ts'
import type { BlockOptions, BlockSource } from '../source.ts'

/** Number of concurrent reads of a lazy array. */
export const READS_AT_A_TIME = 8

/** Selected positions of an axis: evenly spaced, or a list in any order. */
export type AxisPick = AxisView | Float64Array

export const isList = (pick: AxisPick): pick is Float64Array => pick instanceof Float64Array

/** Returns the selected position at index `i`. */
export const positionAt = (pick: AxisPick, i: number): number => (isList(pick) ? pick[i]! : pick.start + i * pick.step)

/** Composes two selections: returns the positions that `taken` selects of those in `pick`. */
export function takeOf(pick: AxisPick, taken: AxisPick): AxisPick {
  const position = (i: number): number => positionAt(pick, i)
  if (isList(taken)) return taken.map(position)
  const { start, step, length } = taken
  if (isList(pick)) return Float64Array.from({ length }, (_, i) => position(start + i * step))
  // A single position needs no step.
  return { start: position(start), step: length > 1 ? pick.step * step : 1, length }
}

/** Definition of a view. */
export interface ViewOf<D extends DType = DType> {
  readonly base: BlockSource<D>
  readonly picks: readonly AxisPick[]
  /** For each axis of the view, the axis of the base; `null` for new axes. */
  readonly order: readonly (number | null)[]
  /** For each axis of the base, the axis of the view; -1 for dropped axes. */
  readonly places: readonly number[]
}

/** Reads a box to new memory. */
export async function readFresh<D extends DType>(source: BlockSource<D>, box: Box, options?: BlockOptions): Promise<Tensor<D>> {
  const tensor = tensorOf(source.dtype, boxShape(box))
  await source.readBlock(box, tensor, options)
  return tensor
}
