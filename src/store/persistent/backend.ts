/** An entry of a backend. */
export interface StoredEntry {
  readonly name: string
  /** Size in bytes, as stored. */
  readonly bytes: number
  /** Time of the last known use, in ms since 1970. */
  readonly used: number
}

/**
 * Place that keeps the entries of a persistent cache. Names are 64 hexadecimal digits. Several processes or
 * tabs use a place at once. Every method may fail, which the cache counts as a miss.
 */
export interface CacheBackend {
  /** Returns an entry as it was written; undefined if it does not exist. */
  read(name: string): Promise<Uint8Array | undefined>
  /** Writes an entry. Readers see all of it or none of it, also after the writer was killed. */
  write(name: string, bytes: Uint8Array): Promise<void>
  /** Removes an entry. A missing entry is no error. */
  remove(name: string): Promise<void>
  /** Returns the entries of all writers. */
  list(): Promise<StoredEntry[]>
  /** Records the times of uses, by name. Entries that no longer exist are ignored. */
  touch(uses: ReadonlyMap<string, number>): Promise<void>
}
