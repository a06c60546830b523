import type { AsyncBuffer } from '../../core/async-buffer.ts'
import { decodeText } from '../../core/characters.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { Signal } from '../../core/signal.ts'
import { type ClassicType, TYPE_BYTES, typeOfCode } from './types.ts'

/** Size of the first request in bytes, which is enough for most headers. */
export const FIRST_PREFIX_BYTES = 64 * 1024
/** Maximum size of a header in bytes. A larger one is refused before it fills the memory. */
const MAX_HEADER_BYTES = 64 * 1024 * 1024
/** If data begin at or before this offset, the header is read up to them. Farther data may follow a gap. */
const MAX_LEAP_BYTES = 8 * 1024 * 1024
/** Maximum number of items in a list. A list with more counts as damaged. */
const MAX_ITEMS = 1024 * 1024
/** Maximum number of axes of a variable, as in the netCDF library. */
const MAX_AXES = 1024

/**
 * The header of a classic file:
 *
 *     'C' 'D' 'F' version | records | dimensions | global attributes | variables
 *
 * Integers are big-endian. Each list is a tag, a count and its items. Counts, lengths and sizes have 64 bits
 * in version 5, and 32 bits in versions 1 and 2. Offsets have 64 bits in versions 2 and 5.
 */
export interface ClassicHeader {
  /** Size of the header in bytes, including the magic. */
  readonly byteLength: number
  /**
   * Number of records; undefined if the file does not state it. It then follows from the size of the file.
   */
  readonly records: number | undefined
  readonly dimensions: readonly ClassicDimension[]
  /** Index of the record dimension, whose stored length is 0. */
  readonly recordId: number | undefined
  readonly attributes: readonly HeaderAttribute[]
  readonly variables: readonly ClassicVariable[]
}

export interface ClassicDimension {
  readonly name: string
  readonly length: number
}

/** An attribute with its value as it is stored. */
export interface HeaderAttribute {
  readonly name: string
  readonly type: ClassicType
  readonly bytes: Uint8Array
}

export interface ClassicVariable {
  readonly name: string
  readonly type: ClassicType
  readonly dimensionIds: readonly number[]
  readonly attributes: readonly HeaderAttribute[]
  /** Offset of its first value in the file. If the variable has no elements, it may be invalid. */
  readonly begin: number
}

/** Thrown if the prefix of the file ends before the header does. */
const SHORT = Symbol('short')

/**
 * Reads and parses the header from a prefix of the file. If the header is longer, the prefix is extended to
 * the first known data of a variable. If none are known, or if they are far away, it is doubled.
 * @throws FormatError if this is not a classic file, or its header is damaged; UnsupportedError for other
 *   kinds of NetCDF
 */
export async function readHeader(file: AsyncBuffer, signal: Signal | undefined): Promise<ClassicHeader> {
  signal?.throwIfAborted()
  let prefix = await readBytes(file, 0, Math.min(file.byteLength, FIRST_PREFIX_BYTES))
  checkMagic(prefix)
  for (;;) {
    const parser = new HeaderParser(prefix, file.byteLength)
    const header = parser.tryHeader()
    if (header !== undefined) return header
    prefix = await extend(file, prefix, parser.leastBegin, signal)
  }
}

/**
 * Reads more of the file after the prefix.
 * @param begin offset of data, where the header must have ended; Infinity if it is unknown
 */
async function extend(file: AsyncBuffer, prefix: Uint8Array, begin: number, signal: Signal | undefined): Promise<Uint8Array> {
  const have = prefix.length
  if (have === file.byteLength) throw truncatedHeader(have)
  if (have >= MAX_HEADER_BYTES) {
    throw new HyperslabError('UnsupportedError', `the header does not end within its first ${have} bytes`, { actual: have })
  }
  signal?.throwIfAborted()
  const length = begin <= MAX_LEAP_BYTES ? begin : have * 2
  const longer = new Uint8Array(Math.min(file.byteLength, length))
  longer.set(prefix)
  longer.set(await readBytes(file, have, longer.length), have)
  return longer
}

const truncatedHeader = (fileBytes: number): HyperslabError =>
  new HyperslabError('FormatError', `the header is truncated: it does not end within the ${fileBytes} bytes of the file`, {
    actual: fileBytes,
  })

const broken = (text: string, actual: unknown, expected?: unknown): never => {
  throw new HyperslabError('FormatError', `the header is broken: ${text}`, { actual, expected })
}

