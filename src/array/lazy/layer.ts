import type { DType, ScalarOf } from '../../core/dtype.ts'
import type { BlockSource, Missing, NamedValues } from '../source.ts'

/** What a lazy array says of itself; the rest is as below. */
export type DerivedSource<D extends DType> = Pick<BlockSource<D>, 'readBlock'> &
  Partial<Pick<BlockSource<D>, 'chunks' | 'dimensionNames' | 'capabilities' | 'writeBlock' | 'bulk'>>

/** What a source says of its elements. */
export interface Kind<D extends DType> {
  readonly dtype: D
  readonly fillValue?: ScalarOf<D> | undefined
  readonly missing?: Missing<D> | undefined
  readonly attrs?: NamedValues | undefined
}

/**
 * A lazy source on top of another one: the one place that decides what is passed on. Shape and chunks, names,
 * capabilities, budget, bounds and label are as below unless `layer` has its own, and so is what is said of
 * elements unless they are of another kind. Bulk operations are those of `layer`; without any, nobody knows
 * how many requests reading makes.
 */
export const deriveSource = <D extends DType>(
  below: BlockSource,
  layer: DerivedSource<D>,
  { dtype, fillValue, missing, attrs }: Kind<D> = below as BlockSource<D>,
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
    bulk: { requests: () => undefined },
    ...layer,
    chunks,
  }
}
