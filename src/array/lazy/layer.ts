import type { DType, ScalarOf } from '../../core/dtype.js'
import type { BlockSource } from '../source.js'

/** What a lazy array says of itself; the rest is as below. */
export type Layer<D extends DType> = Pick<BlockSource<D>, 'readBlock'> &
  Partial<Pick<BlockSource<D>, 'chunks' | 'dimensionNames' | 'capabilities' | 'writeBlock' | 'reduceBox'>>

/** A source of the same type on top of another one, with its chunks, names, fill value and label unless `layer` has its own. */
export const over = <D extends DType>(below: BlockSource<D>, layer: Layer<D>): BlockSource<D> =>
  overAs(below, below.dtype, below.fillValue, layer)

/** Likewise, of another type. */
export const overAs = <D extends DType>(
  below: BlockSource,
  dtype: D,
  fillValue: ScalarOf<D> | undefined,
  layer: Layer<D>,
): BlockSource<D> => {
  const chunks = layer.chunks ?? below.chunks
  return {
    dtype,
    shape: chunks.shape,
    dimensionNames: below.dimensionNames,
    fillValue,
    capabilities: below.capabilities ?? {},
    maxElements: below.maxElements,
    label: below.label ?? {},
    ...layer,
    chunks,
  }
}
