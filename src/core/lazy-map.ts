/** The keys of a map, in order. */
type Keys = Pick<ReadonlyMap<string, unknown>, 'has' | 'keys' | 'size'>

/**
 * A map in the order of its keys, whose values are made when they are first asked for. It copies the keys it
 * was given when they are first changed.
 */
export class LazyMap<V extends object> implements ReadonlyMap<string, V> {
  readonly #make: (key: string) => V
  readonly #made = new Map<string, V>()
  #keys: Keys
  /** The keys, if this map owns them. */
  #own: Set<string> | undefined

  /** @param keys must not change */
  constructor(keys: Keys, make: (key: string) => V) {
    this.#keys = keys
    this.#make = make
  }

  get size(): number {
    return this.#keys.size
  }

  has(key: string): boolean {
    return this.#keys.has(key)
  }

  get(key: string): V | undefined {
    const made = this.#made.get(key)
    if (made !== undefined || !this.#keys.has(key)) return made
    const value = this.#make(key)
    this.#made.set(key, value)
    return value
  }

  set(key: string, value: V): this {
    this.#changed().add(key)
    this.#made.set(key, value)
    return this
  }

  delete(key: string): boolean {
    this.#made.delete(key)
    return this.#changed().delete(key)
  }

  keys(): MapIterator<string> {
    return this.#keys.keys()
  }

  *values(): MapIterator<V> {
    for (const key of this.keys()) yield this.get(key)!
  }

  *entries(): MapIterator<[string, V]> {
    for (const key of this.keys()) yield [key, this.get(key)!]
  }

  [Symbol.iterator](): MapIterator<[string, V]> {
    return this.entries()
  }

  forEach(visit: (value: V, key: string, map: ReadonlyMap<string, V>) => void): void {
    for (const [key, value] of this) visit(value, key, this)
  }

  /** Returns the values that were made or set so far, in that order. */
  made(): Iterable<V> {
    return this.#made.values()
  }

  #changed(): Set<string> {
    if (this.#own === undefined) {
      this.#own = new Set(this.#keys.keys())
      this.#keys = this.#own
    }
    return this.#own
  }
}
