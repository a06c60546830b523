/** Keeps what was used last, up to a number of bytes. */
export class ByteCache<K, V extends { readonly byteLength: number }> {
  /** The least recently used first: a Map iterates in the order of insertion. */
  readonly #entries = new Map<K, V>()
  readonly #maxBytes: number
  #bytes = 0

  /** @param maxBytes what is larger than this is not kept at all */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  has(key: K): boolean {
    return this.#entries.has(key)
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key)
    if (value === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, value)
    return value
  }

  set(key: K, value: V): void {
    this.#drop(key)
    if (value.byteLength > this.#maxBytes) return
    this.#entries.set(key, value)
    this.#bytes += value.byteLength
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) return
      this.#drop(oldest)
    }
  }

  clear(): void {
    this.#entries.clear()
    this.#bytes = 0
  }

  #drop(key: K): void {
    this.#bytes -= this.#entries.get(key)?.byteLength ?? 0
    this.#entries.delete(key)
  }
}
