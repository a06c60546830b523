import { allocate, type FixedDType, isBigInt, type TypedArray } from '../../core/dtype.ts'
import type { ReduceOp } from '../../kernels/reduce.ts'
import type { PartialAggregate } from './parts.ts'

/** Values of any type as one of few, so that loops over them stay fast. */
export type Comparables = Float64Array | BigInt64Array | BigUint64Array

/** A copy of elements as such. */
export const comparable = (data: TypedArray): Comparables =>
  data instanceof BigInt64Array || data instanceof BigUint64Array ? data.slice() : new Float64Array(data)

/**
 * The extremes of cells and where they are, in C order. A NaN is beyond all; of equal elements the one at the
 * first place counts, in whatever order they come.
 */
export class Extremes implements PartialAggregate {
  readonly values: Comparables
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
}
