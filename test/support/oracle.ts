import { allocate, type DataOf, type DType } from '../../src/core/dtype.ts'
import type { TensorLike } from '../../src/core/tensor.ts'
import type { ChunkGrid } from '../../src/grid/chunks.ts'
import type { Selector as AnySelector } from '../../src/grid/selection.ts'
import { ChunkSelector, newAxis, PointsSelector } from '../../src/grid/selectors.ts'
import type { Slice } from '../../src/grid/slice.ts'

/** Selectors of one axis without lists. */
export type Selector = number | null | Slice

/**
 * A plain n-d array in C order, with everything written as the obvious loop. What the package does is
 * compared with this.
 */
export interface Plain<D extends DType = DType> {
  readonly dtype: D
  readonly shape: readonly number[]
  readonly data: DataOf<D>
}

/** Python's range(*slice.indices(length)), by counting. */
function positions(selector: Selector, length: number): number[] {
  if (selector === null) return Array.from({ length }, (_, i) => i)
  if (typeof selector === 'number') return [selector < 0 ? selector + length : selector]
  const step = selector.step ?? 1
  const wrap = (value: number): number => (value < 0 ? value + length : value)
  const found: number[] = []
  if (step > 0) {
    const start = selector.start === null ? 0 : Math.max(0, wrap(selector.start))
    const stop = selector.stop === null ? length : Math.min(length, wrap(selector.stop))
    for (let i = start; i < stop; i += step) found.push(i)
  } else {
    const start = selector.start === null ? length - 1 : Math.min(length - 1, wrap(selector.start))
    const stop = selector.stop === null ? -1 : Math.max(-1, wrap(selector.stop))
    for (let i = start; i > stop; i += step) found.push(i)
  }
  return found
}

/**
 * Positions that one selector picks, as a tuple for as many axes as it takes, and its shape in the result.
 */
interface Picked {
  tuples: number[][]
  shape: number[]
  axes: number
}

/** Nested arrays and tensors as nested plain arrays. */
function nested(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(nested)
  if (ArrayBuffer.isView(value)) {
    const list: unknown[] = Array.from(value as unknown as ArrayLike<unknown>)
    return value instanceof Uint8Array ? list.map((byte) => byte !== 0) : list.map(Number)
  }
  if (typeof value !== 'object' || value === null) return value
  const {
    data,
    shape,
    stride,
    offset = 0,
  } = value as { data: ArrayLike<unknown>; shape: number[]; stride?: number[]; offset?: number }
  const elements = nested(data) as unknown[]
  const at = (axis: number, from: number): unknown => {
    if (axis === shape.length) return elements[from]
    const step = stride?.[axis] ?? shape.slice(axis + 1).reduce((a, b) => a * b, 1)
    return Array.from({ length: shape[axis]! }, (_, i) => at(axis + 1, from + i * step))
  }
  return at(0, offset)
}

const shapeOf = (value: unknown): number[] => (Array.isArray(value) ? [value.length, ...shapeOf(value[0])] : [])

function pickOne(selector: AnySelector, shape: readonly number[], axis: number, grid: ChunkGrid | undefined): Picked {
  const length = shape[axis]!
  if (selector === newAxis) return { tuples: [[]], shape: [1], axes: 0 }
  if (selector instanceof ChunkSelector) {
    const ranges = selector.index.map((k, i) => {
      const chunks = grid!.axes[axis + i]!
      const wrapped = k < 0 ? k + chunks.count : k
      return Array.from({ length: shape[axis + i]! }, (_, p) => p).filter((p) => chunks.find(p) === wrapped)
    })
    const tuples = ranges.reduce<number[][]>((all, range) => all.flatMap((tuple) => range.map((p) => [...tuple, p])), [[]])
    return { tuples, shape: ranges.map((range) => range.length), axes: ranges.length }
  }
  if (selector instanceof PointsSelector) {
    const list = nested(selector.coordinates)
    const listShape = shapeOf(list)
    const axes = selector.axes ?? listShape.at(-1)!
    const flat = (list as unknown[]).flat(Infinity) as number[]
    const tuples = Array.from({ length: flat.length / axes }, (_, i) =>
      Array.from({ length: axes }, (_, k) => {
        const position = flat[i * axes + k]!
        return position < 0 ? position + shape[axis + k]! : position
      }),
    )
    return { tuples, shape: flat.length === 0 ? [0] : listShape.slice(0, -1), axes }
  }
  if (selector === null || typeof selector === 'number' || (typeof selector === 'object' && 'step' in selector)) {
    const found = positions(selector as Selector, length)
    return { tuples: found.map((p) => [p]), shape: typeof selector === 'number' ? [] : [found.length], axes: 1 }
  }
  const list = nested(selector)
  const flat = (list as unknown[]).flat(Infinity)
  // Nested lists without elements have no shape.
  const listShape = 'shape' in (selector as object) ? [...(selector as TensorLike).shape] : shapeOf(list)
  const isBytes = selector instanceof Uint8Array || (selector as { data?: unknown }).data instanceof Uint8Array
  if (typeof flat[0] !== 'boolean' && !isBytes) {
    const tuples = flat.map((p) => [(p as number) < 0 ? (p as number) + length : (p as number)])
    return { tuples, shape: listShape, axes: 1 }
  }
  const tuples: number[][] = []
  const walk = (part: unknown, tuple: number[]): void => {
    if (Array.isArray(part)) for (const [i, each] of part.entries()) walk(each, [...tuple, i])
    else if (part === true) tuples.push(tuple)
  }
  walk(list, [])
  return { tuples, shape: [tuples.length], axes: listShape.length }
}

