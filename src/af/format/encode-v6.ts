import { compareCodePoints } from '../../core/text.ts'
import { struct } from '../rkyv/layout.ts'
import { uint32 } from '../rkyv/leaves.ts'
import { vec } from '../rkyv/pointers.ts'
import { type ArchiveWriter, archive, type StoreObject } from '../rkyv/writer.ts'
import { attributeKey } from './attribute-key.ts'
import { FOOTER_FORMS } from './encode.ts'
import type { ArrayMeta, AttributeValue, Footer } from './footer.ts'
import type { PairColumns } from './footer-attributes.ts'
import { type PooledValue, rootLayout6 } from './footer-v6.ts'

/**
 * Returns the payload of a footer of version 6: the same bytes that the crate writes for these arrays. The
 * pools are rebuilt from the attributes of the arrays, so unused entries disappear.
 * @throws InvalidArgumentError if something in the footer does not fit the format
 */
export function encodeFooter6(footer: Footer): Uint8Array {
  const pools = new Pools()
  const arrays = footer.arrays.map((array) => ({
    ...array,
    attributes: pools.pairsOf(array, footer),
    stats: array.stats ?? null,
  })) as unknown as ArrayMeta[]
  const values = pools.values.map((value) => pools.pooled(value))
  const root = { version: 6, blocks: footer.blocks, strings: pools.strings.items, values, arrays }
  return archive(rootLayout6, root, { ...FOOTER_FORMS, pairs: writePairsAsTheyAre })
}

/** Keys are sorted by their texts, not by their indices. */
function writePairsAsTheyAre(to: ArchiveWriter, { keys, values }: PairColumns): StoreObject {
  const pair = struct<{ key: number; value: number }>({ key: uint32, value: uint32 })
  return to.write(
    vec(pair),
    keys.map((key, i) => ({ key, value: values[i]! })),
  )
}

/** Items in the order of their first use, without duplicates. */
class Interned<T> {
  readonly items: T[] = []
  readonly #index = new Map<string, number>()

  /** @param key a text that identifies the item */
  add(item: T, key: string): number {
    const known = this.#index.get(key)
    if (known !== undefined) return known
    const index = this.items.push(item) - 1
    this.#index.set(key, index)
    return index
  }
}

/** The pools of strings and values of a file: keys of all arrays first, then the strings of values. */
class Pools {
  readonly strings = new Interned<string>()
  readonly #values = new Interned<AttributeValue>()

  get values(): readonly AttributeValue[] {
    return this.#values.items
  }

  pairsOf({ attributes }: ArrayMeta, { attributeKeys, attributeValues }: Footer): PairColumns {
    const pairs = attributes.keys.map((key, i) => ({
      key: attributeKeys[key]!,
      value: attributeValues[attributes.values[i]!]!,
    }))
    pairs.sort((a, b) => compareCodePoints(a.key, b.key))
    return {
      keys: pairs.map(({ key }) => this.strings.add(key, key)),
      values: pairs.map(({ value }) => this.#values.add(value, attributeKey(value))),
    }
  }

  /** Returns the value with indices in place of its strings. All keys must be in the pool before. */
  pooled(value: AttributeValue): PooledValue {
    const index = (text: string): number => this.strings.add(text, text)
    if (value.type === 'string') return { type: 'string', value: index(value.value) }
    if (value.type === 'string[]') return { type: 'string[]', value: Uint32Array.from(value.value, index) }
    return value
  }
}
