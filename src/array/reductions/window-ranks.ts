import { stridesOf } from '../../core/shape.ts'
import { type Tensor, tensorOf } from '../../core/tensor.ts'
import type { Windows } from './fold-kinds.ts'
import { findQuantile } from './quantile.ts'
import { RowReader, skippedOf } from './rows.ts'

/**
 * Returns the quantile of the elements of each window. Holds the elements of one window at a time.
 * @param shape number of windows along each axis
 * @param tensor elements of the windows; only the last ones may be shorter
 */
export function rankedWindows(
  { source, sizes, steps, options }: Windows,
  shape: readonly number[],
  tensor: Tensor,
  q: number,
): Tensor<'float64'> {
  const reader = new RowReader(source.dtype, 'float', skippedOf(source, options))
  const { fill, nan } = reader.skipped
  const result = tensorOf('float64', shape)
  const stride = stridesOf(shape)
  const gathered = new Float64Array(sizes.reduce((size, length) => size * length, 1))
  const none = { start: 0, stride: shape.map(() => 0) }
  let count = 0
  const row = (values: Float64Array, at: number, length: number): void => {
    for (let i = at; i < at + length; i++) {
      const x = values[i]!
      if (x !== fill && !(nan && Number.isNaN(x))) gathered[count++] = x
    }
  }
  for (let cell = 0; cell < result.data.length; cell++) {
    const starts = shape.map((length, axis) => (Math.floor(cell / stride[axis]!) % length) * steps[axis]!)
    const part: Tensor = {
      data: tensor.data,
      shape: starts.map((start, axis) => Math.min(sizes[axis]!, tensor.shape[axis]! - start)),
      stride: tensor.stride,
      offset: starts.reduce((offset, start, axis) => offset + start * tensor.stride[axis]!, tensor.offset),
    }
    count = 0
    reader.each(part, none, none, row as never)
    result.data[cell] = findQuantile(gathered.subarray(0, count).sort(), q)
  }
  return result
}
