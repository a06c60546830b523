import type { DiskArray } from '../../array/disk-array.ts'
import type { ComplexDType, ZarrArrayMetadata } from './metadata.ts'

/** Facts of complex numbers that floats cannot have. */
export interface ComplexFacts {
  readonly dtype: ComplexDType
  readonly fillValue: readonly [real: number, imaginary: number]
  /** Attributes with pairs, which name missing elements. */
  readonly attributes: ReadonlyMap<string, unknown>
}

/** Attributes whose values are pairs. As attributes of floats, they would name missing parts. */
export const PAIRS: readonly string[] = ['_FillValue', 'missing_value']

/** Returns the facts of an array of Zarr with complex numbers; undefined for other arrays. */
export function complexOf(array: DiskArray | undefined): ComplexFacts | undefined {
  const { metadata } = Object(array) as { metadata?: ZarrArrayMetadata }
  if (!metadata?.type.element?.isComplex) return undefined
  const { fillValue = 0, fillValues = [fillValue, fillValue], attrs, type } = metadata
  return {
    dtype: type.bytes === 4 ? 'complex64' : 'complex128',
    // A field with lists may have more pairs than one.
    fillValue: fillValues.length === 2 ? (fillValues as [number, number]) : [0, 0],
    attributes: new Map(Object.entries(attrs).filter(([name]) => PAIRS.includes(name))),
  }
}
