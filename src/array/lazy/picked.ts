import { type AxisIndices, isListed } from '../../core/axis-indices.ts'
import type { DType } from '../../core/dtype.ts'
import { type Tensor, viewTensor } from '../../core/tensor.ts'
import type { Box } from '../../grid/range.ts'
import { planResolved } from '../get.ts'
import { type BlockReadOptions, type BlockSource, type BoxRead, estimateRequests } from '../source.ts'
import { type Planned, readInto, type Views } from '../transfers.ts'
import type { WriteWhere } from './derive.ts'
import { evenPicks, picksBelow, type ViewOf, viewParts } from './picks.ts'

/** Plans the read of the positions `picks` along each axis. */
function planned(source: BlockSource, picks: readonly AxisIndices<Float64Array>[]): Promise<Planned> {
  const shape = picks.map(({ length }) => length)
  const parts = picks.map((pick) => ({
    picks: isListed(pick) ? evenPicks([pick]) : pick,
    length: pick.length,
    shape: [pick.length],
  }))
  const selection = { parts, shape, scalar: false }
  return planResolved(source, selection, {})
}

/** Returns the number of blocks that reading several picks fetches. */
export async function requestsThrough(
  source: BlockSource,
  all: readonly (readonly AxisIndices<Float64Array>[])[],
): Promise<number | undefined> {
  const plans = await Promise.all(all.map((picks) => planned(source, picks)))
  return estimateRequests(source, plans.flatMap(({ plan }) => plan.transfers.map(({ box }) => box))) // biome-ignore format: one line
}

/** Returns the number of blocks that reading some boxes of a view fetches. */
export const requestsOfView = (view: ViewOf, boxes: readonly Box[]): Promise<number | undefined> =>
  requestsThrough(view.base, boxes.map((box) => picksBelow(view, box))) // biome-ignore format: one line

/** Reads the positions `picks` along each axis, in their order, into `out`, which has one axis for each. */
export const readPicks = async <D extends DType>(
  source: BlockSource<D>,
  picks: readonly AxisIndices<Float64Array>[],
  out: Tensor<D>,
  options: BlockReadOptions = {},
): Promise<void> => readInto(source, (await planned(source, picks)).plan, out, options)

/** Writes to a source, masked if a mask is given. */
export const writeWhere = async <D extends DType>(
  source: BlockSource<D>,
  ...[box, values, mask, options]: Parameters<WriteWhere<D>>
): Promise<void> =>
  mask === undefined ? source.writeBlock!(box, values, options) : source.writeMasked!(box, values, mask, options)

/** Writes `values`, or those whose mask is 1, to the positions `picks` along each axis. */
export const writePicks = async <D extends DType>(
  source: BlockSource<D>,
  picks: readonly AxisIndices<Float64Array>[],
  values: Tensor<D>,
  mask: Tensor<'bool'> | undefined,
  options: BlockReadOptions = {},
): Promise<void> => (await import('../write.ts')).writeSelection(source, await planned(source, picks), values, options, mask)

export const readView = <D extends DType>(view: ViewOf<D>, box: Box, out: Tensor<D>, options?: BlockReadOptions): Promise<void> =>
  readPicks(view.base, picksBelow(view, box), inBaseOrder(view, out), options)

export async function writeView<D extends DType>(
  view: ViewOf<D>,
  ...[box, values, mask, options]: Parameters<WriteWhere<D>>
): Promise<void> {
  const { checkDistinct } = await import('./distinct.ts')
  checkDistinct(view, { base: view.base, parts: viewParts(view) })
  await writePicks(view.base, picksBelow(view, box), inBaseOrder(view, values), mask && inBaseOrder(view, mask), options)
}

/** Reads boxes of a view together; boxes with lists are read one by one. */
export async function readManyOfView<D extends DType>(
  view: ViewOf<D>,
  reads: readonly BoxRead<D>[],
  options?: BlockReadOptions,
): Promise<void> {
  const { base } = view
  const boxes: BoxRead<D>[] = []
  for (const read of reads) {
    const { plan } = await planned(base, picksBelow(view, read.box))
    const out = inBaseOrder(view, read.out)
    if (plan.transfers.some(({ inner }) => inner !== null)) await readInto(base, plan, out, options ?? {})
    else for (const { box, outer } of plan.transfers) boxes.push({ box, out: viewTensor(out, outer as Views) })
  }
  if (boxes.length > 0) await base.bulk!.read!(boxes, options)
}

function inBaseOrder<D extends DType>({ places }: ViewOf, { data, shape, stride, offset }: Tensor<D>): Tensor<D> {
  const along = (values: readonly number[], other: number): number[] =>
    places.map((place) => (place < 0 ? other : values[place]!))
  return { data, shape: along(shape, 1), stride: along(stride, 0), offset }
}
