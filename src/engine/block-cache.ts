import { ByteCache, type CacheStats } from '../core/byte-cache.ts'
import { HyperslabError } from '../core/errors.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import { SingleFlight } from '../core/single-flight.ts'
import type { Store } from '../store/store.ts'
import type { BlockMemory } from './block-memory.ts'
import { keptEnds } from './file-tails.ts'

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

const CHECKS: Checks<BlockCacheOptions> = { blockBytes: 'number', slabBytes: 'number' }

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
    for (const [name, bytes] of Object.entries({ blockBytes, slabBytes })) {
      if (Number.isSafeInteger(bytes) && bytes >= 0) continue
      throw new HyperslabError('InvalidArgumentError', `${name} must be an integer from 0, got ${bytes}`, { actual: bytes })
    }
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
