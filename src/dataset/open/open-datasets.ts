import type { StoredAt } from '../../store/store.ts'
import type { Location } from '../../tree/location.ts'
import type { Dataset, UnknownTypes, VariableTypes } from '../dataset.ts'
import type { OpenDatasetsOptions } from './open-joined.ts'

/**
 * Opens many files as one dataset, joined lazily along a dimension. Each file is decoded by its own
 * attributes first, because months of one series differ in packing and in the origin of times. Files are put
 * in the order of their labels; {@link concatDatasets} describes the properties that must agree. `close`
 * closes all of them. Local files are opened when they are read, and at most 64 of them stay open.
 * @param places list of locations or, where places can be listed, a pattern such as `data/*.nc`
 * @throws errors of `openDataset` and `concatDatasets`; opened files are closed then. For a pattern:
 *   NotFoundError if nothing matches; UnsupportedError for places that cannot be listed
 */
export async function openDatasets<const V extends VariableTypes = UnknownTypes>(
  places: readonly Location[] | string | StoredAt,
  options: OpenDatasetsOptions<V> = {},
): Promise<Dataset<V>> {
  return (await import('./open-joined.ts')).openJoined(places, options) as Promise<Dataset<V>>
}
