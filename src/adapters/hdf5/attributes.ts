import type { NamedValues } from '../../array/source.ts'
import type { DType, FixedDType, TypedArray } from '../../core/dtype.ts'
import { fromBytes, isBigInt } from '../../core/dtype.ts'
import { isHyperslabError } from '../../core/errors.ts'
import { sizeOf } from '../../core/shape.ts'
import { decodeChunk } from '../../engine/chunk-values.ts'
import { type Cursor, copyCursor, damaged, refuse } from './cursor.ts'
import { type ElementPlan, planElements } from './elements/plan.ts'
import { decodeElements, type ValueSource } from './elements/steps.ts'
import { wholeElements } from './fields.ts'
import { LIMITS } from './limits.ts'
import { type Dataspace, parseDataspace } from './messages/dataspace.ts'
import { type Datatype, parseDatatype } from './messages/datatype.ts'
import { MESSAGE } from './object-header.ts'

/** An attribute whose value is not decoded yet. */
export interface StoredAttribute {
  readonly name: string
  readonly type: Datatype
  readonly space: Dataspace
  readonly data: Cursor
}

/** Value of an attribute. One number is a scalar, several (or none) are a list; the same of texts. */
export interface Hdf5Attribute {
  /** Data type, with `[]` for lists. Values that are not read have the class of their type. */
  readonly type: string
  readonly value: unknown
}

/** Types of which values have a type in other formats. */
const TYPED = /^(string|(u?int(8|16|32|64)|float(32|64))(\[\])?)$/

/**
 * Attributes by name. Values are text, numbers, typed arrays and lists of texts. Attributes of other types
 * are `{ type }`, with the name of the class.
 */
export class Hdf5Attributes implements NamedValues, Iterable<[string, unknown]> {
  readonly #map: ReadonlyMap<string, Hdf5Attribute>

  constructor(map: ReadonlyMap<string, Hdf5Attribute>) {
    this.#map = map
  }

  /** Number of attributes. */
  get size(): number {
    return this.#map.size
  }

  /** Returns the value of an attribute; undefined if there is none of this name. */
  get(name: string): unknown {
    return this.#map.get(name)?.value
  }

  /** Whether there is an attribute of this name. */
  has(name: string): boolean {
    return this.#map.has(name)
  }

  /** Returns the names of the attributes. */
  keys(): IterableIterator<string> {
    return this.#map.keys()
  }

  /** Returns a text or numbers with their stored type; undefined for other values. */
  typed(name: string): Hdf5Attribute | undefined {
    const found = this.#map.get(name)
    return found !== undefined && TYPED.test(found.type) ? found : undefined
  }

