import { type ComplexFacts, complexOf } from '../adapters/zarr/complex-array.ts'
import { type NamedAttributes, namedAttributes } from '../adapters/zarr/named-attributes.ts'
import { storedAttributes } from '../adapters/zarr/write/array-store.ts'
import type { PyramidStep } from '../adapters/zarr/write/pyramid.ts'
import { Attributes } from '../af/layers/attributes.ts'
import type { DiskArray } from '../array/disk-array.ts'
import type { Element } from '../array/missing.ts'
import type { DType, ScalarOf } from '../core/dtype.ts'
import { invalidArgument } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'
import { TypedValue } from '../core/typed-value.ts'

export { complexOf }

/** An array to be written. */
export interface ExportedArray {
  /** Path in the target; '' makes the target itself an array. */
  readonly name: string
  /** Stored array. */
  readonly array: DiskArray
  /** One name for each axis. */
  readonly dimensionNames: readonly string[]
  /**
   * Whether the array has no dimension names. The names above are then for options only, and are not written.
   */
  readonly isUnnamed?: boolean
  /** Lengths of its chunks, unless the options have others. */
  readonly chunkShape?: readonly number[] | undefined
  /** Whether the options do not change the lengths of its chunks, as for coordinates. */
  readonly hasOwnChunks?: boolean
  /** Value of missing elements. */
  readonly fill?: Element | undefined
  /** Value that is missing although no attribute names it: `implied` of `Missing`. */
  readonly implied?: Element | undefined
  /** Value of unwritten elements. Default: the value of missing elements. */
  readonly fillValue?: ScalarOf<DType> | undefined
  /** Bytes of its elements held in memory at a time, unless the options set them or a shard is larger. */
  readonly maxBytes?: number
  /** Memory of a read, in multiples of its result. Default: 1. */
  readonly heldTimes?: number
  readonly attributes: ReadonlyMap<string, unknown>
  /** Facts of complex numbers, which Zarr stores as such. Containers store their floats. */
  readonly complex?: ComplexFacts | undefined
  /** For a level of a pyramid: its computation from a finer level. */
  readonly step?: PyramidStep | undefined
}

/** Content to be written. */
export interface ZarrExport {
  readonly attributes: ReadonlyMap<string, unknown>
  readonly arrays: readonly ExportedArray[]
  /** Dimensions that can grow in the source. Most formats have no such dimensions. */
  readonly unlimited?: readonly string[]
  /** Attributes of groups below, by path. Groups that contain arrays exist without attributes, too. */
  readonly groups?: ReadonlyMap<string, ReadonlyMap<string, unknown>>
}

/** Returns an array for Zarr, with all data that are stored beside its elements. */
export const arrayAsStored = (name: string, array: DiskArray): ExportedArray => ({
  name,
  array,
  // A repeated dimension is written once for each of its axes.
  dimensionNames: array.shape.map((_, axis) => array.dimensionNames?.[axis] || `dim_${axis}`),
  isUnnamed: array.dimensionNames === undefined,
  chunkShape: array.chunks.chunkShape,
  fillValue: array.fillValue,
  attributes: namedAttributes(storedAttributes(array)),
  complex: complexOf(array),
})

/**
 * Returns an array for a container, with all data that are stored beside its elements. Attributes of a
 * container keep their types, and none is added, because the fill value declares missing elements.
 */
export function arrayForContainer(name: string, array: DiskArray): ExportedArray {
  const { attrs } = array
  if (!(attrs instanceof Attributes)) return arrayAsStored(name, array)
  return {
    name,
    array,
    dimensionNames: array.shape.map((_, axis) => array.dimensionNames?.[axis] ?? `dim_${axis}`),
    chunkShape: array.chunks.chunkShape,
    fillValue: array.fillValue,
    attributes: new Map([...attrs.keys()].map((key) => [key, new TypedValue(attrs.typed(key)!)])),
  }
}

/**
 * Returns attributes of a group by name.
 * @param given an object, or the JSON text of one, which keeps integers beyond 2^53 and whole floats
 * @throws InvalidArgumentError for text that is not a JSON object
 */
export function groupAttributes(given: string | Readonly<Record<string, unknown>>, path: string): NamedAttributes {
  if (typeof given !== 'string') return namedAttributes(given)
  const what = `the attributes of group '${path}'`
  const parsed = parseJson(given, what)
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    invalidArgument(`${what} are not a JSON object`, given)
  return namedAttributes(parsed as Readonly<Record<string, unknown>>)
}
