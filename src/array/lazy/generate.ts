import { DTYPES, type DType, type ScalarOf, toElement } from '../../core/dtype.ts'
import { type Checks, checkOptions, checkValue } from '../../core/options.ts'
import { checkShape, eachIndex } from '../../core/shape.ts'
import type { ChunkGrid } from '../../grid/chunks.ts'
import { type BlockSource, gridOf } from '../source.ts'
import { NO_BUDGET } from './joint-budget.ts'

/**
 * Options of `generate`, which describe the array: `dtype`, `shape`, `dimensionNames`, `fillValue` and
 * `chunks`.
 */
export interface GenerateOptions<D extends DType, S extends readonly number[] = readonly number[]> {
  readonly dtype: D
  readonly shape: S
  /** A grid or a chunk shape; estimated when left out. */
  readonly chunks?: ChunkGrid | readonly number[]
  readonly dimensionNames?: readonly string[]
  readonly fillValue?: ScalarOf<D>
}

const CHECKS: Checks<GenerateOptions<DType>> = {
  dtype: DTYPES,
  shape: 'list',
  chunks: 'object',
  dimensionNames: 'list',
  fillValue: 'value',
}

/**
 * An array whose elements are computed from their index whenever they are read.
 * @param fn takes the index, one number an axis
 * @throws reading, InvalidArgumentError when a result is not a value of the data type
 */
export function generateSource<D extends DType>(
  fn: (...index: number[]) => ScalarOf<D>,
  options: GenerateOptions<D>,
): BlockSource<D> {
  checkValue('generate', 'fn', fn, 'function')
  checkOptions('generate', options, CHECKS)
  checkValue('generate', 'dtype', Object(options).dtype, DTYPES)
  const { dtype, shape, dimensionNames, fillValue } = options
  checkShape(shape, 'shape')
  const readBlock: BlockSource<D>['readBlock'] = (box, out) => {
    eachIndex(out.shape, (index) => {
      const at = index.reduce((sum, i, axis) => sum + i * out.stride[axis]!, out.offset)
      out.data[at] = toElement(dtype, fn(...index.map((i, axis) => box[axis]!.start + i * box[axis]!.step))) as never
    })
  }
  const source = { dtype, shape, dimensionNames, fillValue, capabilities: { steps: true }, budget: NO_BUDGET, readBlock }
  return { ...source, chunks: gridOf({ ...source, ...(options.chunks && { chunks: options.chunks }) }) }
}
