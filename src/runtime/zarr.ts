/**
 * Zarr stores of version 2 and 3, whose arrays are read as any others.
 * @module hyperslab/zarr
 */

import type { CreateZarrOptions } from '../adapters/zarr/create.ts'
import type { ZarrGroup } from '../adapters/zarr/group.ts'
import type { ZarrVerification } from '../adapters/zarr/verify.ts'
import type { Location } from '../tree/location.ts'
import type { ZarrLocation } from '../tree/open-zarr.ts'
import type { ImportZarrOptions, ZarrImportResult } from './import-zarr.ts'
import type { VerifyZarrOptions } from './verify-zarr.ts'

/**
 * Checks a Zarr store, even if it does not open: the metadata of all nodes at and below the location,
 * consolidated metadata against those of each node, and every stored chunk, which is read and decoded once,
 * with its checksums. Has as many chunks in memory as reads have. If the location can be listed, also reports
 * objects among the chunks that are not chunks.
 * @throws NotFoundError if there is neither a group nor an array; UnsupportedError if the nodes in a group
 *   cannot be listed; ConflictError if a shard is replaced meanwhile; errors of the store
 * @example
 * const { ok, checked } = await verifyZarr('small.zarr')
 * console.log(ok, checked.arrays) // true 4
 */
export async function verifyZarr(location: ZarrLocation, options: VerifyZarrOptions = {}): Promise<ZarrVerification> {
  const { verifyLocation } = await import('./verify-zarr.ts')
  return verifyLocation(location, options)
}

/**
 * Creates an empty group of version 3 at a location, and opens it for writing with `createArray` and
 * `createGroup`. Each written object is visible to other processes at once.
 * @throws AlreadyExistsError if a Zarr array or group exists, unless `overwrite` is set, which replaces it
 *   with all its content; ReadOnlyError for locations that cannot be written to; InvalidArgumentError for
 *   invalid options
 * @example
 * const place = { store: new MemoryStore(), path: 'new.zarr' }
 * const group = await createZarr(place, { attributes: { title: 'Rain' } })
 * const pr = await group.createArray('pr', { dtype: 'float32', shape: [2, 3] })
 * await pr.set(null, [1, 2, 3, 4, 5, 6])
 * console.log(await (await openZarr(place, { kind: 'group' })).arrays()) // [ 'pr' ]
 */
export async function createZarr(location: Location, options: CreateZarrOptions = {}): Promise<ZarrGroup> {
  const { createLocation } = await import('./create-zarr.ts')
  return createLocation(location, options)
}

export type { CreateZarrOptions } from '../adapters/zarr/create.ts'
export type { ZarrArray, ZarrAttributes, ZarrGroup, ZarrLevel, ZarrPyramid } from '../adapters/zarr/group.ts'
export type { OpenZarrOptions, ZarrLimits } from '../adapters/zarr/open.ts'
export type { ReadableStore } from '../adapters/zarr/readable.ts'
export type { NamedArrays } from '../adapters/zarr/write/array-store.ts'
export type { NewAttributes } from '../adapters/zarr/write/document.ts'
export type { NewZarrArray, NewZarrGroup, ZarrCodec } from '../adapters/zarr/write/new-array.ts'
export type { LevelAxis } from '../array/nodes.ts'

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
  const { importStore } = await import('./import-zarr.ts')
  return importStore(source, target, options)
}

export type { ZarrChecked, ZarrFinding, ZarrVerification } from '../adapters/zarr/verify.ts'
export { type ZarritaCodec, type ZarritaCodecEntry, type ZarritaRegistry, zarrCodecs } from '../adapters/zarr/zarrita.ts'
export type { ImportOptions, ImportResult } from '../copy/import-arrays.ts'
export { openZarr, type ZarrLocation, type ZarrOptions } from '../tree/open-zarr.ts'
export { type AsZarrStoreOptions, asZarrStore, type ZarrStoreOfArrays } from './as-zarr-store.ts'
export type { ImportZarrOptions, ZarrImportResult } from './import-zarr.ts'
export type { VerifyZarrOptions } from './verify-zarr.ts'
