import { type DType, type FixedDType, isBigInt, isFixed, type TypedArray } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { checkValue } from '../../core/options.ts'
import type { BlockSource } from '../source.ts'
import type { Row, RowMode, SkipOptions } from './rows.ts'

/** What elements can be folded into, one value a cell. */
export const FOLD_KINDS = ['sum', 'mean', 'prod', 'min', 'max', 'count', 'variance', 'std'] as const
/** A reduction that keeps one value a cell, of groups and windows. */
export type FoldKind = (typeof FOLD_KINDS)[number]

/**
 * The type of sums and products. A table rather than a condition, which would keep `DiskArray<'int8'>` from
 * being a `DiskArray`.
 */
export type SumDTypes = { [D in DType]: D extends 'int64' | 'uint64' ? D : 'float64' }

/** The type of what a fold gives. */
export type FoldedDType<D extends DType, K extends FoldKind> = {
  sum: SumDTypes[D]
  prod: SumDTypes[D]
  min: D
  max: D
  mean: 'float64'
  count: 'float64'
  variance: 'float64'
  std: 'float64'
}[K]

/** How a fold wants its elements. */
export const modeOf = (kind: FoldKind): RowMode => (kind === 'variance' || kind === 'std' ? 'float' : 'exact')

export function foldedDType<D extends DType, K extends FoldKind>(dtype: D, kind: K): FoldedDType<D, K> & FixedDType {
  const kept = kind === 'min' || kind === 'max' || ((kind === 'sum' || kind === 'prod') && isBigInt(dtype))
  return (kept ? dtype : 'float64') as FoldedDType<D, K> & FixedDType
}

/** @throws UnsupportedError for types that a reduction has no meaning for */
export function checkFoldable(kind: string, dtype: DType): asserts dtype is FixedDType {
  const orders = kind === 'min' || kind === 'max' || kind === 'extrema' || kind === 'count' || kind.startsWith('arg')
  if (isFixed(dtype) && (orders || dtype !== 'timestamp_ns')) return
  throw new HyperslabError('UnsupportedError', `there is no ${kind} of ${dtype} values`, { actual: dtype })
}

/** @throws InvalidArgumentError for what is no kind to fold by */
export const checkKind = (call: string, kind: unknown, { label }: Pick<BlockSource, 'label'>): void =>
  checkValue(call, 'kind', kind, FOLD_KINDS, label)

export interface FoldOptions {
  /** What a variance of n elements divides by is n less this; 0 when left out. */
  readonly ddof?: number
}

/** Options of `coarsen` and `rolling`. */
export interface WindowOptions extends SkipOptions, FoldOptions {}

/** Cells that take in elements row by row. */
export interface Fold {
  readonly row: Row
  /** Takes so many elements of one value, as rows have them and not skipped, into a cell at once. */
  repeat(value: never, times: number, cell: number): void
  /** What the cells hold, each column with as many values as there are cells. */
  readonly columns: FoldColumns
  /** Takes what a cell of another one of its kind holds into a cell. */
  merge(cell: number, columns: FoldColumns, from: number): void
  /** The values of the cells, which are good for nothing more afterwards. */
  finish(): TypedArray
}

/** The state of cells, by columns. */
export type FoldColumns = readonly (TypedArray | readonly bigint[])[]
