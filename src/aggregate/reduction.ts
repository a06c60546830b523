import { allocate, type FixedDType, type TypedArray } from '../core/dtype.ts'
import type { Box } from '../grid/range.ts'
import type { ReduceOp, SkipRule } from '../kernels/reduce.ts'
import type { Cells } from './accumulator.ts'

/** A reduction of elements of `dtype` without those to `skip`, as data that can be sent to other threads. */
export interface Reduction<Op = ReduceOp | 'extrema' | 'moments'> {
  /**
   * The operation: one of the kernels; `'extrema'`, minimum and maximum at once, all minima before all
   * maxima; or `'moments'` (`momentsOf`), from which variances are computed.
   */
  readonly op: Op
  readonly dtype: FixedDType
  readonly skip: SkipRule
  /** Whether each axis is reduced. */
  readonly reduced: readonly boolean[]
  /**
   * Growth of the position along each axis, 0 along kept axes; the start of the box has position 0. Set if
   * positions of minima or maxima are requested; parts then contain places.
   */
  readonly places?: readonly number[]
}

export const isWhole = ({ reduced }: Reduction): boolean => reduced.every(Boolean)

/**
 * Returns the kernel reductions that a reduction consists of; their parts are reduced like elements. Moments
 * have none.
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

/** Whether a kernel computes the reduction, so that parts are reduced like elements. */
export const isPlain = (reduction: Reduction): reduction is Reduction<ReduceOp> =>
  reduction.op !== 'moments' && reduction.op !== 'extrema'

/**
 * Returns the number of columns of a part's values, each with one value per cell: minima before maxima, or
 * means before sums of squares. Other reductions store the values of a cell together, in one column.
 */
export const columnsOf = (reduction: Reduction): number => (isPlain(reduction) ? 1 : 2)

/**
 * Elements of an array reduced together: one cell for each position along the kept axes. Cells are stored as
 * the kernels leave them (two numbers for sums of 64-bit integers), so that parts can be reduced further
 * without loss. A whole reduction has one cell, with its value.
 */
export type PartialAggregate = Cells

/** Combines a part of minima and a part of maxima into one. */
export function pairedParts(dtype: FixedDType, [min, max]: readonly PartialAggregate[]): PartialAggregate {
  const size = min!.counts.length
  const values = allocate(dtype, 2 * size) as TypedArray
  values.set(min!.values as never)
  values.set(max!.values as never, size)
  return { values, counts: min!.counts }
}

/** A part and its `region` of the result, in which reduced axes have length 1. */
export interface PlacedAggregate extends PartialAggregate {
  readonly region: Box
}
