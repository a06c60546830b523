import type { Lz4PrefixDecoder } from '../codec/lz4-front.ts'
import { ByteCache, type CacheStats } from '../core/byte-cache.ts'
import { compactBytes } from '../core/bytes.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import { SingleFlight } from '../core/single-flight.ts'
import { type ObjectTail, readTail, type Store, type StoredAt } from '../store/store.ts'
import type { BlockRef } from './block.ts'

/** Options of `BlockCache`. */
export interface BlockCacheOptions {
  /** Memory for decoded blocks that may be read again; default 128 MiB, 0 disables it. */
  readonly blockBytes?: number
  /** Memory for stored bytes fetched over the network; default 32 MiB, 0 disables it. */
  readonly slabBytes?: number
}

/** Statistics of a cache: of decoded `blocks`, and of `slabs` as they were fetched. */
export interface BlockCacheStats {
  readonly blocks: CacheStats
  readonly slabs: CacheStats
}

const CHECKS: Checks<BlockCacheOptions> = { blockBytes: 'integer from 0', slabBytes: 'integer from 0' }

const MIB = 2 ** 20

/**
 * Memory that any number of files share: `open(place, { cache })`. It evicts the least recently used entries
 * beyond a number of bytes of each kind.
 *
 * - Decoded blocks. LZ4 blocks are decoded only as far as they were read; their size includes the stored
 *   rest.
 * - Slabs: stored blocks and the ends of files, as fetched from stores that read many ranges at once (HTTP,
 *   S3, R2 and zip archives there). A block that was evicted, or a file that is opened again, is not fetched
 *   again. Local files are read again instead.
 *
 * Files are identified by place and version. A file that is opened again reuses its cached entries if its
 * version is certain. A version is uncertain if the server sends no strong `ETag`, or if a local file was
 * changed just before.
 * @example
 * const cache = new BlockCache({ blockBytes: 64 * 2 ** 20 })
 * await using file = await open('climate.af', { cache })
 * for (const month of [0, 1]) await file.array('tas').get([month])
 * console.log(cache.stats().blocks.hits) // 1
 */
export class BlockCache {
  /** @internal */
  readonly blocks: BlockMemory['blocks']
  /** @internal */
  readonly slabs: NonNullable<BlockMemory['slabs']>
  /** @internal */
  readonly fetches: BlockMemory['fetches'] = new SingleFlight()
  /** @internal */
  readonly decodes: BlockMemory['decodes'] = new SingleFlight()

  /** @throws InvalidArgumentError if a size is not an integer from 0 */
  constructor(options: BlockCacheOptions = {}) {
    checkOptions('BlockCache', options, CHECKS)
    const { blockBytes = 128 * MIB, slabBytes = 32 * MIB } = options
    this.blocks = new ByteCache(blockBytes)
    this.slabs = new ByteCache(slabBytes)
  }

  /** Returns the statistics of both kinds since the cache was created. */
  stats(): BlockCacheStats {
    return { blocks: this.blocks.figures, slabs: this.slabs.figures }
  }

  /** @internal Returns a place whose reads this cache answers. Optional: only derived classes have it. */
  wrap?(place: StoredAt): StoredAt

  /** @internal Returns a store that caches the ends of files, for opening them. */
  endsOf(store: Store): Store {
    return cachedTails(this.slabs, store)
  }

  /** Evicts everything; the statistics continue. */
  clear(): void {
    this.blocks.clear()
    this.slabs.clear()
  }
}

/** A cached block: decoded, or decoded as far as it was read. */
export type Decoded = Uint8Array | Lz4PrefixDecoder

/** Fetched bytes: a range of a file as stored, or its end. */
export type Slab = Uint8Array | (ObjectTail & { readonly byteLength: number; readonly identity: string })

/** Caches and shared requests of block readers. */
export interface BlockMemory {
  readonly blocks: ByteCache<string, Decoded>
  /** Optional: without it, fetched bytes are not cached. */
  readonly slabs?: ByteCache<string, Slab> | undefined
  readonly fetches: SingleFlight<string, Uint8Array>
  readonly decodes: SingleFlight<string, Uint8Array | undefined>
}

/** Creates the memory of one file. */
export const createMemory = (blockBytes: number): BlockMemory => ({
  blocks: new ByteCache(blockBytes),
  fetches: new SingleFlight(),
  decodes: new SingleFlight(),
})

/** Returns the cache key of a block, shared by all readers of the same bytes. */
export function keyOf(block: BlockRef): string {
  const { origin, id, part } = block
  return origin.cacheKey === undefined ? findOwnKey(block) : `${origin.cacheKey} ${part ? `${id}.${part.number}` : id}`
}

const ownKeys = new WeakMap<BlockRef, string>()

let last = 0

/**
 * Returns a key of this very block. Needed if bytes may still change under the same number, or if codecs of
 * different files share a name.
 */
export function findOwnKey(block: BlockRef): string {
  const key = ownKeys.get(block) ?? `#${++last}`
  ownKeys.set(block, key)
  return key
}

/**
 * Wraps a store so that the ends of files are cached. A cached tail is revalidated by a HEAD request instead
 * of fetched again.
 */
function cachedTails(slabs: ByteCache<string, Slab>, store: Store): Store {
  const { identify } = store
  // As with blocks, caching pays off only for network stores.
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
