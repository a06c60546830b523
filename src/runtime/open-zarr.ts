import type { ZarrArray, ZarrGroup } from '../adapters/zarr/group.ts'
import { type OpenZarrOptions, openNode, ZARR_CHECKS } from '../adapters/zarr/open.ts'
import { isReadable, type ReadableStore, storeOfReadable } from '../adapters/zarr/readable.ts'
import type { ReferencePlace, ReferenceStore } from '../adapters/zarr/references.ts'
import { HyperslabError } from '../core/errors.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import { HttpStore } from '../store/http/http.ts'
import { readWhole, type Store } from '../store/store.ts'
import { type Location, resolveLocation } from './location.ts'

/** A place as `open` takes it, or a store of the shape that zarrita has, which is opened at its root. */
export type ZarrLocation = Location | ReadableStore

/** Options of `openZarr`. */
export interface ZarrOptions extends OpenZarrOptions {
  /**
   * Opens what references (kerchunk's JSON) name by a URL; undefined leaves that to the package, which opens
   * `http:` and `https:`, and files where the JSON is one.
   */
  readonly resolve?: ((url: string) => Location | undefined) | undefined
}

const CHECKS: Checks<ZarrOptions> = { ...ZARR_CHECKS, resolve: 'function' }

/**
 * Opens a Zarr store of version 2 or 3: of a group's place the group, of an array's place the array. A path
 * or URL that ends with `.zip` or `.ozx` is an archive, and what is in it is opened; one that ends with
 * `.json` has references, as kerchunk writes them.
 * @throws NotFoundError; FormatError, UnsupportedError and CodecError when the metadata are damaged, or ask
 *   for what nobody here reads; InvalidArgumentError when something else is there than `kind` says
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
  if (isReadable(location)) return openNode(storeOfReadable(location), '', options)
  const { store, path } = await resolveLocation(location)
  try {
    if (/\.(zip|ozx)$/i.test(path)) {
      const { ZipStore } = await import('../store/zip/zip.ts')
      return await openNode(new ZipStore({ store, path }), '', options)
    }
    if (/(?<!(^|\/)zarr)\.json$/i.test(path)) return await openNode(await storeOfReferences(store, path, options), '', options)
    return await openNode(store, path, options)
  } catch (error) {
    await store.close?.()
    throw error
  }
}

/** Bytes of references that are read: of a million, some 100 MB. They are kept as they are. */
const REFERENCES_BYTES = 256 * 2 ** 20

/** What references in an object of a store name, as a store. */
export async function storeOfReferences(
  store: Store,
  path: string,
  { resolve, limits, signal }: Pick<ZarrOptions, 'resolve' | 'limits' | 'signal'>,
): Promise<ReferenceStore> {
  const file = store.describe(path)
  const maxBytes = limits?.metadataBytes ?? REFERENCES_BYTES
  const found = await readWhole(store, path, { maxBytes, signal })
  if (found === undefined) throw new HyperslabError('NotFoundError', 'there is no such file', { file })
  const { ReferenceStore } = await import('../adapters/zarr/references.ts')
  const place: ReferencePlace = {
    file,
    home: { store, path },
    url: /^https?:/i.test(path) ? path : undefined,
    isLocal: store.localPath !== undefined,
    openHttp: async (query) => new HttpStore({ query }),
    resolve: async (url) => {
      const location = resolve?.(url)
      return location === undefined ? undefined : resolveLocation(location)
    },
  }
  return ReferenceStore.open(found.bytes, place, signal)
}
