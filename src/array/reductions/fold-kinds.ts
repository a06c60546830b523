import { type DType, type FixedDType, isBigInt, isFixed } from '../../core/dtype.ts'
import { HyperslabError, invalidArgument } from '../../core/errors.ts'
import { checkValue } from '../../core/options.ts'
import type { BlockSource } from '../source.ts'
import type { RowMode, SkipOptions } from './rows.ts'

/** Reductions that keep one value per cell. */
export const FOLD_KINDS = ['sum', 'mean', 'prod', 'min', 'max', 'count', 'countNonzero', 'variance', 'std'] as const
/** A reduction that keeps one value per cell, for groups and windows. */
export type FoldKind = (typeof FOLD_KINDS)[number]

/** Reductions of groups and windows by the ranks of their elements. */
export const RANK_KINDS = ['median', 'quantile'] as const
/** Reduction of a group or a window by the ranks of its elements. */
export type RankKind = (typeof RANK_KINDS)[number]

/** Whether a kind of reduction needs all elements of a cell together. */
export const isRankKind = (kind: string): kind is RankKind => kind === 'median' || kind === 'quantile'

/**
 * Returns the share of a median or a quantile.
 * @throws InvalidArgumentError unless a quantile has one from 0 to 1, and other kinds have none; for a `ddof`
 *   of kinds that do not divide by it
 */
export function shareOf(kind: string, { q, ddof }: RankOptions & FoldOptions): number {
  if (ddof !== undefined && kind !== 'variance' && kind !== 'std')
    invalidArgument(`ddof is for the kinds 'variance' and 'std', not for '${kind}'`, ddof)
  if (kind === 'quantile' ? !(q! >= 0 && q! <= 1) : q !== undefined)
    invalidArgument("q is a share from 0 to 1, for the kind 'quantile' alone", q)
  return q ?? 0.5
}

/**
 * Type of sums and products. A table instead of a conditional type, because the latter would make
 * `DiskArray<'int8'>` incompatible with `DiskArray`.
 */
export type SumDTypes = { [D in DType]: D extends 'int64' | 'uint64' ? D : 'float64' }

/** Result type of a fold. */
export type FoldedDType<D extends DType, K extends FoldKind | RankKind> = {
  sum: SumDTypes[D]
  prod: SumDTypes[D]
  min: D
  max: D
  mean: 'float64'
  count: 'float64'
  countNonzero: 'float64'
  variance: 'float64'
  std: 'float64'
  median: 'float64'
  quantile: 'float64'
}[K]

/** Returns the form in which a fold needs its elements. */
export const chooseRowMode = (kind: FoldKind): RowMode => (kind === 'variance' || kind === 'std' ? 'float' : 'exact')

export function foldedDType<D extends DType, K extends FoldKind | RankKind>(dtype: D, kind: K): FoldedDType<D, K> & FixedDType {
  const kept = kind === 'min' || kind === 'max' || ((kind === 'sum' || kind === 'prod') && isBigInt(dtype))
  return (kept ? dtype : 'float64') as FoldedDType<D, K> & FixedDType
}

/** @throws UnsupportedError for types that the reduction is not defined for */
export function checkFoldable(kind: string, dtype: DType): asserts dtype is FixedDType {
  const orders = kind === 'min' || kind === 'max' || kind === 'extrema' || kind.startsWith('count') || kind.startsWith('arg')
  if (isFixed(dtype) && (orders || dtype !== 'timestamp_ns')) return
  throw new HyperslabError('UnsupportedError', `there is no ${kind} of ${dtype} values`, { actual: dtype })
}

/** @throws InvalidArgumentError for an unknown kind */
export const checkKind = (call: string, kind: unknown, { label }: Pick<BlockSource, 'label'>): void =>
  checkValue(call, 'kind', kind, [...FOLD_KINDS, ...RANK_KINDS], label)

export interface FoldOptions {
  /** Delta degrees of freedom: a variance is divided by the number of elements minus this; default 0. */
  readonly ddof?: number
}

/** Option of reductions by ranks. */
export interface RankOptions {
  /** Share of a `'quantile'`, from 0 to 1. Required for it; other kinds refuse it. */
  readonly q?: number
}

/** Options of `coarsen` and `slidingWindows`. */
export interface WindowOptions extends SkipOptions, FoldOptions, RankOptions {}

/** Windows of `sizes` every `steps` positions of a source. */
export interface Windows {
  readonly source: BlockSource
  readonly sizes: readonly number[]
  readonly steps: readonly number[]
  readonly kind: FoldKind | RankKind
  readonly options: WindowOptions
}
