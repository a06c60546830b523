/** Sorted keys. Finds those with a common prefix without a scan of all others. */
export class KeyIndex {
  readonly #keys: readonly string[]

  constructor(keys: Iterable<string>) {
    this.#keys = [...keys].sort()
  }

  /**
   * Returns the keys that begin with a prefix.
   * @param shallow whether to return only the keys in its own folder and the folders in it, which end with a
   *   slash
   */
  below(prefix: string, shallow = false): string[] {
    const found: string[] = []
    for (let at = this.#from(prefix); at < this.#keys.length; ) {
      const key = this.#keys[at]!
      if (!key.startsWith(prefix)) break
      const slash = shallow ? key.indexOf('/', prefix.length) : -1
      found.push(slash < 0 ? key : key.slice(0, slash + 1))
      // '0' is the character after the slash.
      at = slash < 0 ? at + 1 : this.#from(`${key.slice(0, slash)}0`)
    }
    return found
  }

  /** Returns the position of the first key that does not sort before another one. */
  #from(key: string): number {
    let [low, high] = [0, this.#keys.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#keys[middle]! < key) low = middle + 1
      else high = middle
    }
    return low
  }
}
