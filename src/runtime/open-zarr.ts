import type { ZarrArray, ZarrGroup } from '../adapters/zarr/group.ts'
import { type OpenZarrOptions, openNode, ZARR_CHECKS } from '../adapters/zarr/open.ts'
import { isReadable, type ReadableStore, storeOfReadable } from '../adapters/zarr/readable.ts'
import { checkOptions } from '../core/options.ts'
import { type Location, resolveLocation } from './location.ts'

/** A place as `open` takes it, or a store of the shape that zarrita has, which is opened at its root. */
export type ZarrLocation = Location | ReadableStore

/**
 * Opens a Zarr store of version 2 or 3: of a group's place the group, of an array's place the array. A path
 * or URL that ends with `.zip` or `.ozx` is an archive, and what is in it is opened.
 * @throws NotFoundError; FormatError, UnsupportedError and CodecError when the metadata are damaged, or ask
 *   for what nobody here reads; InvalidArgumentError when something else is there than `kind` says
 */
export async function openZarr(location: ZarrLocation, options: OpenZarrOptions & { readonly kind: 'group' }): Promise<ZarrGroup>
export async function openZarr(location: ZarrLocation, options: OpenZarrOptions & { readonly kind: 'array' }): Promise<ZarrArray>
export async function openZarr(location: ZarrLocation, options?: OpenZarrOptions): Promise<ZarrGroup | ZarrArray>
export async function openZarr(location: ZarrLocation, options: OpenZarrOptions = {}): Promise<ZarrGroup | ZarrArray> {
  checkOptions('openZarr', options, ZARR_CHECKS)
  if (isReadable(location)) return openNode(storeOfReadable(location), '', options)
  const { store, path } = await resolveLocation(location)
  try {
    if (!/\.(zip|ozx)$/i.test(path)) return await openNode(store, path, options)
    const { ZipStore } = await import('../store/zip/zip.ts')
    return await openNode(new ZipStore({ store, path }), '', options)
  } catch (error) {
    await store.close?.()
    throw error
  }
}
