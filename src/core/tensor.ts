import { allocate, type DataOf, type DType } from './dtype.ts'
import { eachIndex, sizeOf, stridesOf } from './shape.ts'

/**
 * A strided n-dimensional view on memory. Element `index` of its `shape` is at `offset + sum(index[axis] *
 * stride[axis])` in `data`. An `offset` and a `stride` count elements; strides may be negative or, for
 * broadcast axes, zero. Results of this package are dense, in C order, with offset 0. Each tensor has its own
 * shape and stride arrays, so that it can be passed to libraries that expect `number[]`.
 */
export interface Tensor<D extends DType = DType> {
  readonly data: DataOf<D>
  readonly shape: number[]
  readonly stride: number[]
  readonly offset: number
}

/** A tensor as callers may pass it: dense in C order if strides are omitted. */
export interface TensorLike {
  readonly data: ArrayLike<unknown>
  readonly shape: readonly number[]
  readonly stride?: readonly number[]
  readonly offset?: number
}

export const isTensorLike = (value: unknown): value is TensorLike =>
  typeof value === 'object' && value !== null && 'data' in value && 'shape' in value && Array.isArray(value.shape)

/** Creates a dense tensor over `data`, or over new zeroed memory. */
export function tensorOf<D extends DType>(dtype: D, shape: readonly number[], data?: DataOf<D>): Tensor<D> {
  return { data: data ?? allocate(dtype, sizeOf(shape)), shape: [...shape], stride: stridesOf(shape), offset: 0 }
}

/** One axis of a view: `length` positions from `start`, `step` apart. */
export interface AxisView {
  readonly start: number
  readonly step: number
  readonly length: number
}

export const wholeAxis = (length: number): AxisView => ({ start: 0, step: 1, length })

/** Returns the part of `tensor` that `axes` select, sharing its memory. */
export function viewTensor<D extends DType>(tensor: Tensor<D>, axes: readonly AxisView[]): Tensor<D> {
  let offset = tensor.offset
  const stride = axes.map(({ start, step }, axis) => {
    offset += start * tensor.stride[axis]!
    return step * tensor.stride[axis]!
  })
  return { data: tensor.data, shape: axes.map(({ length }) => length), stride, offset }
}

/** Returns the lowest and the highest position in `data` of a non-empty tensor. */
export function findExtent({ shape, stride, offset }: Pick<Tensor, 'shape' | 'stride' | 'offset'>): [number, number] {
  let [low, high] = [offset, offset]
  shape.forEach((length, axis) => {
    const reach = (length - 1) * stride[axis]!
    if (reach < 0) low += reach
    else high += reach
  })
  return [low, high]
}

/** Returns the elements of a dense tensor, without a copy. */
export function denseData<D extends DType>({ data, shape, offset }: Tensor<D>): DataOf<D> {
  const size = sizeOf(shape)
  if (offset === 0 && data.length === size) return data
  return (Array.isArray(data) ? data.slice(offset, offset + size) : data.subarray(offset, offset + size)) as DataOf<D>
}

/** Sets every element of `target` to `value`, in its stored form (see `toElement`). */
export function fillTensor<D extends DType>(target: Tensor<D>, value: DataOf<D>[number]): void {
  const { outer, run } = splitRuns([target])
  const data = target.data as { fill(value: unknown, start: number, end: number): unknown } & { [index: number]: unknown }
  const step = run.strides[0]!
  eachRun(outer, [target.offset], ([start]) => {
    if (step === 1) data.fill(value, start!, start! + run.length)
    else for (let i = 0, at = start!; i < run.length; i++, at += step) data[at] = value
  })
}

/**
 * Copies every element of `source` to the same index of `target`. Both have the same shape and must not
 * overlap.
 */
export function copyTensor<D extends DType>(source: Tensor<D>, target: Tensor<D>): void {
  const { outer, run } = splitRuns([source, target])
  const [from, to] = run.strides as [number, number]
  // A subarray costs about 100 ns, so short runs are copied element by element.
  const bulk = from === 1 && to === 1 && run.length >= 32 && ArrayBuffer.isView(source.data)
  const input = (bulk ? source.data : viewAsBits(source.data)) as Writable
  const output = (bulk ? target.data : viewAsBits(target.data)) as Writable
  eachRun(outer, [source.offset, target.offset], ([a, b]) => {
    if (bulk) (output as unknown as Bulk).set((input as unknown as Bulk).subarray(a!, a! + run.length), b!)
    else for (let i = 0, p = a!, q = b!; i < run.length; i++, p += from, q += to) output[q] = input[p]
  })
}

/** Views floats as 32-bit integers, because JavaScript would change signalling NaNs. */
const viewAsBits = (data: DataOf<DType>): DataOf<DType> =>
  data instanceof Float32Array ? new Int32Array(data.buffer, data.byteOffset, data.length) : data

type Writable = { [index: number]: unknown }
type Bulk = { set(source: unknown, offset: number): void; subarray(start: number, end: number): unknown }

interface Axes {
  readonly shape: number[]
  /** Strides of each axis, one per tensor. */
  readonly strides: number[][]
}

/**
 * Returns the common axes of tensors of one shape. Axes of length 1 are dropped; neighbours are merged if
 * every tensor has one stride for both.
 */
export function mergedAxes(lengths: readonly number[], tensors: readonly (readonly number[])[]): Axes {
  const shape: number[] = []
  const strides: number[][] = []
  lengths.forEach((length, axis) => {
    if (length === 1) return
    const own = tensors.map((stride) => stride[axis]!)
    const last = shape.length - 1
    if (last >= 0 && own.every((stride, i) => strides[last]![i] === stride * length)) {
      shape[last]! *= length
      strides[last] = own
    } else {
      shape.push(length)
      strides.push(own)
    }
  })
  return { shape, strides }
}

/** Splits off the innermost axis as `run`. */
function splitRuns(tensors: readonly Pick<Tensor, 'shape' | 'stride'>[]): {
  outer: Axes
  run: { length: number; strides: number[] }
} {
  const outer = mergedAxes(
    tensors[0]!.shape,
    tensors.map(({ stride }) => stride),
  )
  return { outer, run: { length: outer.shape.pop() ?? 1, strides: outer.strides.pop() ?? tensors.map(() => 1) } }
}

/**
 * Visits the start of every run. The array passed to `visit` contains one position per tensor and is reused.
 */
function eachRun({ shape, strides }: Axes, offsets: readonly number[], visit: (starts: readonly number[]) => void): void {
  const starts = [...offsets]
  eachIndex(shape, (index) => {
    for (let i = 0; i < starts.length; i++) {
      let at = offsets[i]!
      for (let axis = 0; axis < index.length; axis++) at += index[axis]! * strides[axis]![i]!
      starts[i] = at
    }
    visit(starts)
  })
}
