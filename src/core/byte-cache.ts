/** Statistics of a cache since it was created. */
export interface CacheStats {
  /** Number of lookups that found an entry. */
  readonly hits: number
  /** Number of lookups that found no entry. */
  readonly misses: number
  /** Bytes held now. */
  readonly bytes: number
  /** Number of entries evicted to make room. */
  readonly evictions: number
}

/** Cache of the most recently used entries, up to a number of bytes. */
export class ByteCache<K, V extends { readonly byteLength: number }> {
  /** Least recently used first, because a Map iterates in insertion order. */
  readonly #entries = new Map<K, { readonly value: V; readonly bytes: number }>()
  readonly #maxBytes: number
  #hits = 0
  #misses = 0
  #bytes = 0
  #evictions = 0

  /** @param maxBytes larger values are not cached at all */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Whether a value of this size can be cached. */
  fits(bytes: number): boolean {
    return bytes <= this.#maxBytes
  }

  has(key: K): boolean {
    return this.#entries.has(key)
  }

  get(key: K): V | undefined {
    const value = this.again(key)
    if (value === undefined) this.#misses++
    else this.#hits++
    return value
  }

  /**
   * Same as `get` for a reader that has looked up the key before and waited; not counted in the statistics.
   */
  again(key: K): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  /** Stores a value. Call it again if the value has grown or shrunk. */
  set(key: K, value: V): void {
    this.delete(key)
    const bytes = value.byteLength
    if (!this.fits(bytes)) return
    this.#entries.set(key, { value, bytes })
    this.#bytes += bytes
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) return
      this.delete(oldest)
      this.#evictions++
    }
  }

  clear(): void {
    this.#entries.clear()
    this.#bytes = 0
  }

  get figures(): CacheStats {
    return { hits: this.#hits, misses: this.#misses, bytes: this.#bytes, evictions: this.#evictions }
  }

  delete(key: K): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0
    this.#entries.delete(key)
  }
}
