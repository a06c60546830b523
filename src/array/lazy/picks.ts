import type { DType } from '../../core/dtype.ts'
import { type AxisView, type Tensor, tensorOf } from '../../core/tensor.ts'
import { type Box, boxShape } from '../../grid/range.ts'
import type { BlockOptions, BlockSource } from '../source.ts'

/** Reads of a lazy array that are under way at a time. */
export const READS_AT_A_TIME = 8

/** What is taken of an axis: evenly spaced positions, or a list of them in any order. */
export type AxisPick = AxisView | Float64Array

export const isList = (pick: AxisPick): pick is Float64Array => pick instanceof Float64Array

/** The position that comes at `i` in what is taken. */
export const positionAt = (pick: AxisPick, i: number): number => (isList(pick) ? pick[i]! : pick.start + i * pick.step)

/** What `taken` takes of the positions that `pick` has taken. */
export function takeOf(pick: AxisPick, taken: AxisPick): AxisPick {
  const position = (i: number): number => positionAt(pick, i)
  if (isList(taken)) return taken.map(position)
  const { start, step, length } = taken
  if (isList(pick)) return Float64Array.from({ length }, (_, i) => position(start + i * step))
  // A single position has no step left to speak of.
  return { start: position(start), step: length > 1 ? pick.step * step : 1, length }
}

/** What a view is of. */
export interface ViewOf<D extends DType = DType> {
  readonly base: BlockSource<D>
  readonly picks: readonly AxisPick[]
  /** The axis of the base that each axis is; `null` for new ones. */
  readonly order: readonly (number | null)[]
  /** The axis that each axis of the base has become; -1 for those that are dropped. */
  readonly places: readonly number[]
}

/** A box in memory of its own. */
export async function readFresh<D extends DType>(source: BlockSource<D>, box: Box, options?: BlockOptions): Promise<Tensor<D>> {
  const tensor = tensorOf(source.dtype, boxShape(box))
  await source.readBlock(box, tensor, options)
  return tensor
}
