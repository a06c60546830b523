import { allocate, type DataOf, type DType, isFixed, type ScalarOf, toElement } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import { sameShape, showShape, sizeOf, stridesOf } from '../core/shape.ts'
import { extentOf, isTensorLike, type Tensor, type TensorLike } from '../core/tensor.ts'
import { isArrayLike, listOf } from '../grid/list.ts'

/**
 * The values that can be written to a selection: one value for all of it, its elements in C order (a typed
 * array, or a plain array of values), nested arrays or a tensor of its shape, `stride` and `offset` optional.
 */
export type Values<D extends DType> = ScalarOf<D> | ArrayLike<unknown> | TensorLike

/**
 * `values` as a tensor of the given shape, without copying where its data is stored as `dtype` already.
 * @throws InvalidArgumentError when shape or length differ, or an element does not fit the type
 */
export function toTensor<D extends DType>(dtype: D, values: Values<D>, shape: readonly number[]): Tensor<D> {
  if (isTensorLike(values)) {
    if (!sameShape(values.shape, shape)) mismatch(`shape ${showShape(values.shape)}`, values.shape, shape)
    const tensor = {
      data: storedAs(dtype, values.data),
      shape: [...shape],
      stride: values.stride === undefined ? stridesOf(shape) : [...values.stride],
      offset: values.offset ?? 0,
    }
    checkReach(tensor)
    return tensor
  }
  if (isArrayLike(values) && !(dtype === 'binary' && values instanceof Uint8Array)) {
    if (dtype !== 'binary' && isArrayLike(values[0])) return toTensor(dtype, nested(values), shape)
    if (values.length !== sizeOf(shape)) mismatch(`${values.length} elements`, values.length, shape)
    return { data: storedAs(dtype, values), shape: [...shape], stride: stridesOf(shape), offset: 0 }
  }
  const data = allocate(dtype, 1)
  data[0] = toElement(dtype, values) as never
  return { data, shape: [...shape], stride: shape.map(() => 0), offset: 0 }
}

function nested(values: ArrayLike<unknown>): TensorLike {
  const { values: data, shape } = listOf(values, ([actual, expected]) => mismatch('arrays of different shapes', actual, expected))
  return { data, shape }
}

function storedAs<D extends DType>(dtype: D, values: ArrayLike<unknown>): DataOf<D> {
  if (isFixed(dtype) && Object.getPrototypeOf(values) === Object.getPrototypeOf(allocate(dtype, 0))) return values as DataOf<D>
  const data = allocate(dtype, values.length)
  for (let i = 0; i < values.length; i++) data[i] = toElement(dtype, values[i]) as never
  return data
}

function mismatch(what: string, actual: unknown, expected: unknown): never {
  const shape = showShape(expected as readonly number[])
  throw new HyperslabError('InvalidArgumentError', `${what} given for a selection of shape ${shape}`, { actual, expected })
}

/**
 * What a user gives as `out`, as a tensor: the same object where nothing was left out.
 * @throws InvalidArgumentError when its shape or the kind of its data differ, or its strides reach beyond the
 *   data
 */
export function outOf<D extends DType>(dtype: D, out: TensorLike, shape: readonly number[]): Tensor<D> {
  if (!isTensorLike(out) || !Array.isArray(out.shape) || Object(out.data) !== out.data)
    throw new HyperslabError('InvalidArgumentError', 'out must be a tensor: { data, shape }', { actual: out })
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

/**
 * Sees that a tensor of a user lies within its data.
 * @throws InvalidArgumentError when strides are not one for each axis, or reach elements beyond the data
 */
function checkReach(tensor: Tensor): void {
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
