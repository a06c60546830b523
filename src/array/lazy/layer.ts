import type { DType, ScalarOf } from '../../core/dtype.js'
import type { BlockSource, Missing, NamedValues } from '../source.js'

/** What a lazy array says of itself; the rest is as below. */
export type Layer<D extends DType> = Pick<BlockSource<D>, 'readBlock'> &
  Partial<Pick<BlockSource<D>, 'chunks' | 'dimensionNames' | 'capabilities' | 'writeBlock' | 'bulk'>>

/** A source of the same elements on top of another one, with its chunks, names, fill value, missing values, attributes and label unless `layer` has its own. */
export const over = <D extends DType>(below: BlockSource<D>, layer: Layer<D>): BlockSource<D> => overAs(below, below, layer)

/** What a source says of its elements. */
export interface Kind<D extends DType> {
  readonly dtype: D
  readonly fillValue?: ScalarOf<D> | undefined
  readonly missing?: Missing<D> | undefined
  readonly attrs?: NamedValues | undefined
}

/** Likewise, of other elements. */
export const overAs = <D extends DType>(
  below: BlockSource,
  { dtype, fillValue, missing, attrs }: Kind<D>,
  layer: Layer<D>,
): BlockSource<D> => {
  const chunks = layer.chunks ?? below.chunks
  return {
    dtype,
    shape: chunks.shape,
    dimensionNames: below.dimensionNames,
    fillValue,
    missing,
    attrs,
    capabilities: below.capabilities ?? {},
    maxElements: below.maxElements,
    budget: below.budget,
    label: below.label ?? {},
    ...layer,
    chunks,
  }
}
