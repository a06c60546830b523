import type { DType } from '../../core/dtype.js'
import type { AxisView, Tensor } from '../../core/tensor.js'
import { plan } from '../../grid/plan.js'
import { type BlockOptions, type BlockSource, bytesOf } from '../source.js'
import { type Planned, readInto } from '../transfers.js'
import { write } from '../write.js'

function planned(source: BlockSource, picks: readonly AxisView[]): Planned {
  const shape = picks.map(({ length }) => length)
  const parts = picks.map((pick) => ({ picks: pick, length: pick.length, shape: [pick.length] }))
  const selection = { parts, shape, scalar: false }
  const context = { steps: source.capabilities?.steps, elementBytes: bytesOf(source.dtype) }
  return { selection, plan: plan(selection, source.chunks, context) }
}

/** Reads what `picks` takes of each axis, forwards or backwards, into `out`, which has an axis for each. */
export const readPicks = <D extends DType>(
  source: BlockSource<D>,
  picks: readonly AxisView[],
  out: Tensor<D>,
  options: BlockOptions = {},
): Promise<void> => readInto(source, planned(source, picks).plan, out, options)

/** Writes `values` to what `picks` takes of each axis; what lies between is read and written back. */
export const writePicks = <D extends DType>(
  source: BlockSource<D>,
  picks: readonly AxisView[],
  values: Tensor<D>,
  options: BlockOptions = {},
): Promise<void> => write(source, planned(source, picks), values, options)
