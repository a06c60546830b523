import type { Lz4PrefixDecoder } from '../codec/lz4-front.ts'
import { ByteCache, type CacheStats } from '../core/byte-cache.ts'
import { compactBytes } from '../core/bytes.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import { SingleFlight } from '../core/single-flight.ts'
import { readTail, type Store, type Tail } from '../store/store.ts'
import type { BlockRef } from './block.ts'

/** Options of `BlockCache`. */
export interface BlockCacheOptions {
  /** Memory for decoded blocks of which more may be wanted; 128 MiB by default, none with 0. */
  readonly blockBytes?: number
  /** Memory for what was fetched over the network, as it is stored; 32 MiB by default, none with 0. */
  readonly slabBytes?: number
}

/** Figures of a cache: of decoded `blocks`, and of `slabs` as they were fetched. */
export interface BlockCacheStats {
  readonly blocks: CacheStats
  readonly slabs: CacheStats
}

const CHECKS: Checks<BlockCacheOptions> = { blockBytes: 'integer from 0', slabBytes: 'integer from 0' }

const MIB = 2 ** 20

/**
 * Memory that any number of files share: `open(place, { cache })`. What was used last stays, up to a number
 * of bytes of each kind.
 *
 * - Decoded blocks: of the package's own LZ4, blocks are decoded as far as they were read, and count with
 *   what is left to decode.
 * - Slabs: blocks and the ends of files as they came from stores that read many ranges at once (HTTP, S3, R2
 *   and zip archives there), so that a block that had to go, or a file that is opened again, is not fetched
 *   again. Files of this machine are read again instead.
 *
 * Files are told apart by place and version: opened again, one that was not replaced finds what was kept of
 * it, as long as its version is certain. That of a server without strong `ETag` is not, nor that of a local
 * file that was changed just before.
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

  /** @throws InvalidArgumentError for what is no number of bytes */
  constructor(options: BlockCacheOptions = {}) {
    checkOptions('BlockCache', options, CHECKS)
    const { blockBytes = 128 * MIB, slabBytes = 32 * MIB } = options
    this.blocks = new ByteCache(blockBytes)
    this.slabs = new ByteCache(slabBytes)
  }

  /** Figures of both kinds since the cache was made. */
  stats(): BlockCacheStats {
    return { blocks: this.blocks.figures, slabs: this.slabs.figures }
  }

  /** @internal A store whose ends of files are kept, for opening. */
  endsOf(store: Store): Store {
    return keptEnds(this.slabs, store)
  }

  /** Lets go of everything; the figures go on. */
  clear(): void {
    this.blocks.clear()
    this.slabs.clear()
  }
}

/** A block of which more may be wanted: decoded, or as far as it was needed. */
export type Decoded = Uint8Array | Lz4PrefixDecoder

/** What was fetched: a range of a file as stored, or its end. */
export type Slab = Uint8Array | (Tail & { readonly byteLength: number; readonly identity: string })

/** What readers of blocks keep and share. */
export interface BlockMemory {
  readonly blocks: ByteCache<string, Decoded>
  /** Left out where nothing is kept of what was fetched. */
  readonly slabs?: ByteCache<string, Slab> | undefined
  readonly fetches: SingleFlight<string, Uint8Array>
  readonly decodes: SingleFlight<string, Uint8Array | undefined>
}

/** The memory of one file. */
export const memoryOf = (blockBytes: number): BlockMemory => ({
  blocks: new ByteCache(blockBytes),
  fetches: new SingleFlight(),
  decodes: new SingleFlight(),
})

/** Under which a block is kept for all who read the same bytes. */
export function keyOf(block: BlockRef): string {
  const { origin, id, part } = block
  return origin.cacheKey === undefined ? ownKeyOf(block) : `${origin.cacheKey} ${part ? `${id}.${part.number}` : id}`
}

const ownKeys = new WeakMap<BlockRef, string>()

let last = 0

/**
 * A key of this very block: where bytes may still change under the same number, or codecs of other files
 * under the same name.
 */
export function ownKeyOf(block: BlockRef): string {
  const key = ownKeys.get(block) ?? `#${++last}`
  ownKeys.set(block, key)
  return key
}

/**
 * A store as seen by whoever opens layers: the ends of files are kept. One that was kept is good as long as
 * the file is of the same version, which takes a request for that instead of one for the bytes.
 */
function keptEnds(slabs: ByteCache<string, Slab>, store: Store): Store {
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