  /** @internal Returns the attributes without those of some names. */
  without(isLeftOut: (name: string) => boolean): Hdf5Attributes {
    return new Hdf5Attributes(new Map([...this.#map].filter(([name]) => !isLeftOut(name))))
  }

  /** @internal Returns the attributes and some more. */
  with(more: Iterable<[string, Hdf5Attribute]>): Hdf5Attributes {
    return new Hdf5Attributes(new Map([...this.#map, ...more]))
  }

  *[Symbol.iterator](): IterableIterator<[string, unknown]> {
    for (const [name, { value }] of this.#map) yield [name, value]
  }
}

/** Resolves a message that may be stored elsewhere. */
export type SharedResolver = (type: number, data: Cursor) => Promise<Cursor>

/** Parses an attribute message. */
export async function parseAttribute(cursor: Cursor, resolve: SharedResolver): Promise<StoredAttribute> {
  const version = cursor.version('an attribute', [1, 2, 3])
  const flags = cursor.u8()
  const [nameBytes, typeBytes, spaceBytes] = [cursor.u16(), cursor.u16(), cursor.u16()]
  if (version === 3) cursor.skip(1)
  const padded = (bytes: number): number => (version === 1 ? Math.ceil(bytes / 8) * 8 : bytes)
  const name = cursor.text(padded(nameBytes))
  const typeData = cursor.part(padded(typeBytes))
  const spaceData = cursor.part(padded(spaceBytes))
  const isShared = (bit: number): boolean => version > 1 && (flags & bit) !== 0
  const type = parseDatatype(isShared(1) ? await resolve(MESSAGE.datatype, typeData) : typeData)
  const space = parseDataspace(isShared(2) ? await resolve(MESSAGE.dataspace, spaceData) : spaceData)
  return { name, type, space, data: cursor.part(cursor.left) }
}

/** Decodes the value of an attribute. One that is not read becomes `{ type }`. */
export async function decodeAttribute({ type, space, data }: StoredAttribute, source: ValueSource): Promise<Hdf5Attribute> {
  try {
    // The data are read again by others.
    return await decodeValue(type, space, copyCursor(data), source)
  } catch (error) {
    if (!isHyperslabError(error, 'UnsupportedError')) throw error
    return { type: type.kind, value: { type: type.kind } }
  }
}

async function decodeValue(type: Datatype, { shape }: Dataspace, data: Cursor, source: ValueSource): Promise<Hdf5Attribute> {
  const plan = planElements({ type, offset: 0, lengths: [], strides: [] }, type.size)
  const records = shape === undefined ? 0 : sizeOf(shape)
  const bytes = records * type.size
  if (bytes > LIMITS.attributeBytes) refuse(`the attribute has ${bytes} bytes, at most ${LIMITS.attributeBytes} are read`)
  if (bytes > data.left) damaged(`an attribute of ${bytes} bytes has ${data.left}`, data.start, bytes)
  const count = records * sizeOf(plan.innerShape)
  if (plan.target?.kind === 'list' && count !== 1) refuse(`the attribute has ${count} lists of variable length, one is read`)
  const payload = await decodeElements(plan, data.slice(bytes), source)
  const values = decodeChunk(plan.dtype, payload, count)
  if (plan.target?.kind === 'list') {
    const { dtype } = plan.target.items
    return { type: `${dtype}[]`, value: fromBytes(dtype as FixedDType, values[0] as Uint8Array) }
  }
  return toAttribute(plan.dtype, values as ArrayLike<unknown>, count)
}

/** Attributes that name the values of an enumeration (CF 3.5), and those that say the same in another way. */
const FLAGS = ['flag_values', 'flag_meanings', 'flag_masks']
/** Attribute with the type of the numbers in the lists of an array. */
const LIST_TYPE = 'list_type'

/**
 * Returns the attributes of an array with those that its type implies: names of the values of an
 * enumeration, and the type of the numbers in lists. Attributes of the file stay as they are.
 */
export async function withImplied(attrs: Hdf5Attributes, plan: ElementPlan, source: ValueSource): Promise<Hdf5Attributes> {
  const implied: [string, Hdf5Attribute][] = []
  const { flags, target } = plan
  if (flags !== undefined && flags.names.length > 0 && !FLAGS.some((name) => attrs.has(name))) {
    const values = planElements(wholeElements(flags.type), flags.type.size)
    const { dtype } = values
    const payload = await decodeElements(values, flags.values, source)
    const data = decodeChunk(dtype, payload, flags.names.length) as TypedArray
    implied.push(['flag_values', { type: `${dtype}[]`, value: data }])
    // Blanks separate the names.
    const names = flags.names.map((name) => name.replaceAll(/\s+/g, '_'))
    implied.push(['flag_meanings', { type: 'string', value: names.join(' ') }])
  }
  if (target?.kind === 'list' && !attrs.has(LIST_TYPE)) implied.push([LIST_TYPE, { type: 'string', value: target.items.dtype }])
  return implied.length === 0 ? attrs : attrs.with(implied)
}

function toAttribute(dtype: DType, values: ArrayLike<unknown>, count: number): Hdf5Attribute {
  if (dtype === 'string') {
    // No text is an empty one, as netCDF has it.
    if (count <= 1) return { type: 'string', value: count === 1 ? values[0] : '' }
    return { type: 'string[]', value: Array.from(values) }
  }
  if (dtype === 'bool') {
    const bools = Array.from(values, (each) => each !== 0)
    return count === 1 ? { type: 'bool', value: bools[0] } : { type: 'bool[]', value: bools }
  }
  if (count === 1) return { type: dtype, value: values[0] }
  return { type: `${dtype}[]`, value: values as TypedArray }
}

/** Returns numbers that equal one of a type, from an attribute. */
export function attributeNumbersIn(attrs: NamedValues, name: string, dtype: FixedDType): (number | bigint)[] {
  const value = attrs.get(name)
  const list: unknown[] = ArrayBuffer.isView(value) ? Array.from(value as unknown as ArrayLike<unknown>) : [value]
  return list.flatMap((each): (number | bigint)[] => {
    if (typeof each !== 'number' && typeof each !== 'bigint') return []
    if (!isBigInt(dtype)) return typeof each === 'bigint' ? [Number(each)] : [each]
    return typeof each === 'bigint' ? [each] : Number.isSafeInteger(each) ? [BigInt(each)] : []
  })
}
