import type { DType } from './dtype.ts'
import { copyTensor, type Tensor, tensorOf } from './tensor.ts'

/** Whether the elements are contiguous in C order. */
export function isDense({ shape, stride }: Pick<Tensor, 'shape' | 'stride'>): boolean {
  let step = 1
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    if (shape[axis] !== 1 && stride[axis] !== step) return false
    step *= shape[axis]!
  }
  return true
}

/** Returns a dense copy. */
export function cloneTensor<D extends DType>(dtype: D, tensor: Tensor<D>): Tensor<D> {
  const copy = tensorOf(dtype, tensor.shape)
  copyTensor(tensor, copy)
  return copy
}
