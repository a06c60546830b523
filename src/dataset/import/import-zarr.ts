import type { Location } from '../../tree/location.ts'
import type { ZarrLocation } from '../../tree/open-zarr.ts'
import type { ImportZarrOptions, ZarrImportResult } from './zarr-source.ts'

/**
 * Copies a Zarr group or array with all its content into a container of a single file. Names of arrays are
 * their paths. Attributes of inner groups become attributes of the container, named by their paths
 * (`sub/title`). The fill value is the missing value; an array without missing elements has no fill value.
 * Numbers in attributes that are written as floats become `float64`; whole numbers become `int32`, `int64`
 * or `uint64`. Objects and lists of mixed types are kept as JSON texts. Attributes that describe the layout
 * of the store (`_ARRAY_DIMENSIONS`, those of NCZarr) are omitted. The container is written under another
 * name in its folder, and appears when it is complete. After an error there is no new container.
 * @throws AlreadyExistsError unless `overwrite` is set; errors of `openZarr`, also for an array that cannot
 *   be read, unless `variables` names others; UnknownArrayError for unknown variables; InvalidArgumentError
 *   for other invalid options; ReadOnlyError
 * @example
 * const { arrays } = await importZarr('small.zarr', 'small.af', { variables: ['blosc'], codec: 'lz4' })
 * console.log(arrays) // [ 'blosc' ]
 */
export async function importZarr(
  source: ZarrLocation,
  target: Location,
  options: ImportZarrOptions = {},
): Promise<ZarrImportResult> {
  // Loaded lazily, so that programs that only read do not load the code for writing.
  const { importStore } = await import('./zarr-source.ts')
  return importStore(source, target, options)
}
