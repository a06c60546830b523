import { isWhole, type PlacedAggregate, type Reduction } from '../../aggregate/reduction.ts'
import type { TypedArray } from '../../core/dtype.ts'
import { sizeOf, stridesOf } from '../../core/shape.ts'
import { copyTensor, type Tensor, tensorOf } from '../../core/tensor.ts'
import { type Box, boxShape } from '../../grid/range.ts'
import type { BlockSource, ReduceBoxOptions } from '../source.ts'

/**
 * Reduces a box of a source for one that has its axes in another order.
 * @param places for each axis of the source the one it has become; -1 for those that are dropped
 * @param order for each axis that is left the one it comes from
 */
export async function reducePermuted(
  source: BlockSource,
  box: Box,
  places: readonly number[],
  order: readonly number[],
  reduction: Reduction,
  take: (part: PlacedAggregate) => void,
  options?: ReduceBoxOptions,
): Promise<void> {
  const whole = isWhole(reduction)
  const reduced = places.map((place) => (place < 0 ? whole : reduction.reduced[place]!))
  const steps = reduction.places && places.map((place) => (place < 0 ? 0 : reduction.places![place]!))
  const below = { ...reduction, reduced, ...(steps && { places: steps }) }
  await source.bulk!.reduce!(box, below, (part) => take(permutedPart(part, order)), options)
}

/**
 * A part of a reduction with its axes in another order, and its cells likewise.
 * @param order for each axis the one it comes from; axes of length 1 may be missing
 */
function permutedPart(part: PlacedAggregate, order: readonly number[]): PlacedAggregate {
  const region = order.map((axis) => part.region[axis]!)
  if (order.every((axis, i) => i === 0 || axis > order[i - 1]!)) return { ...part, region }
  const ordered = (values: TypedArray): TypedArray => {
    // Some cells are made of several values.
    const width = values.length / sizeOf(boxShape(part.region))
    const below = stridesOf([...boxShape(part.region), width])
    const shape = [...boxShape(region), width]
    const stride = [...order.map((axis) => below[axis]!), 1]
    const copy = tensorOf('int8', shape, values.slice() as Int8Array)
    copyTensor({ data: values, shape, stride, offset: 0 } as Tensor, copy as Tensor)
    return copy.data as TypedArray
  }
  const { values, counts, places } = part
  return {
    region,
    values: ordered(values as TypedArray),
    counts: ordered(counts) as Float64Array,
    ...(places && { places: ordered(places) as Float64Array }),
  }
}
