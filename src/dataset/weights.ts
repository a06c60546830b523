import { missingElements } from '../array/missing.ts'
import { missingTest } from '../array/missing-test.ts'
import type { ReduceOptions } from '../array/reductions/reduce.ts'
import { isFloat } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import type { Signal } from '../core/signal.ts'
import type { Tensor } from '../core/tensor.ts'
import { asFloats } from './as-floats.ts'
import type { Variable } from './variable.ts'

/**
 * Weights, none of which is missing: xarray refuses those that are, too. A sum would leave the value out, and
 * a mean be NaN.
 * @throws InvalidArgumentError when one is
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

/** The mean of an array, along one of whose dimensions weights lie. */
export async function meanByWeights(
  { array, dims }: Variable,
  weights: Variable,
  options: ReduceOptions & { readonly axis: readonly number[]; readonly signal: Signal },
): Promise<Tensor<'float64'>> {
  const { data } = await asFloats(weights.array).toTensor({ signal: options.signal })
  return array.weightedMean({ [dims.indexOf(weights.dims[0]!)]: data as ArrayLike<number> }, options)
}
