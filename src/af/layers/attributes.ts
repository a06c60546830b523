import { ReadonlyAttributes } from '../../core/attributes.ts'
import type { NumericDType } from '../../core/dtype.ts'
import { HyperslabError, invalidArgument, isHyperslabError } from '../../core/errors.ts'
import type { AttributeValue } from '../format/footer.ts'
import { ATTRIBUTE_TYPES, copyAttribute } from '../format/footer-attributes.ts'
import type { LayerEntry } from './stack.ts'

export type AttributeMap = ReadonlyMap<string, AttributeValue>

/** An attribute as a plain JavaScript value. Lists of numbers are typed arrays. */
export type PlainAttribute = AttributeValue['value']

/** A value with its stored type. Lists of numbers may be plain arrays. */
export type TypedAttribute =
  | AttributeValue
  | { readonly type: `${NumericDType}[]`; readonly value: readonly (number | bigint)[] }
  | { readonly type: 'string[]' | 'bool[]' | 'binary[]'; readonly value: readonly unknown[] }

/** Attributes of one array: a map from names to values, committed by the next flush. */
export class Attributes extends ReadonlyAttributes<AttributeValue> {
  readonly #change: () => Map<string, AttributeValue>

  /**
   * @param map returns the current attributes
   * @param change returns them for changing
   */
  constructor(map: () => AttributeMap, change: () => Map<string, AttributeValue>) {
    super(map)
    this.#change = change
  }

  /**
   * Sets an attribute to a copy of a value. Plain values get their natural type: a number becomes `float64`,
   * a bigint `int64` (or `uint64` from 2^63), a typed array the list of its type, a `Uint8Array` binary, a
   * plain list the list of its elements' type (if empty, of strings). `{ type, value }` sets the type.
   * @throws InvalidArgumentError for a value without an attribute type, or not of the given type;
   *   ReadOnlyError
   * @example
   * const file = await create({ store: new MemoryStore(), path: 'a.af' })
   * const { attrs } = file.createArray('x', { dtype: 'int16', shape: [3] })
   * attrs.set('units', 'K').set('scale_factor', { type: 'float32', value: 0.5 })
   * console.log([...attrs.keys()]) // [ 'units', 'scale_factor' ]
   */
  set(name: string, value: PlainAttribute | TypedAttribute | readonly (number | bigint | string | boolean)[]): this {
    if (typeof name !== 'string' || name === '') invalidArgument('an attribute needs a name', name)
    const typed = toAttribute(name, value)
    this.#change().set(name, typed)
    return this
  }

  /**
   * Removes an attribute.
   * @returns whether it existed
   * @throws ReadOnlyError
   */
  delete(name: string): boolean {
    return this.has(name) && this.#change().delete(name)
  }
}

/** Keyed by class names, which are the same in every realm and for subclasses such as Buffer. */
const LISTS: Partial<Record<string, AttributeValue['type']>> = {
  Int8Array: 'int8[]',
  Int16Array: 'int16[]',
  Int32Array: 'int32[]',
  BigInt64Array: 'int64[]',
  Uint8Array: 'binary',
  Uint16Array: 'uint16[]',
  Uint32Array: 'uint32[]',
  BigUint64Array: 'uint64[]',
  Float32Array: 'float32[]',
  Float64Array: 'float64[]',
}

/** Returns a copy of the value, as a read from a file would return it. */
function toAttribute(name: string, value: unknown): AttributeValue {
  const typed = isTyped(value) ? value : natural(value)
  try {
    if (typed !== undefined) return copyAttribute(typed)
  } catch (error) {
    throw isHyperslabError(error) ? new HyperslabError(error.tag, `attribute '${name}': ${error.message}`, error.details) : error
  }
  return invalidArgument(`attribute '${name}' has a value of no attribute type`, value)
}

const isTyped = (value: unknown): value is TypedAttribute =>
  typeof value === 'object' && value !== null && ATTRIBUTE_TYPES.includes((value as AttributeValue).type)

