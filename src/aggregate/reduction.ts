import type { FixedDType } from '../core/dtype.ts'
import type { Box } from '../grid/range.ts'
import type { ReduceOp, SkipRule } from '../kernels/reduce.ts'
import type { Cells } from './accumulator.ts'

/** An operation of the kernels, or `'moments'` (`momentsOf`), from which variances are computed. */
export type PartOp = ReduceOp | 'moments'

/** Operations that reduce the same elements together, and the ones they consist of. */
const TOGETHER = {
  extrema: ['min', 'max'],
  summary: ['min', 'max', 'sum'],
  description: ['min', 'max', 'sum', 'moments'],
} as const satisfies Readonly<Record<string, readonly PartOp[]>>

/** A reduction of elements of `dtype` without those to `skip`, as data that can be sent to other threads. */
export interface Reduction<Op = PartOp | keyof typeof TOGETHER> {
  /**
   * The operation, or several that need each element only once: `'extrema'` (minimum and maximum),
   * `'summary'` (also the sum) and `'description'` (also the moments).
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

export const isWhole = ({ reduced }: Pick<Reduction, 'reduced'>): boolean => reduced.every(Boolean)

/** Splits a reduction into one for each operation, in the order of its parts. */
export function splitReduction(reduction: Reduction): readonly Reduction<PartOp>[] {
  const { op } = reduction
  const ops: readonly PartOp[] = Object.hasOwn(TOGETHER, op) ? TOGETHER[op as keyof typeof TOGETHER] : [op as PartOp]
  return ops.map((each) => ({ ...reduction, op: each }))
}

/** Whether a kernel computes the reduction, so that cells are reduced like elements. */
export const isPlain = (reduction: Reduction<PartOp>): reduction is Reduction<ReduceOp> => reduction.op !== 'moments'

/**
 * Elements of an array reduced by one operation: one cell for each position along the kept axes. Cells are
 * stored as the kernels leave them, so that they can be reduced further without loss: two numbers for sums of
 * 64-bit integers; for moments, all means before all sums of squares. A whole reduction by a kernel has one
 * cell, with its value.
 */
export type PartialAggregate = Cells

/** Partial result for a `region` of the result of a reduction. Reduced axes have length 1 in it. */
export interface PlacedAggregate {
  readonly region: Box
  /** Partial aggregate of each operation of the reduction, in order. */
  readonly parts: readonly PartialAggregate[]
}

/** Returns a part with another region, whose positions are larger by `positions`. */
export const movedPart = ({ parts }: PlacedAggregate, region: Box, positions: number): PlacedAggregate => ({
  region,
  parts: parts.map((part) =>
    part.places === undefined || positions === 0 ? part : { ...part, places: part.places.map((place) => place + positions) },
  ),
})
