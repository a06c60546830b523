import type { AttributeValue } from './footer.ts'

type Value = AttributeValue['value']

/**
 * Values of one attribute by array name, in the order of the arrays. A map of 100 000 names takes 20 times as
 * long to build.
 */
export class AttributeIndex implements ReadonlyMap<string, Value> {
  readonly size: number
  readonly #names: readonly string[]
  /** Index of each name in `names`. */
  readonly #indices: ReadonlyMap<string, number>
  readonly #places: Int32Array
  readonly #values: readonly AttributeValue[]

  /** @param places for each name, the index of its value; -1 for arrays without the attribute */
  constructor(
    names: readonly string[],
    indices: ReadonlyMap<string, number>,
    places: Int32Array,
    values: readonly AttributeValue[],
  ) {
    this.#names = names
    this.#indices = indices
    this.#places = places
    this.#values = values
    let size = 0
    for (let i = 0; i < places.length; i++) if (places[i]! >= 0) size++
    this.size = size
  }

  has(name: string): boolean {
    return this.#placeOf(name) >= 0
  }

  get(name: string): Value | undefined {
    return this.#values[this.#placeOf(name)]?.value
  }

  #placeOf(name: string): number {
    const index = this.#indices.get(name)
    return index === undefined ? -1 : this.#places[index]!
  }

  *keys(): MapIterator<string> {
    for (const [name] of this) yield name
  }

  *values(): MapIterator<Value> {
    for (const [, value] of this) yield value
  }

  *entries(): MapIterator<[string, Value]> {
    for (let i = 0; i < this.#names.length; i++) {
      const place = this.#places[i]!
      if (place >= 0) yield [this.#names[i]!, this.#values[place]!.value]
    }
  }

  [Symbol.iterator](): MapIterator<[string, Value]> {
    return this.entries()
  }

  forEach(visit: (value: Value, name: string, map: ReadonlyMap<string, Value>) => void): void {
    for (const [name, value] of this) visit(value, name, this)
  }
}
