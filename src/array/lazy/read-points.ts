import type { DType } from '../../core/dtype.ts'
import { sizeOf, stridesOf } from '../../core/shape.ts'
import { copyTensor, type Tensor, tensorOf } from '../../core/tensor.ts'
import { progressionOf } from '../../grid/list.ts'
import { cutPicks } from '../../grid/list-pieces.ts'
import { type Box, boxShape, viewOf } from '../../grid/range.ts'
import type { SelectionPart } from '../../grid/selection.ts'
import { planResolved } from '../get.ts'
import { type BlockReadOptions, requestsOf } from '../source.ts'
import { foldTensor, type Planned, readInto } from '../transfers.ts'
import { writeSelection } from '../write.ts'
import type { WriteWhere } from './derive.ts'
import { checkDistinct } from './distinct.ts'
import { isAlongAxis, type PointsViewOf, pickOf, positionsAt, takeOf } from './picks.ts'

/** Returns the selection of the base that a box of the view takes. */
function planned<D extends DType>({ base, parts }: PointsViewOf<D>, box: Box): Planned {
  let axis = 0
  const own = parts.map((part) => {
    const first = axis
    axis += part.shape.length
    return partOf(part, box.slice(first, axis))
  })
  return planResolved(base, { parts: own, shape: boxShape(box), scalar: false }, {}, cutPicks)
}

function partOf(part: SelectionPart, box: Box): SelectionPart {
  const shape = boxShape(box)
  if (shape.length === 0) return part
  const length = sizeOf(shape)
  if (isAlongAxis(part)) {
    const pick = takeOf(pickOf(part), viewOf(box[0]!))
    const picks = 'step' in pick ? pick : (progressionOf(pick) ?? [pick])
    return { picks, length, shape }
  }
  const stride = stridesOf(part.shape)
  const places = new Float64Array(length)
  const inner = stridesOf(shape)
  for (let i = 0; i < length; i++)
    for (let k = 0, rest = i; k < shape.length; k++) {
      const index = Math.floor(rest / inner[k]!)
      rest -= index * inner[k]!
      places[i] = places[i]! + (box[k]!.start + index * box[k]!.step) * stride[k]!
    }
  const lists = positionsAt(part, places)
  const even = lists.length === 1 ? progressionOf(lists[0]!) : undefined
  return { picks: even ?? lists, length, shape }
}

/** Reads a box of a view by points: each block of the base once. */
export async function readPoints<D extends DType>(
  view: PointsViewOf<D>,
  box: Box,
  out: Tensor<D>,
  options: BlockReadOptions = {},
): Promise<void> {
  const { plan, selection } = planned(view, box)
  const folded = foldTensor(out, selection)
  if (folded !== undefined) return readInto(view.base, plan, folded, options)
  const dense = tensorOf(view.base.dtype, plan.shape)
  await readInto(view.base, plan, foldTensor(dense, selection)!, options)
  copyTensor(dense, out)
}

/**
 * Writes a box of a view by points.
 * @throws ReadOnlyError, naming the element, if one occurs in the view twice
 */
export async function writePoints<D extends DType>(
  view: PointsViewOf<D>,
  ...[box, values, mask, options]: Parameters<WriteWhere<D>>
): Promise<void> {
  checkDistinct(view, view)
  await writeSelection(view.base, planned(view, box), values, options ?? {}, mask)
}

/** Returns the number of blocks that reading some boxes of a view fetches. */
export const requestsOfPoints = (view: PointsViewOf, boxes: readonly Box[]): Promise<number | undefined> =>
  requestsOf(view.base, boxes.flatMap((box) => planned(view, box).plan.transfers.map(({ box }) => box))) // biome-ignore format: one line