function checkMagic(prefix: Uint8Array): void {
  const [a, b, c, version] = prefix
  if (a === 0x89 && b === 0x48 && c === 0x44 && version === 0x46) {
    throw new HyperslabError('UnsupportedError', 'a NetCDF-4 file, which is HDF5 inside; openHdf5 and openDataset read it', {
      actual: 'NetCDF-4',
    })
  }
  if (a !== 0x43 || b !== 0x44 || c !== 0x46) {
    const text = prefix.length === 0 ? 'it is empty' : `it starts with ${show(prefix.subarray(0, 8))}`
    throw new HyperslabError('FormatError', `not a NetCDF file: ${text}`, { actual: [...prefix.subarray(0, 8)], expected: 'CDF' })
  }
  // Without a version byte, the header is truncated, which the parser reports.
  if (version !== undefined && version !== 1 && version !== 2 && version !== 5) {
    throw new HyperslabError('FormatError', `not a NetCDF file: CDF is followed by ${version}, not by the version 1, 2 or 5`, {
      actual: version,
      expected: [1, 2, 5],
    })
  }
}

function show(bytes: Uint8Array): string {
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(' ')
  const text = Array.from(bytes, (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join('')
  return `${hex} ("${text}")`
}

/** Tags of lists in the header. */
export const [DIMENSIONS, VARIABLES, ATTRIBUTES] = [10, 11, 12]

/** Parses a header from a prefix of a file. Private methods throw `SHORT` if the prefix is too short. */
class HeaderParser {
  /** Smallest offset of data after the prefix, among the variables parsed so far. */
  leastBegin = Number.POSITIVE_INFINITY
  readonly #prefix: Uint8Array
  readonly #view: DataView
  readonly #fileBytes: number
  readonly #version: number
  #at = 4

  constructor(prefix: Uint8Array, fileBytes: number) {
    this.#prefix = prefix
    this.#view = new DataView(prefix.buffer, prefix.byteOffset, prefix.byteLength)
    this.#fileBytes = fileBytes
    this.#version = prefix[3]!
  }

  /** Returns the header; undefined if the prefix is too short. */
  tryHeader(): ClassicHeader | undefined {
    let header: ClassicHeader | undefined
    try {
      header = this.#header()
    } catch (error) {
      if (error !== SHORT) throw error
    }
    return header
  }

  #header(): ClassicHeader {
    const records = this.#records()
    const dimensions = distinct(
      'dimensions',
      this.#list('dimensions', DIMENSIONS, 8, () => this.#dimension()),
    )
    const recordId = findRecordId(dimensions)
    const attributes = this.#attributes()
    const all = this.#list('variables', VARIABLES, 28, () => this.#variable(dimensions, recordId))
    const variables = distinct('variables', all)
    return { byteLength: this.#at, records, dimensions, recordId, attributes, variables }
  }

  #take(bytes: number): number {
    const at = this.#at
    if (at + bytes > this.#prefix.length) throw SHORT
    this.#at += bytes
    return at
  }

  #word = (): number => this.#view.getUint32(this.#take(4))
  #long = (): number => Number(this.#view.getBigUint64(this.#take(8)))

  /** Reads a count, a length or an index. */
  #size(): number {
    return this.#version === 5 ? this.#long() : this.#word()
  }

  /** Reads the number of records. A file that was written as a stream has all bits of it set. */
  #records(): number | undefined {
    const open = this.#version === 5 ? 2 ** 64 : 2 ** 32 - 1
    const records = this.#size()
    // As a double, 2^64 - 1 is 2^64, as are the integers near it, which are not valid counts either.
    if (records === open) return undefined
    return Number.isSafeInteger(records) ? records : broken('it has more than 2^53 records', records)
  }

  /**
   * Reads the number of items that follow.
   * @throws FormatError if the file is too short for so many items
   */
  #count(leastBytes: number): number {
    const items = this.#size()
    if (items * leastBytes > this.#fileBytes - this.#at) throw truncatedHeader(this.#fileBytes)
    return items
  }

  #padded(bytes: number): Uint8Array {
    const at = this.#take(Math.ceil(bytes / 4) * 4)
    return this.#prefix.subarray(at, at + bytes)
  }

  /** Reads a list. An absent list has the tag 0 and the count 0. */
  #list<T>(what: string, tag: number, leastBytes: number, item: () => T): T[] {
    const found = this.#word()
    const count = this.#count(leastBytes)
    if (count > 0 && found !== tag) broken(`a list of ${what} has the tag ${found}, not ${tag}`, found, tag)
    if (count > MAX_ITEMS) broken(`a list of ${what} has ${count} items, more than ${MAX_ITEMS}`, count, MAX_ITEMS)
    const items: T[] = []
    for (let i = 0; i < count; i++) items.push(item())
    return items
  }

  /** Reads a name in the normal form NFC. It ends at the first NUL, as in the netCDF library. */
  #name(): string {
    const bytes = this.#padded(this.#count(1))
    const end = bytes.indexOf(0)
    return decodeText(end === -1 ? bytes : bytes.subarray(0, end)).normalize('NFC')
  }

  #dimension(): ClassicDimension {
    const name = this.#name()
    const length = this.#size()
    if (!Number.isSafeInteger(length)) broken(`the dimension ${name} is longer than 2^53`, length)
    return { name, length }
  }

  #type(): ClassicType | number {
    const code = this.#word()
    return typeOfCode(code, this.#version) ?? code
  }

  #attributes(): HeaderAttribute[] {
    return this.#list('attributes', ATTRIBUTES, 12, () => {
      const name = this.#name()
      const type = this.#type()
      if (typeof type === 'number') return broken(`the attribute ${name} has the unknown type ${type}`, type)
      const size = TYPE_BYTES[type]
      return { name, type, bytes: this.#padded(size * this.#count(size)) }
    })
  }

  #variable(dimensions: readonly ClassicDimension[], recordId: number | undefined): ClassicVariable {
    const name = this.#name()
    const fail = (text: string, actual: unknown): never => {
      throw new HyperslabError('FormatError', text, { array: name, actual })
    }
    const rank = this.#count(4)
    if (rank > MAX_AXES) fail(`it has ${rank} axes, more than ${MAX_AXES}`, rank)
    const dimensionIds = Array.from({ length: rank }, () => this.#size())
    dimensionIds.forEach((id, axis) => {
      if (id >= dimensions.length) fail(`axis ${axis} has dimension ${id} of ${dimensions.length}`, id)
      if (id === recordId && axis > 0) fail(`the record dimension is axis ${axis}, not the first`, axis)
    })
    const attributes = this.#attributes()
    const type = this.#type()
    // The stored size overflows for large variables, and some writers store a wrong one.
    this.#size()
    const begin = this.#version === 1 ? this.#word() : this.#long()
    if (begin > this.#prefix.length) this.leastBegin = Math.min(this.leastBegin, begin)
    if (typeof type === 'number') {
      return fail(`its type is none of the ${this.#version === 5 ? 'eleven' : 'six classic'} ones`, type)
    }
    return { name, type, dimensionIds, attributes, begin }
  }
}

