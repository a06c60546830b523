import type { CellLayout } from '../../aggregate/cells.ts'
import { type DType, isBigInt, isFixed, type ScalarOf, type TypedArray } from '../../core/dtype.ts'
import type { Tensor } from '../../core/tensor.ts'
import type { BlockSource } from '../source.ts'
import { type Fold, foldOf } from './fold.ts'
import { foldedDType, modeOf } from './fold-kinds.ts'
import { TruthFold } from './fold-values.ts'
import { layoutOf, type ReduceOptions, shaped } from './reduce.ts'
import { type RowMode, RowReader, skippedOf } from './rows.ts'
import { eachRun } from './runs.ts'
import { eachUnwritten } from './unwritten.ts'

/** Takes every element into its cell, reading each chunk once. */
export async function fillCells(
  source: BlockSource,
  mode: RowMode,
  layout: CellLayout,
  options: ReduceOptions,
  foldFor: (reader: RowReader) => Fold & { decided?(): boolean },
): Promise<TypedArray> {
  const reader = new RowReader(source.dtype, mode, skippedOf(source, options))
  const fold = foldFor(reader)
  const places = { start: 0, stride: source.shape.map(() => 0) }
  const { signal } = options
  const decided = fold.decided?.bind(fold)
  const repeat = fold.repeat.bind(fold)
  const unwritten = eachUnwritten(source, reader, layout, signal, repeat, decided)
  const run = { signal, unwritten, ...(decided && { atOnce: 1 }) }
  await eachRun(source, run, ({ box, tensor }) => {
    reader.each(tensor, { start: layout.first(box), stride: layout.stride }, places, fold.row)
    return decided?.()
  })
  return fold.finish()
}

export async function product(source: BlockSource, options: ReduceOptions): Promise<Tensor | ScalarOf<DType>> {
  const { dtype } = source
  const layout = layoutOf(source, options.axis)
  const data = await fillCells(source, modeOf('prod'), layout, options, ({ skipped }) =>
    foldOf('prod', dtype, layout.size, skipped),
  )
  return shaped(foldedDType(dtype, 'prod'), data, layout, options)
}

/** Options of `count`, `any` and `all`. */
export interface TruthOptions<D extends DType = DType> extends ReduceOptions {
  /**
   * The question to each element. When left out it is whether it is not 0, false or empty; NaN is none of
   * these.
   */
  readonly where?: (value: ScalarOf<D>) => unknown
}

/** How many elements are true, or whether any or all of them are. */
export async function truth(
  source: BlockSource,
  kind: 'count' | 'any' | 'all',
  options: TruthOptions,
): Promise<Tensor | ScalarOf<DType>> {
  const { dtype } = source
  const layout = layoutOf(source, options.axis)
  const data = await fillCells(
    source,
    options.where || isBigInt(dtype) || !isFixed(dtype) ? 'raw' : 'float',
    layout,
    options,
    (reader) => {
      const fold = new TruthFold(kind, layout.size, reader.skipped, options.where as never, dtype === 'bool')
      const repeat = fold.repeat.bind(fold)
      return kind === 'count' ? { row: fold.row, repeat, finish: () => fold.finish() } : fold
    },
  )
  return shaped(kind === 'count' ? 'float64' : 'bool', data, layout, options)
}
