import type { DType, ScalarOf } from '../../core/dtype.ts'
import { asShape } from './document.ts'
import { type StoredType, storedAxes, type ZarrArrayMetadata } from './metadata.ts'

/** Name of the axis of length 2 with the real part at 0 and the imaginary part at 1. */
export const COMPLEX_AXIS = 'complex'

/** Type and fill values of a field of a structure. */
export interface Field {
  readonly type: StoredType
  /** Values of the field in an unwritten structure; undefined if the metadata have no fill value. */
  readonly fills: readonly ScalarOf<DType>[] | undefined
}

type Facts = Pick<ZarrArrayMetadata, 'shape' | 'chunks' | 'chunkKey' | 'dimensionNames'>

/**
 * Adds the axes of stored elements at the end of an array.
 * @throws FormatError if it has more than 2^53 values then, or too many axes
 */
export function withInnerAxes(facts: Facts, type: StoredType): Facts {
  const { element } = type
  if (element === undefined) return facts
  const { shape, chunks, chunkKey, dimensionNames } = facts
  const inner = element.shape.map((_, axis) => (element.isComplex && axis === element.shape.length - 1 ? COMPLEX_AXIS : ''))
  return {
    shape: asShape([...shape, ...element.shape], 'shape'),
    chunks: [...chunks, ...element.shape],
    chunkKey: (coords) => chunkKey(storedAxes(coords, type)),
    dimensionNames: dimensionNames || element.isComplex ? [...(dimensionNames ?? shape.map(() => '')), ...inner] : undefined,
  }
}

/** Returns the fill value of an array: one value, or those of a stored element if they differ. */
export function commonFill(fills: readonly ScalarOf<DType>[] | undefined): Pick<ZarrArrayMetadata, 'fillValue' | 'fillValues'> {
  const [first, ...others] = fills ?? []
  const isOne = others.every((value) => Object.is(value, first))
  return isOne ? { fillValue: first } : { fillValue: undefined, fillValues: fills }
}
