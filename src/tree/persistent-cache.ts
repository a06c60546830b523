import { HyperslabError } from '../core/errors.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import { BlockCache, type BlockCacheOptions, type BlockCacheStats } from '../engine/block-cache.ts'
import { isBrowser } from '../store/http/fetch.ts'
import type { CacheBackend } from '../store/persistent/backend.ts'
import { BrowserBackend } from '../store/persistent/browser-backend.ts'
import { PersistentEntries, type PersistentStats } from '../store/persistent/entries.ts'
import { FolderBackend } from '../store/persistent/folder-backend.ts'
import { persisted } from '../store/persistent/persisted.ts'
import type { StoredAt } from '../store/store.ts'

/** Options of `PersistentCache`. */
export interface PersistentCacheOptions extends BlockCacheOptions {
  /** Most bytes that are stored; default 256 MiB. The least recently used entries are evicted. */
  readonly maxBytes?: number
  /** Name of the cache in a browser. All tabs of an origin share a cache of one name. Default: `default`. */
  readonly name?: string
  /** Folder of the cache in Node, Deno and Bun, where it is required. Several processes may share it. */
  readonly folder?: string
}

/** Statistics of a persistent cache: of its memory, and of what is stored. */
export interface PersistentCacheStats extends BlockCacheStats {
  /** Statistics of the entries in the browser or the folder. */
  readonly stored: PersistentStats
}

const CHECKS: Checks<PersistentCacheOptions> = {
  blockBytes: 'integer from 0',
  slabBytes: 'integer from 0',
  maxBytes: 'integer from 0',
  name: 'string',
  folder: 'string',
}

const MAX_BYTES = 256 * 2 ** 20

/**
 * Cache that outlives the page or the process: a {@link BlockCache} that also stores fetched bytes, in the
 * Cache API of a browser or in a folder. Pass it as `cache` wherever a `BlockCache` is accepted.
 *
 * - Entries belong to a URL and a strong `ETag`. Opening asks the server for the current version, and a Zarr
 *   store asks for each object, by requests without a body. An object that was replaced is fetched again.
 *   Servers without strong ETags are read as without this cache.
 * - Several tabs or processes may use one cache. Damaged and foreign entries are not read.
 * - Reads do not fail by the cache. Without storage, with a full disk or a refused quota, it keeps what fits,
 *   and `stats().stored.failure` says why.
 * @example
 * const cache = new PersistentCache({ folder: '.cache/hyperslab', maxBytes: 2 ** 30 })
 * await using file = await open('https://data.example.org/climate.af', { cache })
 * console.log(await file.array('tas').get([0, 0, 0])) // 280
 * await cache.flush() // a later process reads the same from the folder
 * console.log(cache.stats().stored.bytes > 0) // true
 */
export class PersistentCache extends BlockCache {
  readonly #entries: PersistentEntries

  /**
   * @throws InvalidArgumentError for invalid sizes, for an empty `folder` or `name`, for both, and without
   *   `folder` outside of browsers
   */
  constructor(options: PersistentCacheOptions = {}) {
    checkOptions('PersistentCache', options, CHECKS)
    const { maxBytes = MAX_BYTES, name, folder, ...memory } = options
    super(memory)
    if (name === '' || folder === '') throw wrong(`\`${name === '' ? 'name' : 'folder'}\` is empty`, '')
    if (name !== undefined && folder !== undefined) throw wrong('`name` is for browsers and `folder` for others; pass one', name)
    this.#entries = new PersistentEntries(openBackend(name, folder), maxBytes)
  }

  /** Returns the statistics since the cache was created. */
  override stats(): PersistentCacheStats {
    return { ...super.stats(), stored: this.#entries.figures }
  }

  /** Waits until the fetched bytes are stored. A page or process that ends before loses some of them. */
  flush(): Promise<void> {
    return this.#entries.flush()
  }

  /** Removes everything from memory and storage, also entries of other tabs; the statistics continue. */
  override clear(): Promise<void> {
    super.clear()
    return this.#entries.clear()
  }

  /** @internal */
  override wrap({ store, path }: StoredAt): StoredAt {
    return { store: persisted(store, this.#entries), path }
  }
}

/** @throws InvalidArgumentError outside of browsers, if no folder is given */
function openBackend(name: string | undefined, folder: string | undefined): () => Promise<CacheBackend> {
  if (folder !== undefined) return async () => new FolderBackend(folder)
  if (!isBrowser()) throw wrong('outside of browsers it stores files: pass `folder`, the path of a folder', folder)
  return () => BrowserBackend.open(name ?? 'default')
}

const wrong = (text: string, actual: unknown): HyperslabError =>
  new HyperslabError('InvalidArgumentError', `PersistentCache: ${text}`, { actual })