function natural(value: unknown): TypedAttribute | undefined {
  if (typeof value === 'boolean') return { type: 'bool', value }
  if (typeof value === 'number') return { type: 'float64', value }
  if (typeof value === 'bigint') return { type: isUnsigned(value) ? 'uint64' : 'int64', value }
  if (typeof value === 'string') return { type: 'string', value }
  const list = LISTS[Object.prototype.toString.call(value).slice(8, -1)]
  if (list !== undefined) return { type: list, value } as TypedAttribute
  if (!Array.isArray(value)) return undefined
  const all = (type: string): boolean => value.every((each) => typeof each === type)
  if (all('string')) return { type: 'string[]', value }
  if (all('boolean')) return { type: 'bool[]', value }
  if (all('number')) return { type: 'float64[]', value }
  if (all('bigint')) return { type: value.some(isUnsigned) ? 'uint64[]' : 'int64[]', value }
  return { type: 'binary[]', value }
}

const isUnsigned = (value: bigint): boolean => value >= 2n ** 63n

/** End of the warning about ambiguous attributes. */
export const AMBIGUOUS_ATTRIBUTES = 'written by a program that mixes up attributes of several layers; some may be wrong'

/**
 * Resolves the attributes of an array from its entries in the layers, newest first.
 *
 * An entry lists pairs of indices into the dictionaries of its own layer. Some writers, however, copy pairs
 * from the layer below without copying the dictionary entries. Each pair is therefore resolved as follows:
 *
 * - A pair that is new in this layer refers to the dictionaries of this layer.
 * - A copied pair that is out of their range refers to the dictionaries below.
 * - A copied pair that is in range of both is certain if both yield the same.
 *
 * Any other pair is ambiguous. If the entry has no chunks and no pair of its own, this layer is assumed to
 * have set it. `ambiguous` reports that this happened.
 */
export function resolveAttributes(entries: readonly LayerEntry[]): {
  attributes: Map<string, AttributeValue>
  ambiguous: boolean
} {
  const attributes = new Map<string, AttributeValue>()
  let ambiguous = false
  const levels = entries.map((entry) => new Level(entry))
  const { keys, values } = entries[0]!.meta.attributes
  keys.forEach((key, i) => {
    const found = resolvePair(levels, key, values[i]!)
    if (found.attribute === undefined || found.ambiguous) ambiguous = true
    if (found.attribute !== undefined) attributes.set(...found.attribute)
  })
  return { attributes, ambiguous }
}

interface Found {
  readonly attribute: [string, AttributeValue] | undefined
  readonly ambiguous: boolean
}

/**
 * Descends only as far as the layers repeat the pair, so all pairs together take at most as many steps as
 * there are pairs in all layers.
 */
function resolvePair(levels: readonly Level[], key: number, value: number): Found {
  let ambiguous = false
  for (let i = 0; ; i++) {
    const [level, below] = [levels[i]!, levels[i + 1]]
    const here = lookUp(level.entry, key, value)
    if (below === undefined || !below.has(key, value)) return { attribute: here, ambiguous }
    if (here === undefined) continue
    if (below.entry.layer.footer.attributeKeys[key] === here[0]) return { attribute: here, ambiguous }
    ambiguous = true
    if (level.isLocal(below)) return { attribute: here, ambiguous }
  }
}

/** An entry whose pairs are indexed on first use. */
class Level {
  readonly entry: LayerEntry
  #pairs: Map<number, Set<number>> | undefined
  #local: boolean | undefined

  constructor(entry: LayerEntry) {
    this.entry = entry
  }

  has(key: number, value: number): boolean {
    this.#pairs ??= this.#index()
    return this.#pairs.get(key)?.has(value) ?? false
  }

  /** Whether the entry has no chunks, and no pair that is missing in the entry below. */
  isLocal(below: Level): boolean {
    const { chunks, attributes } = this.entry.meta
    this.#local ??= chunks.length === 0 && attributes.keys.every((key, i) => below.has(key, attributes.values[i]!))
    return this.#local
  }

  #index(): Map<number, Set<number>> {
    const pairs = new Map<number, Set<number>>()
    const { keys, values } = this.entry.meta.attributes
    keys.forEach((key, i) => {
      const known = pairs.get(key)
      if (known === undefined) pairs.set(key, new Set([values[i]!]))
      else known.add(values[i]!)
    })
    return pairs
  }
}

function lookUp({ layer }: LayerEntry, key: number, value: number): [string, AttributeValue] | undefined {
  const name = layer.footer.attributeKeys[key]
  const attribute = layer.footer.attributeValues[value]
  return name === undefined || attribute === undefined ? undefined : [name, attribute]
}
