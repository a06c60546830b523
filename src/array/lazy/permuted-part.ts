import type { TypedArray } from '../../core/dtype.js'
import { sizeOf, stridesOf } from '../../core/shape.js'
import { copyTensor, type Tensor, tensorOf } from '../../core/tensor.js'
import { boxShape } from '../../grid/range.js'
import type { PlacedPart } from '../reductions/parts.js'

/**
 * A part of a reduction with its axes in another order, and its cells likewise.
 * @param order for each axis the one it comes from; axes of length 1 may be missing
 */
export function permutedPart(part: PlacedPart, order: readonly number[]): PlacedPart {
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
