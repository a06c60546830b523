import type { DType } from '../../core/dtype.js'
import { type AxisView, type Tensor, tensorOf } from '../../core/tensor.js'
import { type Box, boxShape, type Range, rangeLength } from '../../grid/range.js'
import type { BlockOptions, BlockSource } from '../source.js'

/** Reads of a lazy array that are under way at a time. */
export const READS_AT_A_TIME = 8

/** What `taken` takes of the positions that `pick` has taken. */
export const takeOf = ({ start, step }: AxisView, taken: AxisView): AxisView => ({
  start: start + taken.start * step,
  // A single position has no step left to speak of.
  step: taken.length > 1 ? step * taken.step : 1,
  length: taken.length,
})

export const wholeAxis = (length: number): AxisView => ({ start: 0, step: 1, length })

/** Positions as a range; their step must be positive. */
export const rangeOf = ({ start, step, length }: AxisView): Range =>
  length === 0 ? { start, stop: start, step: 1 } : { start, stop: start + (length - 1) * step + 1, step }

export const viewOf = (range: Range): AxisView => ({ start: range.start, step: range.step, length: rangeLength(range) })

/** A box in memory of its own. */
export async function readFresh<D extends DType>(source: BlockSource<D>, box: Box, options?: BlockOptions): Promise<Tensor<D>> {
  const tensor = tensorOf(source.dtype, boxShape(box))
  await source.readBlock(box, tensor, options)
  return tensor
}
