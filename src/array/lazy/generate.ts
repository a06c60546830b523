import { allocate, checkDType, DTYPES, type DType, isFixed, type ScalarOf, type TypedArray, toElement } from '../../core/dtype.ts'
import { type Checks, checkOptions, checkValue } from '../../core/options.ts'
import { checkShape, eachIndex } from '../../core/shape.ts'
import { copyTensor, type Tensor, viewTensor } from '../../core/tensor.ts'
import { placeAt } from '../../core/tensor-index.ts'
import type { ChunkGrid } from '../../grid/chunks.ts'
import { viewOf } from '../../grid/range.ts'
import { type BlockSource, gridOf } from '../source.ts'
import { NO_BUDGET } from './derive.ts'

/**
 * Options of `generate`, which describe the array: `dtype`, `shape`, `dimensionNames`, `fillValue` and
 * `chunks`.
 */
export interface GenerateOptions<D extends DType, S extends readonly number[] = readonly number[]> {
  readonly dtype: D
  readonly shape: S
  /** A grid or a chunk shape; estimated by default. */
  readonly chunks?: ChunkGrid | readonly number[]
  readonly dimensionNames?: readonly string[]
  readonly fillValue?: ScalarOf<D>
}

const CHECKS: Checks<GenerateOptions<DType>> = {
  dtype: DTYPES,
  shape: 'list',
  chunks: 'object',
  dimensionNames: 'list of strings',
  fillValue: 'value',
}

/**
 * Creates an array whose elements are computed from their index on every read.
 * @param fn receives the index, one number per axis
 * @throws when read, InvalidArgumentError if a result is not a value of the data type
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
      const at = placeAt(out, index)
      out.data[at] = toElement(dtype, fn(...index.map((i, axis) => box[axis]!.start + i * box[axis]!.step))) as never
    })
  }
  const source = { dtype, shape, dimensionNames, fillValue, capabilities: { steps: true }, budget: NO_BUDGET, readBlock }
  return { ...source, chunks: gridOf({ ...source, ...(options.chunks && { chunks: options.chunks }) }) }
}

/** Wraps a tensor as a source: of the type of its typed array, or of numbers or strings in a plain array. */
export function inMemory(tensor: Tensor): BlockSource {
  const { data, shape } = tensor
  const dtype = Array.isArray(data) ? plainDType(data) : typedDType(data as TypedArray)
  const source = {
    dtype,
    shape,
    capabilities: { steps: true },
    budget: NO_BUDGET,
    readBlock: ((box, out) => copyTensor(viewTensor(tensor, box.map(viewOf)), out)) as BlockSource['readBlock'],
  }
  return { ...source, chunks: gridOf(source) }
}

const plainDType = (data: readonly unknown[]): DType =>
  typeof data[0] === 'string' ? 'string' : data[0] instanceof Uint8Array ? 'binary' : 'float64'

/**
 * Returns the data type of a typed array. Of types that share a class, such as `bool` and timestamps, it is
 * the numeric one.
 */
function typedDType(data: TypedArray): DType {
  const dtype = DTYPES.findLast(
    (each) => isFixed(each) && each !== 'timestamp_ns' && data.constructor === allocate(each, 0).constructor,
  )
  checkDType(dtype)
  return dtype
}
