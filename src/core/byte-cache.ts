/** Figures of a cache since it was made. */
export interface CacheStats {
  /** Times that something was asked for and there. */
  readonly hits: number
  /** Times that something was asked for and not there. */
  readonly misses: number
  /** Bytes held now. */
  readonly bytes: number
  /** Entries that had to go to make room. */
  readonly evictions: number
}

/** Keeps what was used last, up to a number of bytes. */
export class ByteCache<K, V extends { readonly byteLength: number }> {
  /** The least recently used first: a Map iterates in the order of insertion. */
  readonly #entries = new Map<K, { readonly value: V; readonly bytes: number }>()
  readonly #maxBytes: number
  #hits = 0
  #misses = 0
  #bytes = 0
  #evictions = 0

  /** @param maxBytes what is larger than this is not kept at all */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Whether so many bytes can be kept. */
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

  /** As `get`, for who has asked before and waited: the figures do not count it. */
  again(key: K): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  /** Keeps a value; also to be called when it has grown or shrunk. */
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
