import { allocate, type DType } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import { sameShape, showShape, stridesOf } from '../core/shape.ts'
import type { Tensor, TensorLike } from '../core/tensor.ts'
import { checkReach } from './reach.ts'

/**
 * What a user gives as `out`, as a tensor: the same object where nothing was left out.
 * @throws InvalidArgumentError when its shape or the kind of its data differ, or its strides reach beyond the
 *   data
 */
export function outOf<D extends DType>(dtype: D, out: TensorLike, shape: readonly number[]): Tensor<D> {
  if (!sameShape(out.shape, shape)) {
    const text = `out has shape ${showShape(out.shape)}, the selection ${showShape(shape)}`
    throw new HyperslabError('InvalidArgumentError', text, { actual: out.shape, expected: shape })
  }
  const [actual, expected] = [kindOf(out.data), kindOf(allocate(dtype, 0))]
  if (actual !== expected) {
    throw new HyperslabError('InvalidArgumentError', `out has an ${actual}, ${dtype} needs an ${expected}`, { actual, expected })
  }
  const { stride = stridesOf(shape), offset = 0 } = out
  const complete = out.stride !== undefined && out.offset !== undefined
  const tensor = (complete ? out : { data: out.data, shape: [...shape], stride, offset }) as Tensor<D>
  checkReach(tensor)
  return tensor
}

/**
 * The name of a typed array's class, that of subclasses and of other realms included; other arrays are plain
 * ones.
 */
const kindOf = (data: object): string => (data as { [Symbol.toStringTag]?: string })[Symbol.toStringTag] ?? 'Array'
