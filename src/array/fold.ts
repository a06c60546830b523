import { type DType, type FixedDType, isBigInt, type TypedArray } from '../core/dtype.js'
import { checkFoldable } from './fold-results.js'
import { ExtremeFold, ProductFold, SumFold, TruthFold, WideProductFold, WideSumFold } from './fold-values.js'
import { MomentFold } from './moments.js'
import type { Row, RowMode, Skipped } from './rows.js'

/** What elements can be folded into, one value a cell. */
export type FoldKind = 'sum' | 'mean' | 'prod' | 'min' | 'max' | 'count' | 'variance' | 'std'

/** The type of sums and products. A table rather than a condition, which would keep `DiskArray<'int8'>` from being a `DiskArray`. */
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

export interface FoldOptions {
  /** What a variance of n elements divides by is n less this; 0 when left out. */
  readonly ddof?: number
}

/** Cells that take in elements row by row. */
export interface Fold {
  readonly row: Row
  /** The values of the cells, which are good for nothing more afterwards. */
  finish(): TypedArray
}

/**
 * @param empty what stands for the minimum or maximum of nothing; undefined when that is an error
 * @throws UnsupportedError for types that the kind has no meaning for
 */
export function foldOf(
  kind: FoldKind,
  dtype: DType,
  cells: number,
  skipped: Skipped,
  { ddof = 0, empty }: FoldOptions & { readonly empty?: unknown } = {},
): Fold {
  checkFoldable(kind, dtype)
  switch (kind) {
    case 'sum':
    case 'mean':
      return isBigInt(dtype) ? new WideSumFold(kind, dtype, cells, skipped) : new SumFold(kind, cells, skipped)
    case 'prod':
      return isBigInt(dtype) ? new WideProductFold(dtype, cells, skipped) : new ProductFold(cells, skipped)
    case 'min':
    case 'max':
      return new ExtremeFold(kind, dtype, cells, skipped, empty)
    case 'count':
      return new TruthFold('count', cells, skipped)
    default:
      return new MomentFold(kind, cells, skipped, ddof)
  }
}

/** How a fold wants its elements. */
export const modeOf = (kind: FoldKind): RowMode => (kind === 'variance' || kind === 'std' ? 'float' : 'exact')

export function foldedDType<D extends DType, K extends FoldKind>(dtype: D, kind: K): FoldedDType<D, K> & FixedDType {
  const kept = kind === 'min' || kind === 'max' || ((kind === 'sum' || kind === 'prod') && isBigInt(dtype))
  return (kept ? dtype : 'float64') as FoldedDType<D, K> & FixedDType
}
