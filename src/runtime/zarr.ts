/**
 * Zarr stores of version 2 and 3: their arrays, read as any others.
 * @module hyperslab/zarr
 */

import type { CreateZarrOptions } from '../adapters/zarr/create.ts'
import type { ZarrGroup } from '../adapters/zarr/group.ts'
import type { ZarrVerification } from '../adapters/zarr/verify.ts'
import type { Location } from '../tree/location.ts'
import type { ZarrLocation } from '../tree/open-zarr.ts'
import type { ImportedZarr, ImportZarrOptions } from './import-zarr.ts'
import type { VerifyZarrOptions } from './verify-zarr.ts'

/**
 * Looks through a Zarr store, which need not open: metadata of all that is at and below the place, with
 * consolidated ones compared with those of each node, and every chunk that is there, which is read and
 * decoded once, with its checksums. As many chunks are in memory as while reading. Where the place lists,
 * objects among the chunks that are none are warned of, too.
 * @throws NotFoundError when there is neither a group nor an array; UnsupportedError where nobody can tell
 *   what is in a group; ConflictError when a shard is replaced meanwhile; errors of the store
 * @example
 * const { ok, checked } = await verifyZarr('small.zarr')
 * console.log(ok, checked.arrays) // true 4
 */
export async function verifyZarr(location: ZarrLocation, options: VerifyZarrOptions = {}): Promise<ZarrVerification> {
  const { verifyLocation } = await import('./verify-zarr.ts')
  return verifyLocation(location, options)
}

/**
 * Creates an empty group of version 3 at a place, and opens it for writing with `createArray` and
 * `createGroup`. Each written object is visible to other processes at once.
 * @throws AlreadyExistsError if a Zarr array or group exists, unless `overwrite` is set, which replaces it
 *   with all its content; ReadOnlyError for places that cannot be written to; InvalidArgumentError for
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
export type { LevelAxis } from '../adapters/zarr/levels.ts'
export type { OpenZarrOptions, ZarrLimits } from '../adapters/zarr/open.ts'
export type { ReadableStore } from '../adapters/zarr/readable.ts'

export type { NamedArrays } from '../adapters/zarr/write/array-store.ts'

export type { NewAttributes } from '../adapters/zarr/write/document.ts'
export type { NewZarrArray, NewZarrGroup, ZarrCodec } from '../adapters/zarr/write/new-array.ts'

/**
 * Copies a Zarr group or array into a container of a single file, with all that is in it: names of arrays are
 * their paths, attributes of groups below are those of the container, by their paths (`sub/title`). What is
 * missing is the fill value; where nothing is, there is none. Numbers of attributes become `float64`, beyond
 * 2^53 integers; objects and lists of several types are kept as texts of JSON; those that say how the store
 * is laid out (`_ARRAY_DIMENSIONS`, those of NCZarr) are left out. The container is written under another
 * name beside its own and appears when it is finished; after an error there is nothing new.
 * @throws AlreadyExistsError unless `overwrite` is set; what `openZarr` throws, also for an array that cannot
 *   be read, unless `variables` names others; UnknownArrayError for variables that are not there;
 *   InvalidArgumentError for other options that do not fit; ReadOnlyError
 * @example
 * const { arrays } = await importZarr('small.zarr', 'small.af', { variables: ['blosc'], codec: 'lz4' })
 * console.log(arrays) // [ 'blosc' ]
 */
export async function importZarr(source: ZarrLocation, target: Location, options: ImportZarrOptions = {}): Promise<ImportedZarr> {
  // What writes containers is of no use to those who read.
  const { importStore } = await import('./import-zarr.ts')
  return importStore(source, target, options)
}

export type { ZarrChecked, ZarrFinding, ZarrVerification } from '../adapters/zarr/verify.ts'
export { type ZarritaCodec, type ZarritaCodecEntry, type ZarritaRegistry, zarrCodecs } from '../adapters/zarr/zarrita.ts'
export { openZarr, type ZarrLocation, type ZarrOptions } from '../tree/open-zarr.ts'
export { type AsZarrStoreOptions, asZarrStore, type ZarrStoreOfArrays } from './as-zarr-store.ts'
export type { Imported, ImportOptions } from './import-arrays.ts'
export type { ImportedZarr, ImportZarrOptions } from './import-zarr.ts'
export type { VerifyZarrOptions } from './verify-zarr.ts'
