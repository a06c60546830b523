import { allocate, type FixedDType, type TypedArray } from '../core/dtype.ts'
import type { Box } from '../grid/range.ts'
import type { ReduceOp, Skip } from '../kernels/reduce.ts'
import type { Cells } from './accumulator.ts'

/** A reduction of elements of `dtype`, without those to `skip`, as data that other threads understand. */
export interface Reduction<Op = ReduceOp | 'extrema' | 'moments'> {
  /**
   * The operation: what a kernel reduces to; minimum and maximum at once, all minima before all maxima; or
   * the moments (`momentsOf`) of elements, of which variances are made.
   */
  readonly op: Op
  readonly dtype: FixedDType
  readonly skip: Skip
  /** True for each axis that is reduced. */
  readonly reduced: readonly boolean[]
  /**
   * Growth of the position along each axis, from 0 at the start of the box, where positions of minima and
   * maxima are wanted; 0 along axes that are kept. Parts then have places.
   */
  readonly places?: readonly number[]
}

export const isWhole = ({ reduced }: Reduction): boolean => reduced.every(Boolean)

/**
 * The reductions by kernels that one is made of, whose parts are reduced as elements are; there are none for
 * moments.
 */
export function plainOf(reduction: Reduction): readonly Reduction<ReduceOp>[] {
  const { op } = reduction
  if (op === 'moments') return []
  return op === 'extrema'
    ? [
        { ...reduction, op: 'min' },
        { ...reduction, op: 'max' },
      ]
    : [{ ...reduction, op }]
}

/** Whether a kernel does it, so that parts are reduced as elements are. */
export const isPlain = (reduction: Reduction): reduction is Reduction<ReduceOp> =>
  reduction.op !== 'moments' && reduction.op !== 'extrema'

/**
 * How many columns the values of a part have, each of all cells: minima before maxima, or means before sums
 * of squares. Other values of a cell lie together.
 */
export const columnsOf = (reduction: Reduction): number => (isPlain(reduction) ? 1 : 2)

/**
 * Elements of an array reduced together: one cell for each position of the axes that are kept. Cells
 * are as the kernels leave them (of sums of 64-bit integers, two numbers), so that parts can be reduced
 * further without a loss. Of a whole reduction there is one cell, with its value.
 */
export type PartialAggregate = Cells

/** A part with the cells of minima and of maxima, from one of each. */
export function pairedParts(dtype: FixedDType, [min, max]: readonly PartialAggregate[]): PartialAggregate {
  const size = min!.counts.length
  const values = allocate(dtype, 2 * size) as TypedArray
  values.set(min!.values as never)
  values.set(max!.values as never, size)
  return { values, counts: min!.counts }
}

/** A part and the `region` of the result that it belongs to; reduced axes have length 1. */
export interface PlacedAggregate extends PartialAggregate {
  readonly region: Box
}
