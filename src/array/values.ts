import { allocate, type DataOf, type DType, isFixed, type ScalarOf, toElement } from '../core/dtype.js'
import { HyperslabError } from '../core/errors.js'
import { sameShape, showShape, sizeOf, stridesOf } from '../core/shape.js'
import type { Tensor } from '../core/tensor.js'

/**
 * What can be written to a selection: one value for all of it, its elements in C order (a typed array, or a plain array of values), or a
 * tensor of its shape, `stride` and `offset` optional.
 */
export type Values<D extends DType> = ScalarOf<D> | ArrayLike<unknown> | TensorLike

interface TensorLike {
  readonly data: ArrayLike<unknown>
  readonly shape: readonly number[]
  readonly stride?: readonly number[]
  readonly offset?: number
}

/**
 * `values` as a tensor of the given shape, without copying where its data is stored as `dtype` already.
 * @throws InvalidArgumentError when shape or length differ, or an element does not fit the type
 */
export function toTensor<D extends DType>(dtype: D, values: Values<D>, shape: readonly number[]): Tensor<D> {
  if (isTensorLike(values)) {
    const size = sizeOf(values.shape)
    if (!sameShape(values.shape, shape)) mismatch(`shape ${showShape(values.shape)}`, values.shape, shape)
    const tensor = {
      data: storedAs(dtype, values.data),
      shape,
      stride: values.stride ?? stridesOf(shape),
      offset: values.offset ?? 0,
    }
    if (size > 0) checkExtent(tensor)
    return tensor
  }
  if (isList(values) && !(dtype === 'binary' && values instanceof Uint8Array)) {
    if (values.length !== sizeOf(shape)) mismatch(`${values.length} elements`, values.length, shape)
    return { data: storedAs(dtype, values), shape, stride: stridesOf(shape), offset: 0 }
  }
  const data = allocate(dtype, 1)
  data[0] = toElement(dtype, values) as never
  return { data, shape, stride: shape.map(() => 0), offset: 0 }
}

const isList = (values: unknown): values is ArrayLike<unknown> => Array.isArray(values) || ArrayBuffer.isView(values)

const isTensorLike = (values: unknown): values is TensorLike =>
  typeof values === 'object' && values !== null && 'data' in values && 'shape' in values

function storedAs<D extends DType>(dtype: D, values: ArrayLike<unknown>): DataOf<D> {
  if (isFixed(dtype) && Object.getPrototypeOf(values) === Object.getPrototypeOf(allocate(dtype, 0))) return values as DataOf<D>
  const data = allocate(dtype, values.length)
  for (let i = 0; i < values.length; i++) data[i] = toElement(dtype, values[i]) as never
  return data
}

function checkExtent({ data, shape, stride, offset }: Tensor): void {
  let low = offset
  let high = offset
  if (stride.length !== shape.length) mismatch(`${stride.length} strides`, stride, shape)
  shape.forEach((length, axis) => {
    const reach = (length - 1) * stride[axis]!
    if (reach < 0) low += reach
    else high += reach
  })
  if (low >= 0 && high < data.length) return
  throw new HyperslabError('InvalidArgumentError', `strides reach elements ${low} to ${high} of a buffer of ${data.length}`, {
    actual: [low, high],
    expected: data.length,
  })
}

function mismatch(what: string, actual: unknown, shape: readonly number[]): never {
  throw new HyperslabError('InvalidArgumentError', `${what} given for a selection of shape ${showShape(shape)}`, {
    actual,
    expected: shape,
  })
}
