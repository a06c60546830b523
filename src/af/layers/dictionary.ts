import { attributeKey } from '../format/attribute-key.ts'
import type { AttributePairs, AttributeValue, Footer } from '../format/footer.ts'
import type { AttributeMap } from './attributes.ts'

/**
 * Names and values of attributes, to which the entries of a layer refer. A new layer repeats the dictionaries
 * of the layers below and appends its own entries. An index therefore means the same in every layer, and
 * readers that look it up in the wrong layer still get the right value.
 */
export class Dictionary {
  readonly keys: string[]
  readonly values: AttributeValue[]
  readonly #keyIndex: Map<string, number>
  readonly #valueIndex: Map<string, number>

  constructor(keys: readonly string[] = [], values: readonly AttributeValue[] = []) {
    this.keys = [...keys]
    this.values = [...values]
    this.#keyIndex = new Map(keys.map((key, index) => [key, index]))
    this.#valueIndex = new Map(values.map((value, index) => [attributeKey(value), index]))
  }

  /**
   * Returns the dictionary that extends those of all `footers`; `undefined` if two of them contradict each
   * other, which happens in files of other writers.
   */
  static extending(footers: readonly Footer[]): Dictionary | undefined {
    const keyLists = footers.map(({ attributeKeys }) => attributeKeys)
    const valueLists = footers.map(({ attributeValues }) => attributeValues.map(attributeKey))
    const keys = longest(keyLists)
    const longestValues = longest(valueLists)
    if (!keyLists.every((list) => isPrefix(list, keys)) || !valueLists.every((list) => isPrefix(list, longestValues)))
      return undefined
    return new Dictionary(keys, footers[valueLists.indexOf(longestValues)]?.attributeValues ?? [])
  }

  /** Returns the pairs for the attributes of an array. Adds new names and values. */
  add(attributes: AttributeMap): AttributePairs {
    const pairs = [...attributes].map(([name, value]) => [
      intern(this.#keyIndex, this.keys, name, name),
      intern(this.#valueIndex, this.values, attributeKey(value), value),
    ])
    pairs.sort(([a], [b]) => a! - b!)
    const largest = pairs.flat().reduce((a, b) => Math.max(a!, b!), 0)!
    return {
      width: largest <= 0xffff ? 16 : 32,
      keys: pairs.map(([key]) => key!),
      values: pairs.map(([, value]) => value!),
    }
  }
}

function intern<T>(index: Map<string, number>, list: T[], key: string, item: T): number {
  let at = index.get(key)
  if (at === undefined) {
    at = list.push(item) - 1
    index.set(key, at)
  }
  return at
}

const longest = <T>(lists: readonly T[][]): T[] => lists.reduce((a, b) => (b.length > a.length ? b : a), [])

const isPrefix = (list: readonly string[], of: readonly string[]): boolean => list.every((item, i) => item === of[i])
