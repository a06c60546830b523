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
  /** Limit of the stored bytes. Default: 256 MiB. Beyond it, the least recently used entries are evicted. */
  readonly maxBytes?: number
  /** Name of the cache in a browser. All tabs of an origin share the cache of a name. Default: `default`. */
  readonly name?: string
  /** Folder of the cache. Required in Node, Deno and Bun. Several processes may share it. */
  readonly folder?: string
}

/** Statistics of a persistent cache: of its memory, and of its stored entries. */
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
 * - Each entry belongs to a URL and a strong `ETag`. Opening a file asks the server for the current version.
 *   In a Zarr store, a HEAD request checks each cached chunk before it is used. A replaced object is fetched
 *   again. Servers without strong ETags are read as if there were no such cache.
 * - Several tabs or processes may use one cache. Damaged entries and other files are ignored.
 * - Reads do not fail because of the cache. If there is no storage, or the storage is full, the cache keeps
 *   as many entries as fit, and `stats().stored.failure` says why.
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
   * @throws InvalidArgumentError for invalid sizes, if `folder` or `name` is empty, if both are passed, and
   *   if `folder` is missing outside of browsers
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

  /** Waits until the fetched bytes are stored. If the page or process ends earlier, some of them are lost. */
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

/** @throws InvalidArgumentError outside of browsers without a folder, and in browsers with one */
function openBackend(name: string | undefined, folder: string | undefined): () => Promise<CacheBackend> {
  if (isBrowser()) {
    if (folder !== undefined) throw wrong('a browser has no folders: pass `name`, or nothing', folder)
    return () => BrowserBackend.open(name ?? 'default')
  }
  if (folder === undefined) throw wrong('outside of browsers it stores files: pass `folder`, the path of a folder', folder)
  return async () => new FolderBackend(folder)
}

const wrong = (text: string, actual: unknown): HyperslabError =>
  new HyperslabError('InvalidArgumentError', `PersistentCache: ${text}`, { actual })
