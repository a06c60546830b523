import { joinBytes } from '../../../core/bytes.ts'
import { sizeOf } from '../../../core/shape.ts'
import { ATTRIBUTES, type ClassicDimension, DIMENSIONS, type HeaderAttribute, VARIABLES } from '../header.ts'
import { padded } from '../layout.ts'
import { type ClassicType, codeOfType, isInAllVersions, TYPE_BYTES } from '../types.ts'

/** Version of the format: CDF-1, CDF-2 (64-bit offsets), or CDF-5 (64-bit offsets and sizes). */
export type NetcdfKind = 1 | 2 | 5

/** A variable to be written. */
export interface NewVariable {
  readonly name: string
  readonly type: ClassicType
  readonly dimensionIds: readonly number[]
  readonly attributes: readonly HeaderAttribute[]
}

/** Content of a file without its elements. */
export interface NewContent {
  /** Dimensions. The length of the record dimension is the number of records. */
  readonly dimensions: readonly ClassicDimension[]
  readonly recordId: number | undefined
  readonly attributes: readonly HeaderAttribute[]
  readonly variables: readonly NewVariable[]
}

/** Sizes of one variable. */
interface Slabs {
  readonly isRecord: boolean
  /** Bytes of the variable, or of one record of it. */
  readonly bytes: number
  /** These bytes with padding. If there is only one record variable, its records have no padding. */
  readonly room: number
}

/** Header of a file, and the sizes of its parts. */
export interface NewLayout {
  readonly kind: NetcdfKind
  readonly header: Uint8Array
  readonly records: number
  /** Sizes of the variables, in the order of the header. */
  readonly slabs: readonly Slabs[]
}

/** Maximum length of a dimension (CDF-1, CDF-2), and maximum size of all variables but the last (CDF-1). */
const MOST_31 = 2 ** 31 - 4
/** Maximum size of all variables but the last (CDF-2). */
const MOST_32 = 2 ** 32 - 4
/** Stored in the field of the size if the variable is too large for it. */
const TOO_LARGE = 2 ** 32 - 1

/**
 * Assigns each variable its place in a file of a kind: first the fixed variables, then the records.
 * @returns a layout, or the reason why the kind cannot hold the content
 */
export function placeVariables(kind: NetcdfKind, content: NewContent): NewLayout | string {
  const { dimensions, recordId, variables } = content
  const misfit = kind === 5 ? undefined : findMisfit(content)
  if (misfit !== undefined) return misfit
  const measured = variables.map(({ type, dimensionIds }) => {
    const isRecord = recordId !== undefined && dimensionIds[0] === recordId
    const lengths = (isRecord ? dimensionIds.slice(1) : dimensionIds).map((id) => dimensions[id]!.length)
    return { isRecord, bytes: sizeOf(lengths) * TYPE_BYTES[type] }
  })
  const slabs = measured.map((each) => ({ ...each, room: padded(each.bytes) }))
  const tooLarge = kind === 5 ? undefined : findTooLarge(slabs, variables, kind === 1 ? MOST_31 : MOST_32)
  if (tooLarge !== undefined) return tooLarge
  const begins = slabs.map(() => 0)
  let at = encodeHeader(kind, content, slabs, begins).length
  for (const growing of [false, true])
    for (const [i, { isRecord, room }] of slabs.entries())
      if (isRecord === growing) {
        begins[i] = at
        at += room
      }
  const far = begins.findIndex((begin) => begin > (kind === 1 ? 2 ** 31 - 1 : Number.MAX_SAFE_INTEGER))
  if (far >= 0) return `the data of '${variables[far]!.name}' begin at byte ${begins[far]}`
  const records = recordId === undefined ? 0 : dimensions[recordId]!.length
  return { kind, header: encodeHeader(kind, content, slabs, begins), records, slabs }
}

