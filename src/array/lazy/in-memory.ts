import { allocate, checkDType, DTYPES, type DType, isFixed, type TypedArray } from '../../core/dtype.ts'
import { copyTensor, type Tensor, viewTensor } from '../../core/tensor.ts'
import { viewOf } from '../../grid/range.ts'
import { type BlockSource, gridOf } from '../source.ts'
import { NO_BUDGET } from './joint-budget.ts'

/** A tensor as a source: of the type of its typed array, or of numbers or strings in a plain array. */
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

/** Of types that share a class, `bool` and timestamps among them, the number. */
function typedDType(data: TypedArray): DType {
  const dtype = DTYPES.findLast(
    (each) => isFixed(each) && each !== 'timestamp_ns' && data.constructor === allocate(each, 0).constructor,
  )
  checkDType(dtype)
  return dtype
}
