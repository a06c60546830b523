import { allocate, type FixedDType, isBigInt, type TypedArray } from '../../core/dtype.js'
import { eachIndex } from '../../core/shape.js'
import type { ReduceOp } from '../../kernels/reduce.js'
import type { Part } from './parts.js'

/** Values of any type as one of few, so that loops over them stay fast. */
export type Values = Float64Array | BigInt64Array | BigUint64Array

/** A copy of elements as such. */
export const comparable = (data: TypedArray): Values =>
  data instanceof BigInt64Array || data instanceof BigUint64Array ? data.slice() : new Float64Array(data)

/**
 * The extremes of cells and where they are, in C order. A NaN is beyond all; of equal elements the one at the first place counts, in whatever
 * order they come.
 */
export class Extremes implements Part {
  readonly values: Values
  /** 1 where there is an extreme. */
  readonly counts: Float64Array
  readonly places: Float64Array
  readonly #less: boolean

  constructor(op: ReduceOp, dtype: FixedDType, cells: number) {
    this.values = allocate(isBigInt(dtype) ? dtype : 'float64', cells)
    this.counts = new Float64Array(cells)
    this.places = new Float64Array(cells)
    this.#less = op === 'min'
  }

  /** Whether an element would take the place of what a cell has. */
  beats(cell: number, value: number | bigint, place: number): boolean {
    if (this.counts[cell] === 0) return true
    const old = this.values[cell]!
    const first = place < this.places[cell]!
    if (Number.isNaN(old)) return first && Number.isNaN(value)
    if (value === old) return first
    return (this.#less ? value < old : value > old) || Number.isNaN(value)
  }

  offer(cell: number, value: number | bigint, place: number): void {
    if (!this.beats(cell, value, place)) return
    this.values[cell] = value as never
    this.counts[cell] = 1
    this.places[cell] = place
  }

  /** Takes in cells of a part, which lie in those of this one from `first` on, `stride` apart. */
  take({ values, counts, places }: Part, shape: readonly number[], first: number, stride: readonly number[]): void {
    eachCell(shape, first, stride, (i, cell) => {
      if (counts[i]! > 0) this.offer(cell, values[i]!, places![i]!)
    })
  }
}

/** Visits cells in C order of their shape, with their numbers among others. */
export function eachCell(
  shape: readonly number[],
  first: number,
  stride: readonly number[],
  visit: (i: number, cell: number) => void,
): void {
  const length = shape.at(-1) ?? 1
  const step = stride.at(-1) ?? 0
  let i = 0
  eachIndex(shape.slice(0, -1), (index) => {
    let cell = first
    for (let axis = 0; axis < index.length; axis++) cell += index[axis]! * stride[axis]!
    for (let k = 0; k < length; k++, cell += step) visit(i++, cell)
  })
}