/** The selection as what each selector picks, in the order of the axes; whole axes where there is none. */
function pickEach(shape: readonly number[], selection: readonly AnySelector[], grid?: ChunkGrid): Picked[] {
  const parts: Picked[] = []
  let axis = 0
  selection.forEach((selector, i) => {
    if (selector === '...') {
      // The selectors behind an ellipsis take their axes from the end.
      const behind = selection.slice(i + 1)
      let rest = 0
      const takes = (from: number): number =>
        behind.reduce<number>((sum, each) => sum + (each === newAxis ? 0 : pickOne(each, shape, from + sum, grid).axes), 0)
      while (axis + rest + takes(axis + rest) < shape.length) rest++
      for (let k = 0; k < rest; k++) parts.push(pickOne(null, shape, axis++, grid))
      return
    }
    const part = pickOne(selector, shape, axis, grid)
    parts.push(part)
    axis += part.axes
  })
  while (axis < shape.length) parts.push(pickOne(null, shape, axis++, grid))
  return parts
}

/** The flat positions that a selection picks, in C order of the result, and the result's shape. */
export function pick(
  shape: readonly number[],
  selection: readonly AnySelector[],
  grid?: ChunkGrid,
): { flat: number[]; shape: number[] } {
  const parts = pickEach(shape, selection, grid)
  let tuples: number[][] = [[]]
  for (const part of parts) tuples = tuples.flatMap((tuple) => part.tuples.map((more) => [...tuple, ...more]))
  const flat = tuples.map((tuple) => tuple.reduce((at, position, axis) => at * shape[axis]! + position, 0))
  return { flat, shape: parts.flatMap((part) => part.shape) }
}

export function plainGet<D extends DType>(array: Plain<D>, selection: readonly AnySelector[], grid?: ChunkGrid): Plain<D> {
  const { flat, shape } = pick(array.shape, selection, grid)
  const data = allocate(array.dtype, flat.length)
  flat.forEach((from, to) => {
    data[to] = array.data[from]!
  })
  return { dtype: array.dtype, shape, data }
}

export function plainSet<D extends DType>(
  array: Plain<D>,
  selection: readonly AnySelector[],
  values: ArrayLike<unknown>,
  grid?: ChunkGrid,
): void {
  pick(array.shape, selection, grid).flat.forEach((to, from) => {
    array.data[to] = values[from] as never
  })
}

/** Counts the chunks of one axis that a selector touches, and the runs of neighbours among them. */
export function touched(selector: Selector, length: number, chunkLength: number, offset = 0): { chunks: number; runs: number } {
  const chunks = [...new Set(positions(selector, length).map((position) => Math.floor((position + offset) / chunkLength)))].sort(
    (a, b) => a - b,
  )
  const runs = chunks.filter((chunk, i) => i === 0 || chunk !== chunks[i - 1]! + 1).length
  return { chunks: chunks.length, runs }
}

/** Cells of a reduction: for each, the flat positions of its elements. */
export function cells(shape: readonly number[], axes: ReadonlySet<number>): { shape: number[]; members: number[][] } {
  const kept = shape.filter((_, axis) => !axes.has(axis))
  const members = Array.from({ length: kept.reduce((a, b) => a * b, 1) }, () => [] as number[])
  const size = shape.reduce((a, b) => a * b, 1)
  for (let flat = 0; flat < size; flat++) {
    let rest = flat
    const index = new Array<number>(shape.length)
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      index[axis] = rest % shape[axis]!
      rest = Math.floor(rest / shape[axis]!)
    }
    let cell = 0
    index.forEach((position, axis) => {
      if (!axes.has(axis)) cell = cell * shape[axis]! + position
    })
    members[cell]!.push(flat)
  }
  return { shape: kept, members }
}

/** Coordinates of flat positions. */
export const unravel = (shape: readonly number[], flat: readonly number[]): number[][] =>
  flat.map((position) => {
    const index = new Array<number>(shape.length)
    for (let axis = shape.length - 1, rest = position; axis >= 0; axis--) {
      index[axis] = rest % shape[axis]!
      rest = Math.floor(rest / shape[axis]!)
    }
    return index
  })
