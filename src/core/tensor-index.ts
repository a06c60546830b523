import { eachIndex } from './shape.ts'
import type { Tensor } from './tensor.ts'

/** Returns the position in `data` of the element at `index`; axes missing in `index` count as 0. */
export const placeAt = (
  { stride, offset }: { readonly stride: readonly number[]; readonly offset: number },
  index: readonly number[],
): number => index.reduce((place, i, axis) => place + i * stride[axis]!, offset)

/** Visits the indices at which a mask is 1, in C order. */
export function eachMasked(mask: Tensor<'bool'>, visit: (index: readonly number[]) => void): void {
  eachIndex(mask.shape, (index) => {
    if (mask.data[placeAt(mask, index)] === 1) visit(index)
  })
}
