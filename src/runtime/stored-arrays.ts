import { namedAttributes } from '../adapters/zarr/named-attributes.ts'
import { storedAttributes } from '../adapters/zarr/write/array-store.ts'
import type { DiskArray } from '../array/disk-array.ts'
import type { ExportedArray } from './export-zarr.ts'

/** An array with all that is stored beside its elements, as it is written to Zarr. */
export const arrayAsStored = (name: string, array: DiskArray): ExportedArray => ({
  name,
  array,
  // A repeated dimension is written once for each of its axes.
  dimensionNames: array.shape.map((_, axis) => array.dimensionNames?.[axis] || `dim_${axis}`),
  isUnnamed: array.dimensionNames === undefined,
  chunkShape: array.chunks.chunkShape,
  fillValue: array.fillValue,
  attributes: namedAttributes(storedAttributes(array.source)),
})

/** Names of axes; those without one, and of alike ones all but the first, are numbered. */
export function dimensionsOf({ shape, dimensionNames }: DiskArray): string[] {
  return shape.map((_, axis) => {
    const name = dimensionNames?.[axis]
    return name === undefined || name === '' || dimensionNames!.indexOf(name) < axis ? `dim_${axis}` : name
  })
}
