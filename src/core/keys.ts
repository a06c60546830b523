/** Keys in order: finds those that begin alike without a look at all others. */
export class KeyIndex {
  readonly #keys: readonly string[]

  constructor(keys: Iterable<string>) {
    this.#keys = [...keys].sort()
  }

  /**
   * Returns the keys that begin with a prefix.
   * @param shallow true for keys of its own folder and the folders in it, these with a slash at their ends
   */
  below(prefix: string, shallow = false): string[] {
    const found: string[] = []
    for (let at = this.#from(prefix); at < this.#keys.length; ) {
      const key = this.#keys[at]!
      if (!key.startsWith(prefix)) break
      const slash = shallow ? key.indexOf('/', prefix.length) : -1
      found.push(slash < 0 ? key : key.slice(0, slash + 1))
      // '0' is the character behind the slash.
      at = slash < 0 ? at + 1 : this.#from(`${key.slice(0, slash)}0`)
    }
    return found
  }

  /** The place of the first key that does not come before another one. */
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
