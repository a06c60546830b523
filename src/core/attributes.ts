import { invalidArgument } from './errors.ts'

/**
 * Attributes by name. `get` returns plain values (text, numbers, typed arrays), `typed` the same with their
 * stored type.
 */
export class ReadonlyAttributes<A extends { readonly value: unknown }> implements Iterable<[string, A['value']]> {
  readonly #map: () => ReadonlyMap<string, A>

  /** @param map returns the current attributes */
  constructor(map: () => ReadonlyMap<string, A>) {
    this.#map = map
  }

  get size(): number {
    return this.#map().size
  }

  /** @throws InvalidArgumentError if the name is not a string, like all methods that take a name */
  /** Returns the value of an attribute; undefined if there is none of this name. */
  get(name: string): A['value'] | undefined {
    return this.typed(name)?.value
  }

  /** Returns the value with its stored type. */
  typed(name: string): A | undefined {
    return this.#map().get(typeof name === 'string' ? name : invalidArgument('the name of an attribute is text', name))
  }

  /** Whether there is an attribute of this name. */
  has(name: string): boolean {
    return this.typed(name) !== undefined
  }

  /** Returns the names of the attributes. */
  keys(): IterableIterator<string> {
    return this.#map().keys()
  }

  *[Symbol.iterator](): IterableIterator<[string, A['value']]> {
    for (const [name, { value }] of this.#map()) yield [name, value]
  }
}