/** Returns a text about the first type or length that only CDF-5 can hold; undefined if there is none. */
function findMisfit({ dimensions, attributes, variables }: NewContent): string | undefined {
  for (const { name, length } of dimensions) if (length > MOST_31) return `dimension '${name}' has the length ${length}`
  for (const { name, type } of attributes) if (!isInAllVersions(type)) return `attribute '${name}' has values of ${type}`
  for (const { name, type, attributes } of variables) {
    if (!isInAllVersions(type)) return `'${name}' has values of ${type}`
    const wide = attributes.find((each) => !isInAllVersions(each.type))
    if (wide !== undefined) return `attribute '${wide.name}' of '${name}' has values of ${wide.type}`
  }
  return undefined
}

/** Returns a text about the first variable that is too large. The last one in the file may have any size. */
function findTooLarge(slabs: readonly Slabs[], variables: readonly NewVariable[], most: number): string | undefined {
  const order = [false, true].flatMap((growing) => [...slabs.keys()].filter((i) => slabs[i]!.isRecord === growing))
  const i = order.slice(0, -1).find((i) => slabs[i]!.room > most)
  return i === undefined ? undefined : `'${variables[i]!.name}' takes ${slabs[i]!.room} bytes in front of other variables`
}

/** Encodes the header. Its length does not depend on the offsets in `begins`. */
function encodeHeader(
  kind: NetcdfKind,
  { dimensions, recordId, attributes, variables }: NewContent,
  slabs: readonly Slabs[],
  begins: readonly number[],
): Uint8Array {
  const out = new HeaderBytes(kind)
  out.size(recordId === undefined ? 0 : dimensions[recordId]!.length)
  out.list(DIMENSIONS, dimensions, ({ name, length }, id) => {
    out.name(name)
    out.size(id === recordId ? 0 : length)
  })
  out.attributes(attributes)
  out.list(VARIABLES, variables, ({ name, type, dimensionIds, attributes }, i) => {
    out.name(name)
    out.size(dimensionIds.length)
    for (const id of dimensionIds) out.size(id)
    out.attributes(attributes)
    out.word(codeOfType(type))
    const stored = padded(slabs[i]!.bytes)
    out.size(kind !== 5 && stored > MOST_32 ? TOO_LARGE : stored)
    if (kind === 1) out.word(begins[i]!)
    else out.long(begins[i]!)
  })
  return joinBytes(out.parts)
}

const utf8 = new TextEncoder()

/** Parts of a header. */
class HeaderBytes {
  readonly parts: Uint8Array[]
  readonly #isWide: boolean

  constructor(kind: NetcdfKind) {
    this.parts = [Uint8Array.of(0x43, 0x44, 0x46, kind)]
    this.#isWide = kind === 5
  }

  word(value: number): void {
    const bytes = new Uint8Array(4)
    new DataView(bytes.buffer).setUint32(0, value)
    this.parts.push(bytes)
  }

  long(value: number): void {
    this.word(Math.floor(value / 2 ** 32))
    this.word(value % 2 ** 32)
  }

  /** Adds a count, a length or an index. */
  size(value: number): void {
    if (this.#isWide) this.long(value)
    else this.word(value)
  }

  name(name: string): void {
    const bytes = utf8.encode(name)
    this.size(bytes.length)
    this.#padded(bytes)
  }

  /** Adds a list. An empty list has the tag 0. */
  list<T>(tag: number, items: readonly T[], add: (item: T, index: number) => void): void {
    this.word(items.length === 0 ? 0 : tag)
    this.size(items.length)
    items.forEach(add)
  }

  attributes(attributes: readonly HeaderAttribute[]): void {
    this.list(ATTRIBUTES, attributes, ({ name, type, bytes }) => {
      this.name(name)
      this.word(codeOfType(type))
      this.size(bytes.length / TYPE_BYTES[type])
      this.#padded(bytes)
    })
  }

  #padded(bytes: Uint8Array): void {
    this.parts.push(bytes, new Uint8Array(padded(bytes.length) - bytes.length))
  }
}
