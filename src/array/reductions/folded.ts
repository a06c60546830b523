import type { DType, ScalarOf } from '../../core/dtype.ts'
import { checkValue } from '../../core/options.ts'
import { type Tensor, tensorOf } from '../../core/tensor.ts'
import { arrayOrder } from '../iteration.ts'
import type { BlockOptions, BlockSource } from '../source.ts'
import { checkInitial } from './options.ts'
import { layoutOf, type ReduceOptions } from './reduce.ts'
import { type Row, RowReader, type SkipOptions, skippedOf } from './rows.ts'
import { addRows, foldRuns, oneCell } from './runs.ts'

/** Folds the elements one after another, in C order of the array. */
export async function foldElements<D extends DType, T>(
  source: BlockSource<D>,
  fn: (accumulated: T, value: ScalarOf<D>) => T,
  init: T,
  options: BlockOptions & SkipOptions,
): Promise<T> {
  checkValue('reduce', 'fn', fn, 'function')
  checkInitial('reduce', init, source)
  const { reader, bools } = rawReader(source, options)
  const { fill, nan } = reader.skipped
  let accumulated = init
  const row: Row<ArrayLike<unknown>> = (values, at, length) => {
    for (let i = at; i < at + length; i++) {
      const x = values[i]
      if (x === fill || (nan && Number.isNaN(x))) continue
      accumulated = fn(accumulated, (bools ? x !== 0 : x) as ScalarOf<D>)
    }
  }
  const one = oneCell(source)
  const runs = { signal: options.signal, runs: arrayOrder(source) }
  await foldRuns(source, reader, one, { add: addRows(reader, one, row as never) }, runs)
  return accumulated
}

/**
 * Maps every element and combines the results, one run of chunks at a time. `combine` must not depend on the
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
  const { reader, bools } = rawReader(source, options)
  const { fill, nan } = reader.skipped
  const cells = new Array<T>(layout.size).fill(init)
  const row: Row<ArrayLike<unknown>> = (values, at, length, cell, step) => {
    for (let i = at; i < at + length; i++, cell += step) {
      const x = values[i]
      if (x === fill || (nan && Number.isNaN(x))) continue
      cells[cell] = combine(cells[cell]!, map((bools ? x !== 0 : x) as ScalarOf<D>))
    }
  }
  await foldRuns(source, reader, layout, { add: addRows(reader, layout, row as never) }, { signal: options.signal })
  if (options.axis === undefined) return cells[0]!
  return tensorOf('float64', layout.resultShape(options.keepDims), Float64Array.from(cells as number[]))
}

const rawReader = (source: BlockSource, options: SkipOptions): { reader: RowReader; bools: boolean } => ({
  reader: new RowReader(source.dtype, 'raw', skippedOf(source, options)),
  bools: source.dtype === 'bool',
})
