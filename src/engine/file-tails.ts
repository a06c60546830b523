import type { ByteCache } from '../core/byte-cache.ts'
import { compactBytes } from '../core/bytes.ts'
import { readTail, type Store } from '../store/store.ts'
import type { Slab } from './block-memory.ts'

/**
 * A store as seen by whoever opens layers: the ends of files are kept. One that was kept is good as long as
 * the file is of the same version, which takes a request for that instead of one for the bytes.
 */
export function keptEnds(slabs: ByteCache<string, Slab>, store: Store): Store {
  const { identify } = store
  // As with blocks, only where fetching takes longer than remembering.
  if (identify === undefined || store.getRanges === undefined) return store
  const identityOf = (key: string, etag: string | undefined): string | undefined =>
    etag === undefined ? undefined : identify.call(store, key, etag)
  return {
    describe: (key) => store.describe(key),
    stat: (key, options) => store.stat(key, options),
    getTail: async (key, length, options) => {
      const name = `end of ${store.describe(key)}, ${length}`
      const kept = slabs.get(name)
      if (kept !== undefined && 'identity' in kept) {
        const identity = identityOf(key, (await store.stat(key, options))?.etag)
        if (identity === kept.identity) return kept
      }
      const tail = await readTail(store, key, length, options)
      const identity = identityOf(key, tail?.etag)
      if (tail !== undefined && identity !== undefined)
        slabs.set(name, { ...tail, bytes: compactBytes(tail.bytes), byteLength: tail.bytes.length, identity })
      return tail
    },
    getRange: async (key, offset, length, options = {}) => {
      const identity = identityOf(key, options.ifMatch)
      const name = `${identity} end ${offset}+${length}`
      const kept = identity === undefined ? undefined : (slabs.get(name) as Uint8Array | undefined)
      if (kept !== undefined) return kept
      const bytes = await store.getRange(key, offset, length, options)
      if (bytes !== undefined && identity !== undefined) slabs.set(name, compactBytes(bytes))
      return bytes
    },
  }
}
