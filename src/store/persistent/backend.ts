/** An entry of a backend. */
export interface StoredEntry {
  readonly name: string
  /** Size in bytes, as stored. */
  readonly bytes: number
  /** Time of the last known use, in ms since 1970. */
  readonly used: number
}

/**
 * Place that stores the entries of a persistent cache. Names are 64 hexadecimal digits. Several processes or
 * tabs may use a place at the same time. Every method may fail. The cache counts a failed read as a miss.
 */
export interface CacheBackend {
  /** Returns an entry as it was written, or undefined if it does not exist. */
  read(name: string): Promise<Uint8Array | undefined>
  /** Writes an entry. Readers see all of it or nothing, even if the writer is killed meanwhile. */
  write(name: string, bytes: Uint8Array): Promise<void>
  /** Removes an entry. A missing entry is no error. */
  remove(name: string): Promise<void>
  /** Returns the entries of all writers. */
  list(): Promise<StoredEntry[]>
  /** Records the time of the last use of each named entry. Entries that no longer exist are ignored. */
  touch(uses: ReadonlyMap<string, number>): Promise<void>
}
