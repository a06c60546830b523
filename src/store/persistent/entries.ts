import { sha256 } from '../../core/sha256.ts'
import { errorCode } from '../fs/errors.ts'
import type { CacheBackend, StoredEntry } from './backend.ts'
import { unwrapEntry, wrapEntry } from './entry.ts'

/** Statistics of the persistent part of a cache since it was created. */
export interface PersistentStats {
  /** Number of lookups that found a valid entry. */
  readonly hits: number
  /** Number of lookups that found no entry, or a damaged one. */
  readonly misses: number
  /** Bytes of all entries when last counted, plus those written since; 0 before the first write. */
  readonly bytes: number
  /** Number of entries evicted to make room. */
  readonly evictions: number
  /** Last failure of the storage, such as a full disk or a denied permission. It makes no read fail. */
  readonly failure?: string | undefined
}

/** Limit of the bytes that wait to be written. Beyond it, a read waits for the writes. */
const MOST_PENDING_BYTES = 32 * 1024 * 1024
/** Number of uses that are recorded together. */
const USES_AT_ONCE = 64
/** Share of the limit down to which entries are evicted. */
const KEPT_SHARE = 0.9
/** Share of the limit. After so many written bytes, the entries of all writers are counted again. */
const RECOUNT_SHARE = 1 / 16

/**
 * Entries of a persistent cache, up to a number of bytes. The least recently used ones are evicted. No method
 * fails: if the backend fails, a read counts as a miss, and a write is dropped.
 */
export class PersistentEntries {
  readonly #open: () => Promise<CacheBackend | undefined>
  /** Maximum of the bytes of all entries. A full disk or a refused quota lowers it. */
  #limit: number
  #backend: Promise<CacheBackend | undefined> | undefined
  /** Queue of writes. They run one after the other, because each first makes room for its entry. */
  #writes: Promise<void> = Promise.resolve()
  #pending = 0
  /** Bytes of all entries when last listed, plus those written since; undefined before the first listing. */
  #bytes: number | undefined
  #sinceListed = 0
  readonly #uses = new Map<string, number>()
  #lastUse = 0
  #hits = 0
  #misses = 0
  #evictions = 0
  #failure: string | undefined

  /**
   * @param open opens the backend on first use; returns undefined if there is none
   * @param maxBytes maximum of the bytes of all entries; a larger entry is not stored
   */
  constructor(open: () => Promise<CacheBackend | undefined>, maxBytes: number) {
    this.#open = open
    this.#limit = maxBytes
  }

  get figures(): PersistentStats {
    const [hits, misses, evictions, failure] = [this.#hits, this.#misses, this.#evictions, this.#failure]
    return { hits, misses, bytes: this.#bytes ?? 0, evictions, ...(failure !== undefined && { failure }) }
  }

  /** Returns the content of an entry; undefined if the entry does not exist or is damaged. */
  async load(key: string): Promise<Uint8Array | undefined> {
    const content = await this.#attempt(async (backend) => {
      const name = await sha256(key)
      const stored = await backend.read(name)
      if (stored === undefined) return undefined
      const found = await unwrapEntry(name, stored)
      if (found === undefined) await backend.remove(name)
      else this.#use(name)
      return found
    })
    if (content === undefined) this.#misses++
    else this.#hits++
    return content
  }

  /** Queues an entry to be stored. Waits only if too many bytes are queued. */
  async save(key: string, content: Uint8Array): Promise<void> {
    if (content.length > this.#limit) return
    // Copied, because the caller may change the bytes.
    const copy = new Uint8Array(content)
    this.#pending += copy.length
    this.#writes = this.#writes.then(async () => {
      await this.#attempt((backend) => this.#write(backend, key, copy))
      this.#pending -= copy.length
    })
    if (this.#pending > MOST_PENDING_BYTES) await this.#writes
  }

  /** Waits for all writes, and records the uses. */
  async flush(): Promise<void> {
    await this.#writes
    await this.#recordUses()
  }

  /** Removes all entries, including those of other writers. */
  async clear(): Promise<void> {
    await this.#writes
    await this.#attempt(async (backend) => {
      for (const { name } of await backend.list()) await backend.remove(name)
      this.#bytes = 0
    })
  }

  async #write(backend: CacheBackend, key: string, content: Uint8Array): Promise<void> {
    const name = await sha256(key)
    const bytes = await wrapEntry(name, content)
    if (bytes.length > this.#limit) return
    if (this.#bytes === undefined || this.#sinceListed > this.#limit * RECOUNT_SHARE) await this.#count(backend)
    if (this.#bytes! + bytes.length > this.#limit) await this.#makeRoom(backend, bytes.length)
    try {
      await backend.write(name, bytes)
    } catch (error) {
      if (!isFull(error)) throw error
      // The storage has less room than the limit. Lowers the limit to the bytes in use, and tries once more.
      this.#limit = Math.max(0, Math.min(this.#limit, (await this.#count(backend)).bytes))
      await this.#makeRoom(backend, bytes.length)
      this.#note(error)
      await backend.write(name, bytes)
    }
    this.#bytes! += bytes.length
    this.#sinceListed += bytes.length
    this.#use(name)
  }

  async #count(backend: CacheBackend): Promise<{ readonly entries: StoredEntry[]; readonly bytes: number }> {
    const entries = await backend.list()
    const bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0)
    this.#bytes = bytes
    this.#sinceListed = 0
    return { entries, bytes }
  }

  /** Evicts the least recently used entries, including those of other writers. */
  async #makeRoom(backend: CacheBackend, wanted: number): Promise<void> {
    await this.#recordUses()
    const { entries } = await this.#count(backend)
    const most = Math.max(0, Math.min(this.#limit * KEPT_SHARE, this.#limit - wanted))
    for (const { name, bytes } of entries.sort((a, b) => a.used - b.used)) {
      if (this.#bytes! <= most) return
      await backend.remove(name)
      this.#bytes! -= bytes
      this.#evictions++
    }
  }

  #use(name: string): void {
    this.#lastUse = Math.max(this.#lastUse + 1, Date.now())
    this.#uses.set(name, this.#lastUse)
    if (this.#uses.size >= USES_AT_ONCE) void this.#recordUses()
  }

  async #recordUses(): Promise<void> {
    const uses = new Map(this.#uses)
    this.#uses.clear()
    if (uses.size > 0) await this.#attempt((backend) => backend.touch(uses))
  }

  /** Runs work on the backend. Returns undefined if the work fails or there is no backend. */
  async #attempt<T>(work: (backend: CacheBackend) => Promise<T>): Promise<T | undefined> {
    try {
      this.#backend ??= this.#open()
      const backend = await this.#backend
      return backend && (await work(backend))
    } catch (error) {
      this.#note(error)
      return undefined
    }
  }

  #note(error: unknown): void {
    this.#failure = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  }
}

/** Whether the error means that a disk is full or a quota is used up. */
const isFull = (error: unknown): boolean =>
  /^(ENOSPC|EDQUOT)$/.test(String(errorCode(error))) || (error as Error | undefined)?.name === 'QuotaExceededError'
