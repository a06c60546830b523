import { DiskArray } from '../array/disk-array.ts'
import { NO_BUDGET } from '../array/lazy/derive.ts'
import { type Missing, NOT_A_NUMBER, NOTHING } from '../array/missing.ts'
import { type BlockSource, gridOf } from '../array/source.ts'
import { type DType, isFloat } from '../core/dtype.ts'
import { sameShape, showShape } from '../core/shape.ts'
import type { Signal } from '../core/signal.ts'
import { SingleFlight } from '../core/single-flight.ts'
import { copyTensor, type Tensor, viewTensor } from '../core/tensor.ts'
import { viewOf } from '../grid/range.ts'

/**
 * Returns an array that computes all its elements on the first read, and keeps them. It suits reductions of
 * much data to few elements, whose result is then read in pieces. Missing values of floats are NaN.
 * @param below arrays that it is computed from
 * @param compute returns a tensor of this type and shape; after a failure, the next read calls it again
 * @param missing missing values of other types
 */
export function computedOnce<D extends DType>(
  below: readonly DiskArray[],
  dtype: D,
  shape: readonly number[],
  compute: (signal: Signal) => Promise<Tensor<D>>,
  missing: Missing<D> = NOTHING,
): DiskArray<D> {
  const flights = new SingleFlight<'all', Tensor<D>>()
  let kept: Tensor<D> | undefined
  const computed = async (signal: Signal | undefined): Promise<Tensor<D>> => {
    const tensor = kept ?? (await flights.share('all', compute, signal))
    if (!sameShape(tensor.shape, shape))
      throw new TypeError(`a result of shape ${showShape(tensor.shape)} in place of ${showShape(shape)}`)
    kept = tensor
    return tensor
  }
  const source: Omit<BlockSource<D>, 'chunks'> = {
    dtype,
    shape,
    ...(isFloat(dtype) && { fillValue: Number.NaN as never }),
    missing: isFloat(dtype) ? NOT_A_NUMBER : missing,
    capabilities: { steps: true },
    budget: NO_BUDGET,
    origins: { below: below.flatMap(({ source }) => source.origins ?? []) },
    readBlock: async (box, out, { signal } = {}) => copyTensor(viewTensor(await computed(signal), box.map(viewOf)), out),
  }
  return new DiskArray<D>({ ...source, chunks: gridOf(source) })
}
