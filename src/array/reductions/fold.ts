import { type DType, isBigInt, type TypedArray } from '../../core/dtype.ts'
import { checkFoldable, type FoldKind } from './fold-kinds.ts'
import { ExtremeFold, ProductFold, SumFold, TruthFold, WideProductFold, WideSumFold } from './fold-values.ts'
import { MomentFold } from './moments.ts'
import type { Row, Skipped } from './rows.ts'

export interface FoldOptions {
  /** What a variance of n elements divides by is n less this; 0 when left out. */
  readonly ddof?: number
}

/** Cells that take in elements row by row. */
export interface Fold {
  readonly row: Row
  /** Takes so many elements of one value, as rows have them and not skipped, into a cell at once. */
  repeat(value: never, times: number, cell: number): void
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