/** @throws FormatError if two items have one name, because users could find only one of them */
function distinct<T extends { readonly name: string }>(what: string, items: readonly T[]): readonly T[] {
  const names = new Set<string>()
  for (const { name } of items) {
    if (names.has(name)) broken(`two ${what} have the name '${name}'`, name)
    names.add(name)
  }
  return items
}

function findRecordId(dimensions: readonly ClassicDimension[]): number | undefined {
  const growing = dimensions.flatMap(({ length }, id) => (length === 0 ? [id] : []))
  if (growing.length > 1) {
    const names = growing.map((id) => dimensions[id]!.name)
    throw new HyperslabError('FormatError', `several record dimensions: ${names.join(', ')}`, { actual: names })
  }
  return growing[0]
}

/** @throws InvalidArgumentError if `file` has no `byteLength` or no `slice` */
export function checkAsyncBuffer(file: AsyncBuffer): void {
  const size: unknown = file?.byteLength
  if (Number.isSafeInteger(size) && (size as number) >= 0 && typeof file.slice === 'function') return
  throw new HyperslabError(
    'InvalidArgumentError',
    `a file needs a byteLength and slice(start, end), got byteLength ${String(size)}`,
    {
      actual: size,
    },
  )
}

/**
 * Returns the bytes `[start, end)`.
 * @throws FormatError if the file ends before them, or `slice` returns a different number of bytes
 */
export async function readBytes(file: AsyncBuffer, start: number, end: number): Promise<Uint8Array> {
  const { byteLength } = file
  if (end > byteLength) {
    const text = `the file is truncated: these elements end at byte ${end}, the file has ${byteLength} bytes`
    throw new HyperslabError('FormatError', text, { actual: byteLength, expected: end })
  }
  const slice = await file.slice(start, end)
  const bytes = ArrayBuffer.isView(slice) ? slice : new Uint8Array(slice)
  if (bytes.byteLength !== end - start) {
    throw new HyperslabError(
      'FormatError',
      `reading bytes ${start} to ${end} returned ${bytes.byteLength} bytes instead of ${end - start}`,
      {
        actual: bytes.byteLength,
        expected: end - start,
      },
    )
  }
  return bytes
}
