import { allocate, type DataOf, type DType, isFixed, type ScalarOf, toElement } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import { sameShape, showShape, sizeOf, stridesOf } from '../core/shape.ts'
import { findExtent, isTensorLike, type Tensor, type TensorLike } from '../core/tensor.ts'
import { flatten, isArrayLike } from '../grid/list.ts'

/**
 * Values that can be written to a selection: one value for all elements, the elements in C order, nested
 * arrays, or a tensor of its shape. Elements come in a typed or plain array; a tensor's `stride` and `offset`
 * are optional.
 */
export type Values<D extends DType> = ScalarOf<D> | ArrayLike<unknown> | TensorLike

/**
 * Converts `values` to a tensor of the given shape, without a copy if the data is stored as `dtype` already.
 * @throws InvalidArgumentError if shape or length differ, or if an element does not fit the type
 */
export function toTensor<D extends DType>(dtype: D, values: Values<D>, shape: readonly number[]): Tensor<D> {
  if (isTensorLike(values)) {
    if (!sameShape(values.shape, shape)) mismatch(`shape ${showShape(values.shape)}`, values.shape, shape)
    const tensor = {
      data: storedAs(dtype, values.data),
      shape: [...shape],
      stride: values.stride === undefined ? stridesOf(shape) : Array.from(values.stride ?? []),
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
  const { values: data, shape } = flatten(values, ([actual, expected]) =>
    mismatch('arrays of different shapes', actual, expected),
  )
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
 * Checks the option `out` and returns it as a tensor: the same object if it has all members.
 * @throws InvalidArgumentError if its shape or the kind of its data differ, or if its strides exceed the
 *   data or map two elements to one position
 */
export function checkOut<D extends DType>(dtype: D, out: TensorLike, shape: readonly number[]): Tensor<D> {
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
  checkApart(tensor)
  return tensor
}

/**
 * Checks that no two elements of a tensor share a position in its data.
 * @throws InvalidArgumentError if two elements do
 */
function checkApart({ shape, stride }: Tensor): void {
  if (shape.includes(0)) return
  const axes = shape.flatMap((length, axis) => (length === 1 ? [] : [{ length, step: Math.abs(stride[axis]!) }]))
  axes.sort((a, b) => a.step - b.step)
  let reach = axes.reduce((sum, { length, step }) => sum + (length - 1) * step, 0)
  // An axis whose step is larger than the extent of all others cannot collide with them.
  for (let last = axes.at(-1); last !== undefined; last = axes.at(-1)) {
    reach -= (last.length - 1) * last.step
    if (last.step <= reach || last.step === 0) break
    axes.pop()
  }
  if (axes.length === 0) return
  const lengths = axes.map(({ length }) => length)
  const used = new Uint8Array(axes.reduce((sum, { length, step }) => sum + (length - 1) * step, 1))
  const isApart = sizeOf(lengths) <= used.length && isInjective(axes, used)
  if (isApart) return
  const text = `strides [${stride.join(', ')}] bring two elements of shape ${showShape(shape)} to one place of out`
  throw new HyperslabError('InvalidArgumentError', text, { actual: stride, expected: stridesOf(shape) })
}

/** Whether each element gets an unused position. */
function isInjective(axes: readonly { readonly length: number; readonly step: number }[], used: Uint8Array, from = 0): boolean {
  const [first, ...rest] = axes
  if (first === undefined) {
    const isFree = used[from] === 0
    used[from] = 1
    return isFree
  }
  for (let i = 0; i < first.length; i++) if (!isInjective(rest, used, from + i * first.step)) return false
  return true
}

/**
 * Returns the class name of a typed array, including subclasses and other realms; all other arrays are plain.
 */
const kindOf = (data: object): string => (data as { [Symbol.toStringTag]?: string })[Symbol.toStringTag] ?? 'Array'

/**
 * Checks that a user's tensor stays within its data.
 * @throws InvalidArgumentError if there is not one stride per axis, or if strides exceed the data
 */
function checkReach(tensor: Tensor): void {
  const { data, shape, stride, offset } = tensor
  if (!isArrayLike(stride) || stride.length !== shape.length) {
    const what = isArrayLike(stride) ? `${stride.length} strides` : `${typeof stride} as stride`
    throw new HyperslabError('InvalidArgumentError', `${what} given for shape ${showShape(shape)}`, { actual: stride, expected: shape }) // biome-ignore format: one line
  }
  for (const each of [...stride, offset])
    if (!Number.isSafeInteger(each)) {
      const text = `strides and offset must be integers, got [${stride.map(String).join(', ')}] and ${String(offset)}`
      throw new HyperslabError('InvalidArgumentError', text, { actual: each })
    }
  if (sizeOf(shape) === 0) return
  const [low, high] = findExtent(tensor)
  if (low >= 0 && high < data.length) return
  throw new HyperslabError('InvalidArgumentError', `strides reach elements ${low} to ${high} of a buffer of ${data.length}`, {
    actual: [low, high],
    expected: data.length,
  })
}
