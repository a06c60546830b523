import { type NamedAttributes, namedAttributes } from '../adapters/zarr/named-attributes.ts'
import { storedAttributes } from '../adapters/zarr/write/array-store.ts'
import { Attributes } from '../af/layers/attributes.ts'
import type { DiskArray } from '../array/disk-array.ts'
import { invalidArgument } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'
import { TypedValue } from '../core/typed-value.ts'
import type { ExportedArray } from './export-zarr.ts'

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
 * Returns the names of axes. Axes without a name are numbered, and so are repeated names except the first.
 */
export function dimensionsOf({ shape, dimensionNames }: DiskArray): string[] {
  return shape.map((_, axis) => {
    const name = dimensionNames?.[axis]
    return name === undefined || name === '' || dimensionNames!.indexOf(name) < axis ? `dim_${axis}` : name
  })
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
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) invalidArgument(`${what} are no JSON object`, given)
  return namedAttributes(parsed as Readonly<Record<string, unknown>>)
}
