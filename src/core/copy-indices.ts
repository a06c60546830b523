import { type AxisIndices, indexAt, isListed } from './axis-indices.ts'
import { eachIndex, sizeOf } from './shape.ts'
import type { AxisView, Tensor } from './tensor.ts'

/** One axis of a copy: offsets of its elements from the first of all, in both tensors. */
interface Axis {
  readonly length: number
  /** Strides in both tensors, if the positions are evenly spaced. */
  readonly steps: readonly [number, number] | undefined
  /** Tables of offsets otherwise. */
  readonly tables: readonly [Table, Table] | undefined
}

type Table = Int32Array | Float64Array
type Elements = { [index: number]: unknown }
type Bulk = { set(source: unknown, offset: number): void; subarray(start: number, end: number): unknown }

/** Length below which copying element by element is faster than `set`. */
const BULK = 32

/**
 * Copies the elements of `source` at each combination of `from` to the same combination of `to` in `target`.
 * Copies in C order, so the last element for a position wins. Elements may be of any type; kernels do the
 * same for fixed-width types.
 */
export function copyIndices(source: Tensor, from: readonly AxisIndices[], target: Tensor, to: readonly AxisIndices[]): void {
  if (sizeOf(from.map(({ length }) => length)) === 0) return
  const offsets: [number, number] = [source.offset, target.offset]
  const axes: Axis[] = []
  from.forEach((indices, axis) => {
    const strides = [source.stride[axis]!, target.stride[axis]!] as const
    const own = createAxis([indices, to[axis]!], strides, offsets)
    const last = axes.at(-1)
    if (own.length === 1) return
    const merges = last?.steps && own.steps?.every((step, i) => last.steps![i] === step * own.length)
    if (merges) axes[axes.length - 1] = { ...own, length: last!.length * own.length }
    else axes.push(own)
  })
  const run = axes.pop() ?? { length: 1, steps: [1, 1] as const, tables: undefined }
  const copy = run.tables === undefined ? copyRun(source, target, run) : copyTabled(source, target, run)
  const tables = axes.map((axis) => axis.tables ?? createTablePair(axis))
  eachIndex(
    axes.map(({ length }) => length),
    (index) => {
      let [from, to] = offsets
      for (let axis = 0; axis < index.length; axis++) {
        from += tables[axis]![0][index[axis]!]!
        to += tables[axis]![1][index[axis]!]!
      }
      copy(from, to)
    },
  )
}

/** Returns an axis; adds its start to `offsets` if it has one stride. */
function createAxis(
  indices: readonly [AxisIndices, AxisIndices],
  strides: readonly [number, number],
  offsets: [number, number],
): Axis {
  const { length } = indices[0]
  if (indices.some(isListed)) {
    const [a, b] = indices.map((each, i) => createTable(length, (k) => indexAt(each, k) * strides[i]!)) as [Table, Table]
    if (length > 1) return { length, steps: undefined, tables: [a, b] }
    offsets[0] += a[0]!
    offsets[1] += b[0]!
    return { length, steps: [0, 0], tables: undefined }
  }
  const steps = indices.map((each, i) => {
    const view = each as AxisView
    offsets[i as 0 | 1] += view.start * strides[i]!
    return view.step * strides[i]!
  }) as [number, number]
  return { length, steps, tables: undefined }
}

const createTablePair = ({ length, steps }: Axis): [Table, Table] => [
  createTable(length, (i) => i * steps![0]),
  createTable(length, (i) => i * steps![1]),
]

/** Returns a table of 32-bit integers, which engines index faster, unless an offset needs more. */
function createTable(length: number, offsetAt: (i: number) => number): Table {
  const table = new Int32Array(length)
  for (let i = 0; i < length; i++) {
    const offset = offsetAt(i)
    table[i] = offset
    if (table[i] !== offset) return new Float64Array(length).map((_, k) => offsetAt(k))
  }
  return table
}

function copyRun(source: Tensor, target: Tensor, { length, steps }: Axis): (from: number, to: number) => void {
  const [input, output] = [source.data as Elements, target.data as Elements]
  const [a, b] = steps!
  if (a === 1 && b === 1 && length >= BULK && ArrayBuffer.isView(input))
    return (from, to) => (output as unknown as Bulk).set((input as unknown as Bulk).subarray(from, from + length), to)
  return (from, to) => {
    for (let i = 0, p = from, q = to; i < length; i++, p += a, q += b) output[q] = input[p]
  }
}

function copyTabled(source: Tensor, target: Tensor, { length, tables }: Axis): (from: number, to: number) => void {
  const [input, output] = [source.data as Elements, target.data as Elements]
  const [a, b] = tables!
  return (from, to) => {
    for (let i = 0; i < length; i++) output[to + b[i]!] = input[from + a[i]!]
  }
}
