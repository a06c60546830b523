import { type Axis, resolveAxes } from '../../array/axes.ts'
import type { DiskArray } from '../../array/disk-array.ts'
import { addedLength, type NewShape, newShape } from '../../array/new-shape.ts'
import { BLOCK_CHECKS, type BlockOptions } from '../../array/source.ts'
import { toTensor, type Values } from '../../array/values.ts'
import type { DType } from '../../core/dtype.ts'
import { checkOptions } from '../../core/options.ts'
import { type Slice, slice } from '../../grid/slice.ts'

/** An array that can be resized. */
type Growing<D extends DType> = DiskArray<D> & {
  changeShape(shapeOf: (shape: readonly number[]) => readonly number[]): Promise<void>
}

/** Resizes an array: to all lengths, or along some axes. */
export const resizeTo = <D extends DType>(array: Growing<D>, to: NewShape): Promise<void> =>
  array.changeShape((shape) => newShape(to, { shape, dimensionNames: array.dimensionNames }))

export async function append<D extends DType>(
  array: Growing<D>,
  axis: Axis,
  values: Values<D>,
  options: BlockOptions,
): Promise<void> {
  checkOptions('append', options, BLOCK_CHECKS)
  const [at] = resolveAxes(axis, array) as unknown as [number]
  const added = [...array.shape]
  added[at] = addedLength(values, added, at)
  const tensor = toTensor(array.dtype, values, added)
  let start = 0
  await array.changeShape((shape) => {
    start = shape[at]!
    return shape.map((length, i) => (i === at ? length + added[at]! : length))
  })
  const selection: (null | Slice)[] = added.map(() => null)
  selection[at] = slice(start, start + added[at]!)
  await array.set(selection, tensor, options)
}
