import { missingElements } from '../array/missing.ts'
import { missingTest } from '../array/missing-test.ts'
import type { ReduceOptions } from '../array/reductions/reduce.ts'
import { isFloat } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import type { Signal } from '../core/signal.ts'
import type { Tensor } from '../core/tensor.ts'
import { asFloats } from './cast-float.ts'
import type { Variable } from './variable.ts'

/**
 * Reads weights and refuses missing ones, as xarray does. Otherwise a sum would skip their values, and a mean
 * would be NaN.
 * @throws InvalidArgumentError for a missing weight
 */
export async function completeWeights({ name, array }: Variable, signal: Signal): Promise<Tensor> {
  const tensor = await array.toTensor({ signal })
  const { values } = missingElements(array.source)
  const isMissing = missingTest({ values, nan: isFloat(array.dtype) })
  const at = isMissing ? Array.prototype.findIndex.call(tensor.data, isMissing) : -1
  if (at < 0) return tensor
  const text = `weights cannot be missing, as that at position ${at} is: where() leaves values out`
  throw new HyperslabError('InvalidArgumentError', text, { ...array.source.label, array: name, actual: tensor.data[at] })
}

/** Returns the mean of an array with weights along one dimension. */
export async function meanByWeights(
  { array, dims }: Variable,
  weights: Variable,
  options: ReduceOptions & { readonly axis: readonly number[]; readonly signal: Signal },
): Promise<Tensor<'float64'>> {
  const { data } = await asFloats(weights.array).toTensor({ signal: options.signal })
  return array.weightedMean({ [dims.indexOf(weights.dims[0]!)]: data as ArrayLike<number> }, options)
}
