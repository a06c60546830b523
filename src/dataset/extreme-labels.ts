import { type DType, isFloat } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import { type Tensor, tensorOf } from '../core/tensor.ts'
import { NAT } from './time/instant.ts'

/**
 * Returns the labels at some positions. A missing position has the label NaN or NaT.
 * @throws EmptyReductionError for a missing position if labels cannot be missing
 */
export function readLabelsAt(labels: ArrayLike<unknown>, positions: Tensor<'float64'>, dtype: DType, name: string): Tensor {
  const none = isFloat(dtype) ? Number.NaN : dtype === 'timestamp_ns' ? NAT : undefined
  const result = tensorOf(dtype, positions.shape)
  positions.data.forEach((at, cell) => {
    const label = Number.isNaN(at) ? none : labels[at]
    if (label === undefined) {
      const text = `a cell has no values, and labels of ${name} (${dtype}) cannot be missing: select cells with values first`
      throw new HyperslabError('EmptyReductionError', text, { array: name })
    }
    result.data[cell] = label as never
  })
  return result
}
