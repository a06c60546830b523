import { allocate, type DataOf, type DType } from '../../src/core/dtype.js'
import type { Selector } from '../../src/grid/selection.js'

/** A plain n-d array in C order, with everything written as the obvious loop. What the package does is compared with this. */
export interface Plain<D extends DType = DType> {
  readonly dtype: D
  readonly shape: readonly number[]
  readonly data: DataOf<D>
}

/** Python's range(*slice.indices(length)), by counting. */
export function positions(selector: Selector, length: number): number[] {
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

/** The flat positions that a selection picks, in C order of the result, and the result's shape. */
export function pick(shape: readonly number[], selection: readonly Selector[]): { flat: number[]; shape: number[] } {
  const axes = shape.map((length, axis) => positions(selection[axis] ?? null, length))
  let flat = [0]
  axes.forEach((list, axis) => {
    flat = flat.flatMap((base) => list.map((position) => base * shape[axis]! + position))
  })
  const kept = axes.filter((_, axis) => typeof selection[axis] !== 'number')
  return { flat, shape: kept.map(({ length }) => length) }
}

export function plainGet<D extends DType>(array: Plain<D>, selection: readonly Selector[]): Plain<D> {
  const { flat, shape } = pick(array.shape, selection)
  const data = allocate(array.dtype, flat.length)
  flat.forEach((from, to) => {
    data[to] = array.data[from]!
  })
  return { dtype: array.dtype, shape, data }
}

export function plainSet<D extends DType>(array: Plain<D>, selection: readonly Selector[], values: ArrayLike<unknown>): void {
  pick(array.shape, selection).flat.forEach((to, from) => {
    array.data[to] = values[from] as never
  })
}

/** How many chunks of one axis a selector touches, and in how many runs of neighbours. */
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
