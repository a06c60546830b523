import type { ReferencePlace, ReferenceStore } from '../adapters/zarr/references.ts'
import { HyperslabError } from '../core/errors.ts'
import type { Signal } from '../core/signal.ts'
import { HttpStore } from '../store/http/http.ts'
import type { Store, StoredAt } from '../store/store.ts'
import { readWhole } from '../store/whole.ts'
import { type Location, type LocationOptions, resolveLocation } from './location.ts'

/** Options for opening references. */
export interface ReferenceOptions extends LocationOptions {
  /** Maps URLs in references to locations. Returns undefined for the default behaviour. */
  readonly resolve?: ((url: string) => Location | undefined) | undefined
  readonly limits?: { readonly metadataBytes?: number } | undefined
  /** Cancels the call when it is aborted. */
  readonly signal?: Signal | undefined
  /** Checks the references before they are used. Throws for those that must not be followed. */
  readonly checkReferences?: ((references: ReferenceStore, place: StoredAt) => Promise<void>) | undefined
}

/** Maximum size of references in bytes. A million references take some 100 MB. They are kept unparsed. */
export const REFERENCES_BYTES = 256 * 2 ** 20

/** Returns a store of the objects in references. */
export async function storeOfReferences(
  store: Store,
  path: string,
  { resolve, limits, signal, notFound, cache, checkReferences }: ReferenceOptions,
): Promise<ReferenceStore> {
  const file = store.describe(path)
  if (store.followsReferences === false) {
    const text = 'this worker may touch some places only, and references may name others'
    throw new HyperslabError('InvalidArgumentError', text, { file, actual: file })
  }
  const maxBytes = limits?.metadataBytes ?? REFERENCES_BYTES
  const found = await readWhole(store, path, { maxBytes, signal })
  if (found === undefined) throw new HyperslabError('NotFoundError', 'there is no such file', { file })
  const { ReferenceStore } = await import('../adapters/zarr/references.ts')
  const place: ReferencePlace = {
    file,
    home: { store, path },
    url: /^https?:/i.test(path) ? path : undefined,
    isLocal: store.files?.localPath !== undefined,
    openHttp: async (query) => {
      const http = new HttpStore({ query, ...(notFound && { notFound }) })
      return cache?.wrap?.({ store: http, path: '' }).store ?? http
    },
    resolve: async (url) => {
      const location = resolve?.(url)
      return location === undefined ? undefined : resolveLocation(location, { notFound, cache })
    },
  }
  const references = await ReferenceStore.open(found.bytes, place, signal)
  await checkReferences?.(references, { store, path })
  return references
}
