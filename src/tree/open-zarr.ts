import type { ZarrArray, ZarrGroup } from '../adapters/zarr/group.ts'
import { type OpenZarrOptions, openNode, ZARR_CHECKS } from '../adapters/zarr/open.ts'
import { isReadable, type ReadableStore, storeOfReadable } from '../adapters/zarr/readable.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import type { StoredAt } from '../store/store.ts'
import { isZarrFolder, recognise } from './formats.ts'
import { checkUrlOptions, type Location, resolveLocation } from './location.ts'
import { URL_CHECKS, type UrlOptions } from './url-options.ts'

/** A location as for `open`, or a store with the interface of zarrita, which is opened at its root. */
export type ZarrLocation = Location | ReadableStore

/** Options of `openZarr`. */
export interface ZarrOptions extends OpenZarrOptions, UrlOptions {
  /**
   * Maps URLs in kerchunk references to locations. For undefined, the package opens `http:` and `https:` URLs
   * itself, and files if the references are a file.
   */
  readonly resolve?: ((url: string) => Location | undefined) | undefined
}

const CHECKS: Checks<ZarrOptions> = { ...ZARR_CHECKS, ...URL_CHECKS, resolve: 'function' }

/**
 * Opens a Zarr store of version 2 or 3: returns a group or an array, as the location has it. A path or URL
 * that ends with `.zip` or `.ozx` is an archive, whose content is opened. One that ends with `.json` contains
 * kerchunk references.
 * @throws NotFoundError; FormatError, UnsupportedError and CodecError if the metadata are damaged or require
 *   features that are not supported; InvalidArgumentError if the node is not of the given `kind`
 * @example
 * await using group = await openZarr('small.zarr', { kind: 'group' })
 * console.log(await group.arrays()) // [ 'blosc', 'gzip', 'names', 'shards' ]
 * const array = await group.array('blosc', 'float32', 3)
 * console.log(await array.get([4, 6, 5])) // 209.25
 */
export async function openZarr(location: ZarrLocation, options: ZarrOptions & { readonly kind: 'group' }): Promise<ZarrGroup>
export async function openZarr(location: ZarrLocation, options: ZarrOptions & { readonly kind: 'array' }): Promise<ZarrArray>
export async function openZarr(location: ZarrLocation, options?: ZarrOptions): Promise<ZarrGroup | ZarrArray>
export async function openZarr(location: ZarrLocation, options: ZarrOptions = {}): Promise<ZarrGroup | ZarrArray> {
  checkOptions('openZarr', options, CHECKS)
  await checkUrlOptions('openZarr', location, options)
  if (isReadable(location)) return openNode(storeOfReadable(location), '', options)
  const { store, path } = await resolveLocation(location, options)
  try {
    const found = await zarrPlace({ store, path }, options)
    return await openNode(found.store, found.path, options)
  } catch (error) {
    await store.close?.()
    throw error
  }
}

/** Finds the Zarr store at a location, as `openDataset` and the command do. */
async function zarrPlace(place: StoredAt, options: ZarrOptions): Promise<StoredAt> {
  const { format } = await recognise(place, options.signal)
  try {
    return (await format.zarrIn?.(place, options)) ?? place
  } catch (error) {
    // Elsewhere than on this machine, the name alone may have told the format.
    const isFile = format.isFolder || place.store.files?.localPath !== undefined
    if (isFile || !(await isZarrFolder(place, options.signal))) throw error
    return place
  }
}
