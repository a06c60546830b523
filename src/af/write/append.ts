import { type Axis, type Named, resolveAxes } from '../../array/axes.ts'
import { byAxis } from '../../array/by-axis.ts'
import type { DiskArray } from '../../array/disk-array.ts'
import { BLOCK_CHECKS, type BlockOptions } from '../../array/source.ts'
import { toTensor, type Values } from '../../array/values.ts'
import type { DType } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { checkOptions } from '../../core/options.ts'
import { sizeOf } from '../../core/shape.ts'
import { type Slice, slice } from '../../grid/slice.ts'

/** All lengths of an array, or those of some axes by number or name. */
export type NewShape = readonly number[] | Readonly<Record<string, number>>

/** @throws InvalidArgumentError for axes that do not exist, or another number of them */
function newShape(to: NewShape, array: Named): readonly number[] {
  const { shape } = array
  if (Array.isArray(to)) {
    if (to.length === shape.length) return to
    const text = `${to.length} lengths for an array of ${shape.length} axes`
    throw new HyperslabError('InvalidArgumentError', text, { actual: to, expected: shape.length })
  }
  const lengths = [...shape]
  for (const [axis, length] of byAxis(to as Record<string, number>, array)) lengths[axis] = length
  return lengths
}

/** An array whose shape changes in place. */
type Growing<D extends DType> = DiskArray<D> & {
  changeShape(shapeOf: (shape: readonly number[]) => readonly number[]): Promise<void>
}

/** Gives an array all lengths, or those of some axes. */
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
  added[at] = lengthOf(values, added, at)
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

/** How many positions along an axis the values are for. */
function lengthOf(values: unknown, shape: readonly number[], axis: number): number {
  const { shape: given, length } = values as { shape?: readonly number[]; length?: number }
  if (given !== undefined) return given[axis] ?? 0
  const each = sizeOf(shape.filter((_, i) => i !== axis))
  if (length !== undefined && typeof values !== 'string' && each > 0 && length % each === 0) return length / each
  const what = length === undefined || typeof values === 'string' ? 'one value' : `${length} elements`
  const text = `${what} cannot be appended along axis ${axis}: each position there has ${each} elements`
  throw new HyperslabError('InvalidArgumentError', text, { axis, actual: length, expected: each })
}
