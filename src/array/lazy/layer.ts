import type { DType, ScalarOf } from '../../core/dtype.js'
import type { BlockSource, Missing } from '../source.js'

/** What a lazy array says of itself; the rest is as below. */
export type Layer<D extends DType> = Pick<BlockSource<D>, 'readBlock'> &
  Partial<Pick<BlockSource<D>, 'chunks' | 'dimensionNames' | 'capabilities' | 'writeBlock' | 'reduceBox'>>

/** A source of the same type on top of another one, with its chunks, names, fill value, missing values and label unless `layer` has its own. */
export const over = <D extends DType>(below: BlockSource<D>, layer: Layer<D>): BlockSource<D> => overAs(below, below, layer)

/** Type, fill value and missing values of a source. */
export interface Kind<D extends DType> {
  readonly dtype: D
  readonly fillValue?: ScalarOf<D> | undefined
  readonly missing?: Missing<D> | undefined
}

/** Likewise, of another type. */
export const overAs = <D extends DType>(
  below: BlockSource,
  { dtype, fillValue, missing }: Kind<D>,
  layer: Layer<D>,
): BlockSource<D> => {
  const chunks = layer.chunks ?? below.chunks
  return {
    dtype,
    shape: chunks.shape,
    dimensionNames: below.dimensionNames,
    fillValue,
    missing,
    capabilities: below.capabilities ?? {},
    maxElements: below.maxElements,
    budget: below.budget,
    label: below.label ?? {},
    ...layer,
    chunks,
  }
}
