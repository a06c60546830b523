import type { DType } from '../../core/dtype.js'
import type { Tensor } from '../../core/tensor.js'
import { progressionOf } from '../../grid/list.js'
import { planChecked } from '../../grid/plan.js'
import { type BlockOptions, type BlockSource, bytesOf } from '../source.js'
import { type Planned, readInto } from '../transfers.js'
import { write } from '../write.js'
import { type AxisPick, isList } from './picks.js'

function planned(source: BlockSource, picks: readonly AxisPick[]): Planned {
  const shape = picks.map(({ length }) => length)
  const parts = picks.map((pick) => {
    // A part of a list may well be evenly spaced, which is read with less ado.
    const even = isList(pick) ? progressionOf(pick) : pick
    return { picks: even ?? [pick as Float64Array], length: pick.length, shape: [pick.length] }
  })
  const selection = { parts, shape, scalar: false }
  const context = { steps: source.capabilities?.steps, elementBytes: bytesOf(source.dtype) }
  return { selection, plan: planChecked(selection, source.chunks, context) }
}

/** Reads what `picks` takes of each axis, in its order, into `out`, which has an axis for each. */
export const readPicks = <D extends DType>(
  source: BlockSource<D>,
  picks: readonly AxisPick[],
  out: Tensor<D>,
  options: BlockOptions = {},
): Promise<void> => readInto(source, planned(source, picks).plan, out, options)

/** Writes `values` to what `picks` takes of each axis; what lies between is read and written back. */
export const writePicks = <D extends DType>(
  source: BlockSource<D>,
  picks: readonly AxisPick[],
  values: Tensor<D>,
  options: BlockOptions = {},
): Promise<void> => write(source, planned(source, picks), values, options)
