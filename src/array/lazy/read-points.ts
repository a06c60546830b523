import type { DType } from '../../core/dtype.ts'
import { sizeOf, stridesOf } from '../../core/shape.ts'
import type { Signal } from '../../core/signal.ts'
import { copyTensor, type Tensor, tensorOf } from '../../core/tensor.ts'
import { type Box, boxShape, viewOf } from '../../grid/range.ts'
import type { ResolvedSelection, SelectionPart } from '../../grid/selection.ts'
import { planResolved } from '../get.ts'
import { type BlockReadOptions, type BlockSource, estimateRequests, type SelectionBelow } from '../source.ts'
import { foldTensor, type Planned, readInto } from '../transfers.ts'
import { writeSelection } from '../write.ts'
import type { WriteWhere } from './derive.ts'
import { checkDistinct, isDistinct } from './distinct.ts'
import { combinedPick, composePick, countAxes, evenPicks, isAlongAxis, type PointsViewOf, positionsAt } from './picks.ts'

/** Plans the read of a box of the view, from the lowest array that it is a view of. */
async function planned<D extends DType>(
  view: PointsViewOf<D>,
  box: Box,
  signal?: Signal,
): Promise<Planned & { readonly source: BlockSource<D> }> {
  const { base } = view
  const parts = await foundParts(view, signal)
  let axis = 0
  const own = parts.map((part) => {
    const first = axis
    axis += part.shape.length
    return boxPart(part, box.slice(first, axis))
  })
  const { source, selection } = await lowest(base, { parts: own, shape: boxShape(box), scalar: false })
  return { source, ...(await planResolved(source, selection, {})) }
}

const foundParts = async ({ parts, find }: PointsViewOf, signal?: Signal): Promise<readonly SelectionPart[]> =>
  find === undefined ? parts : find(signal)

function boxPart(part: SelectionPart, box: Box): SelectionPart {
  const shape = boxShape(box)
  if (shape.length === 0) return part
  const length = sizeOf(shape)
  if (isAlongAxis(part)) {
    const pick = composePick(combinedPick(part), viewOf(box[0]!))
    return { picks: 'step' in pick ? pick : evenPicks([pick]), length, shape }
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
  return { picks: evenPicks(positionsAt(part, places)), length, shape }
}

/** Reads a box of a view by points: each block of the base once. */
export async function readPoints<D extends DType>(
  view: PointsViewOf<D>,
  box: Box,
  out: Tensor<D>,
  options: BlockReadOptions = {},
): Promise<void> {
  const { source, plan, selection } = await planned(view, box, options.signal)
  const folded = foldTensor(out, selection)
  if (folded !== undefined) return readInto(source, plan, folded, options)
  const dense = tensorOf(source.dtype, plan.shape)
  await readInto(source, plan, foldTensor(dense, selection)!, options)
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
  await checkPoints(view, options?.signal)
  const { source, ...own } = await planned(view, box, options?.signal)
  await writeSelection(source, own, values, options ?? {}, mask)
}

/**
 * Checks the elements of the array at the bottom: writes go there directly, and views between the two may
 * have elements twice.
 */
async function checkPoints(view: PointsViewOf, signal?: Signal): Promise<void> {
  if (isDistinct(view)) return
  const parts = await foundParts(view, signal)
  const { source, selection } = await lowest(view.base, { parts, shape: parts.flatMap(({ shape }) => shape), scalar: false })
  checkDistinct(view, { base: source, parts: selection.parts })
}

/** Returns the number of blocks that reading some boxes of a view fetches. */
export async function requestsOfPoints(view: PointsViewOf, boxes: readonly Box[]): Promise<number | undefined> {
  const all: Box[] = []
  let source: BlockSource = view.base
  for (const box of boxes) {
    const own = await planned(view, box)
    source = own.source
    all.push(...own.plan.transfers.map(({ box }) => box))
  }
  return estimateRequests(source, all)
}

/** Returns the selection of the array below that has the elements of a selection of a view. */
export const selectionBelow = async <D extends DType>(
  view: PointsViewOf<D>,
  selection: ResolvedSelection,
): Promise<SelectionBelow<D>> => lowest(view.base, { ...selection, parts: composed(await foundParts(view), selection.parts) })

/** Goes down from a view to the array that it is a view of. */
const lowest = async <D extends DType>(source: BlockSource<D>, selection: ResolvedSelection): Promise<SelectionBelow<D>> =>
  (await source.bulk?.below?.(selection)) ?? { source, selection }

/** Composes the selections of a view of a view: parts over the axes of the base of both. */
function composed(inner: readonly SelectionPart[], outer: readonly SelectionPart[]): SelectionPart[] {
  const found: SelectionPart[] = []
  for (let i = 0, o = 0; i < inner.length; ) {
    // Takes parts of both until they cover the same axes of the view between them.
    const [own, taken] = [[inner[i]!], [] as SelectionPart[]]
    let [below, above] = [inner[i++]!.shape.length, 0]
    while (above !== below)
      if (above < below) {
        taken.push(outer[o]!)
        above += countAxes(outer[o++]!)
      } else {
        own.push(inner[i]!)
        below += inner[i++]!.shape.length
      }
    found.push(...joined(own, taken))
  }
  return found
}

function joined(inner: readonly SelectionPart[], outer: readonly SelectionPart[]): readonly SelectionPart[] {
  const [first] = outer
  if (first === undefined) return inner
  if (inner.length === 1 && isAlongAxis(inner[0]!) && isAlongAxis(first)) {
    const picks = composePick(combinedPick(inner[0]!), combinedPick(first))
    return [{ picks: 'step' in picks ? picks : evenPicks([picks]), length: first.length, shape: first.shape }]
  }
  const shape = outer.flatMap((part) => part.shape)
  // The position along each axis of the view, for each element of the result.
  const positions = listPositions(outer)
  let axis = 0
  const picks = inner.flatMap((part) => {
    const { length } = part.shape
    const own = positions.slice(axis, axis + length)
    axis += length
    const at = new Float64Array(sizeOf(shape))
    for (let i = 0; i < at.length; i++) for (let k = 0; k < length; k++) at[i] = at[i]! * part.shape[k]! + own[k]![i]!
    return positionsAt(part, at)
  })
  return [{ picks, length: sizeOf(shape), shape }]
}

/** Returns the positions that all combinations of some parts select, in C order, along each of their axes. */
function listPositions(parts: readonly SelectionPart[]): Float64Array[] {
  const count = parts.reduce((size, { length }) => size * length, 1)
  let every = count
  return parts.flatMap(({ picks, length }) => {
    every /= length || 1
    const lists = 'step' in picks ? [Float64Array.from({ length }, (_, i) => picks.start + i * picks.step)] : picks
    return lists.map((list) => Float64Array.from({ length: count }, (_, i) => list[Math.floor(i / every) % length]!))
  })
}
