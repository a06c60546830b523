import type { DType } from '../../core/dtype.ts'
import { type AxisView, type Tensor, viewTensor } from '../../core/tensor.ts'
import { type Box, rangeOf } from '../../grid/range.ts'
import type { BlockOptions, BlockSource, BulkAccess, ChunkFacts } from '../source.ts'
import { readInto, type Views } from '../transfers.ts'
import { writeSelection } from '../write.ts'
import { type AxisPick, isList, planned } from './picks.ts'

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
): Promise<void> => writeSelection(source, planned(source, picks), values, options)

/** Reads several at once; what takes lists goes one by one. */
export async function readManyPicks<D extends DType>(
  source: BlockSource<D>,
  reads: readonly { readonly picks: readonly AxisPick[]; readonly out: Tensor<D> }[],
  options: BlockOptions = {},
): Promise<void> {
  const boxes: Parameters<NonNullable<BulkAccess<D>['read']>>[0][number][] = []
  for (const { picks, out } of reads) {
    const { plan } = planned(source, picks)
    if (plan.transfers.some(({ inner }) => inner !== null)) await readInto(source, plan, out, options)
    else for (const { box, outer } of plan.transfers) boxes.push({ box, out: viewTensor(out, outer as Views) })
  }
  if (boxes.length > 0) await source.bulk!.read!(boxes, options)
}

/**
 * What is known of what `picks` takes: of lists, what is known of all between the first and the last
 * position.
 */
export function statisticsOf(picks: readonly AxisPick[], known: (box: Box) => ChunkFacts | undefined): ChunkFacts | undefined {
  const facts = known(picks.map((pick) => (isList(pick) ? hullOfList(pick) : rangeOf(forwards(pick)))))
  return facts && { ...facts, exact: facts.exact && !picks.some(isList) }
}

const forwards = ({ start, step, length }: AxisView): AxisView =>
  step < 0 ? { start: start + (length - 1) * step, step: -step, length } : { start, step, length }

function hullOfList(list: Float64Array): Box[number] {
  let [start, stop] = [Infinity, 0]
  for (const position of list) {
    start = Math.min(start, position)
    stop = Math.max(stop, position + 1)
  }
  return { start, stop, step: 1 }
}
