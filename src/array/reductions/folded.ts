import type { CellLayout } from '../../aggregate/cells.ts'
import { type DType, isBigInt, isFixed, type ScalarOf, type TypedArray } from '../../core/dtype.ts'
import { checkValue } from '../../core/options.ts'
import { type Tensor, tensorOf } from '../../core/tensor.ts'
import { arrayOrder } from '../iteration.ts'
import type { BlockOptions, BlockSource } from '../source.ts'
import { foldOf, TruthFold } from './fold.ts'
import { type Fold, foldedDType, modeOf } from './fold-kinds.ts'
import { checkInitial, type TruthOptions } from './options.ts'
import { layoutOf, type ReduceOptions, shaped } from './reduce.ts'
import { type Row, type RowMode, RowReader, type SkipOptions, skippedOf } from './rows.ts'
import { eachRun, eachUnwritten, unwrittenValue } from './runs.ts'

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

/** Folds the elements one after another, in C order of the array. */
export async function foldElements<D extends DType, T>(
  source: BlockSource<D>,
  fn: (accumulated: T, value: ScalarOf<D>) => T,
  init: T,
  options: BlockOptions & SkipOptions,
): Promise<T> {
  checkValue('reduce', 'fn', fn, 'function')
  checkInitial('reduce', init, source)
  const { reader, none, bools } = rawReader(source, options)
  const { fill, nan } = reader.skipped
  let accumulated = init
  const row: Row<ArrayLike<unknown>> = (values, at, length) => {
    for (let i = at; i < at + length; i++) {
      const x = values[i]
      if (x === fill || (nan && Number.isNaN(x))) continue
      accumulated = fn(accumulated, (bools ? x !== 0 : x) as ScalarOf<D>)
    }
  }
  const run = { signal: options.signal, runs: arrayOrder(source), unwritten: unlessKept(source, reader) }
  await eachRun(source, run, ({ tensor }) => {
    reader.each(tensor, none, none, row as never)
  })
  return accumulated
}

/**
 * Maps every element and combines what comes out, a run of chunks at a time: `combine` must not care for the
 * order.
 */
export async function mapReduce<D extends DType, T>(
  source: BlockSource<D>,
  map: (value: ScalarOf<D>) => T,
  combine: (a: T, b: T) => T,
  init: T,
  options: ReduceOptions,
): Promise<T | Tensor> {
  checkValue('mapReduce', 'map', map, 'function')
  checkValue('mapReduce', 'combine', combine, 'function')
  checkInitial('mapReduce', init, source)
  const layout = layoutOf(source, options.axis)
  const { reader, none, bools } = rawReader(source, options)
  const { fill, nan } = reader.skipped
  const cells = new Array<T>(layout.size).fill(init)
  const row: Row<ArrayLike<unknown>> = (values, at, length, cell, step) => {
    for (let i = at; i < at + length; i++, cell += step) {
      const x = values[i]
      if (x === fill || (nan && Number.isNaN(x))) continue
      cells[cell] = combine(cells[cell]!, map((bools ? x !== 0 : x) as ScalarOf<D>))
    }
  }
  await eachRun(source, { ...options, unwritten: unlessKept(source, reader) }, ({ box, tensor }) => {
    reader.each(tensor, { start: layout.first(box), stride: layout.stride }, none, row as never)
  })
  if (options.axis === undefined) return cells[0]!
  return tensorOf('float64', layout.resultShape(options.keepDims), Float64Array.from(cells as number[]))
}

/**
 * Elements that nobody wrote need not be looked at where they are passed over; others the functions of the
 * user must see one by one.
 */
const unlessKept = (source: BlockSource, reader: RowReader): (() => Promise<unknown>) | undefined =>
  unwrittenValue(source, reader) === undefined ? async () => undefined : undefined

function rawReader(source: BlockSource, options: SkipOptions) {
  const none = { start: 0, stride: source.shape.map(() => 0) }
  return { reader: new RowReader(source.dtype, 'raw', skippedOf(source, options)), none, bools: source.dtype === 'bool' }
}
