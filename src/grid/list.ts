import { sameShape, showShape, sizeOf, stridesOf } from '../core/shape.ts'
import { type AxisView, copyTensor, findExtent, isTensorLike, type Tensor, type TensorLike } from '../core/tensor.ts'
import { invalid, resolveIndex, show } from './slice.ts'

/** Nested arrays, all of one length at each depth; the nesting determines their shape. */
export type Nested<T> = ArrayLike<T> | readonly Nested<T>[]

/** Elements in C order, and their shape. */
export interface Listed {
  readonly values: ArrayLike<unknown>
  readonly shape: readonly number[]
}

export const isArrayLike = (value: unknown): value is ArrayLike<unknown> =>
  Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))

/**
 * Returns the elements of a typed, plain or nested array or of a tensor. Elements that are in C order already
 * are not copied.
 * @param ragged called if nested arrays differ in shape
 */
export function flatten(value: ArrayLike<unknown> | TensorLike, ragged: (shapes: [unknown, unknown]) => never): Listed {
  if (isTensorLike(value)) return toDense(value)
  if (!isArrayLike(value[0])) return { values: value, shape: [value.length] }
  const parts = Array.from(value, (part) =>
    isArrayLike(part) ? flatten(part, ragged) : { values: [part], shape: [] as number[] },
  )
  const { shape } = parts[0]!
  for (const part of parts) if (!sameShape(part.shape, shape)) ragged([part.shape, shape])
  const size = sizeOf(shape)
  const values = new Array<unknown>(parts.length * size)
  parts.forEach((part, i) => {
    for (let k = 0; k < size; k++) values[i * size + k] = part.values[k]
  })
  return { values, shape: [parts.length, ...shape] }
}

/** @throws InvalidSelectionError always: nested arrays differ in shape */
export const ragged = ([actual, expected]: [unknown, unknown]): never =>
  invalid(`the arrays in a list differ in shape: ${show(actual)} and ${show(expected)}`, { actual, expected })

function toDense({ data, shape, stride, offset = 0 }: TensorLike): Listed {
  const dense = stridesOf(shape)
  const size = sizeOf(shape)
  if (data.length === size && offset === 0 && (stride === undefined || sameShape(stride, dense))) return { values: data, shape }
  const given = { data, shape, stride: stride ?? dense, offset } as unknown as Tensor
  const [low, high] = findExtent(given)
  if (size > 0 && (low < 0 || high >= data.length))
    invalid(`a tensor of shape ${showShape(shape)} leaves its ${data.length} elements`, { actual: [low, high] })
  const values = data instanceof Uint8Array ? new Uint8Array(size) : new Array<unknown>(size)
  copyTensor(given, { data: values, shape, stride: dense, offset: 0 } as Tensor)
  return { values, shape }
}

/** Whether a list is a mask: booleans, or the bytes of boolean tensors. */
export const isMask = ({ values }: Listed): boolean => typeof values[0] === 'boolean' || values instanceof Uint8Array

/**
 * Returns the positions that a mask selects, in C order, as one array for each axis that it covers.
 * @param axis the first of these axes
 * @throws InvalidSelectionError if the shape of the mask is not that of the axes, or if an element is
 *   neither true nor false
 */
export function maskPositions({ values, shape }: Listed, axis: number, expected: readonly number[]): Float64Array[] {
  const fits = sameShape(shape, expected) && values.length >= sizeOf(shape)
  const hint = values instanceof Uint8Array ? ' (a Uint8Array is a mask; positions are a plain array or of another type)' : ''
  if (!fits) {
    const axes = expected.length === 1 ? `axis ${axis}` : `the ${expected.length} axes from axis ${axis}`
    const message = `the mask ${showShape(shape)} does not fit ${axes} of shape ${showShape(expected)}${hint}`
    invalid(message, { axis, actual: shape, expected })
  }
  const size = sizeOf(shape)
  const [yes, no] = values instanceof Uint8Array ? [1, 0] : [true, false]
  let count = 0
  for (let i = 0; i < size; i++) {
    const value = values[i]
    if (value === yes) count++
    else if (value !== no) invalid(`element ${i} of the mask on axis ${axis} is ${String(value)}${hint}`, { axis, actual: value })
  }
  const positions = shape.map(() => new Float64Array(count))
  for (let i = 0, n = 0; n < count; i++) {
    if (!values[i]) continue
    let rest = i
    for (let k = shape.length - 1; k >= 0; k--) {
      positions[k]![n] = rest % shape[k]!
      rest = Math.floor(rest / shape[k]!)
    }
    n++
  }
  return positions
}

/**
 * Returns the positions along one axis: every `stride`-th of `values` from `offset`, with negative ones
 * wrapped.
 * @throws InvalidSelectionError if a position is no integer or out of bounds
 */
export function listPositions(
  values: ArrayLike<unknown>,
  axis: number,
  length: number,
  [offset, stride]: readonly [number, number] = [0, 1],
): Float64Array {
  const positions = new Float64Array(values.length / stride)
  for (let i = 0; i < positions.length; i++) {
    const given = values[offset + i * stride]
    const value = typeof given === 'bigint' ? Number(given) : given
    const isInteger = Number.isSafeInteger(value)
    const position = isInteger && (value as number) < 0 ? (value as number) + length : (value as number)
    if (!isInteger || position < 0 || position >= length) resolveIndex(value, axis, length, `element ${i} of a list`)
    positions[i] = position
  }
  return positions
}

/** Returns the values `[from, to)` as a progression, if they are one. */
export function findProgression(values: ArrayLike<number>, from = 0, to = values.length): AxisView | undefined {
  const length = to - from
  if (length === 0) return { start: 0, step: 1, length }
  const start = values[from]!
  const step = length === 1 ? 1 : values[from + 1]! - start
  if (step === 0) return undefined
  for (let i = from + 2; i < to; i++) if (values[i]! - values[i - 1]! !== step) return undefined
  return { start, step, length }
}
