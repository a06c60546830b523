import { HyperslabError } from '../core/errors.ts'
import { showShape, sizeOf } from '../core/shape.ts'
import { extentOf, type Tensor } from '../core/tensor.ts'

/**
 * Sees that a tensor of a user lies within its data.
 * @throws InvalidArgumentError when strides are not one for each axis, or reach elements beyond the data
 */
export function checkReach(tensor: Tensor): void {
  const { data, shape, stride } = tensor
  if (stride.length !== shape.length) {
    const text = `${stride.length} strides given for shape ${showShape(shape)}`
    throw new HyperslabError('InvalidArgumentError', text, { actual: stride, expected: shape })
  }
  if (sizeOf(shape) === 0) return
  const [low, high] = extentOf(tensor)
  if (low >= 0 && high < data.length) return
  throw new HyperslabError('InvalidArgumentError', `strides reach elements ${low} to ${high} of a buffer of ${data.length}`, {
    actual: [low, high],
    expected: data.length,
  })
}
