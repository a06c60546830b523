import { NetCDFReader } from 'netcdfjs'
import type { AsyncBuffer } from '../../core/async-buffer.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { Signal } from '../../core/signal.ts'
import { decodeParsed, type ParsedAttribute } from './attributes.ts'
import { type ClassicType, isClassicType } from './types.ts'

/** Bytes of the first request: enough for most headers. */
const FIRST_PREFIX_BYTES = 64 * 1024
/** Largest header. Larger ones count as damaged, before the parser fills the memory with them. */
const MAX_HEADER_BYTES = 64 * 1024 * 1024

/**
 * The header of a classic file:
 *
 *     'C' 'D' 'F' version | records u32 | dimensions | global attributes | variables
 *
 * Integers are big-endian. Each list is a tag, a count and its items.
 */
export interface ClassicHeader {
  /** Size of the header in bytes, including the magic. */
  readonly byteLength: number
  /**
   * Number of records; undefined if the writer left it open, so that it follows from the size of the file.
   */
  readonly records: number | undefined
  readonly dimensions: readonly { readonly name: string; readonly length: number }[]
  /** Index of the record dimension, which has length 0 in the file. */
  readonly recordId: number | undefined
  readonly attributes: readonly ParsedAttribute[]
  readonly variables: readonly ClassicVariable[]
}

export interface ClassicVariable {
  readonly name: string
  readonly type: ClassicType
  readonly dimensionIds: readonly number[]
  readonly attributes: readonly ParsedAttribute[]
  /** Position of its first value in the file. */
  readonly begin: number
}

/**
 * The used parts of the header that netcdfjs returns. If the file has no such list, the list is missing, not
 * empty.
 */
interface ParsedHeader {
  readonly recordDimension: { readonly length: number }
  readonly dimensions?: readonly { readonly name: string; readonly size: number }[]
  readonly globalAttributes: readonly ParsedAttribute[]
  readonly variables?: readonly {
    readonly name: string
    readonly dimensions: readonly number[]
    readonly attributes: readonly ParsedAttribute[]
    readonly type: string
    readonly offset: number
  }[]
}

/** Number of records, all ones, in a file that was written as a stream. */
const STREAMING = 0xffffffff

/**
 * Reads and parses the header from a prefix of the file. Doubles the prefix until the header fits.
 * @throws FormatError if this is not a classic file, or its header is damaged; UnsupportedError for other
 *   kinds of NetCDF
 */
export async function readHeader(file: AsyncBuffer, signal: Signal | undefined): Promise<ClassicHeader> {
  signal?.throwIfAborted()
  let prefix = await readBytes(file, 0, Math.min(file.byteLength, FIRST_PREFIX_BYTES))
  checkMagic(prefix)
  for (;;) {
    const header = holdsHeader(prefix, file.byteLength) ? parse(prefix) : undefined
    if (header !== undefined) return header
    prefix = await extend(file, prefix, signal)
  }
}

/** Doubles the prefix. Reads only the new half. */
async function extend(file: AsyncBuffer, prefix: Uint8Array, signal: Signal | undefined): Promise<Uint8Array> {
  const have = prefix.length
  if (have === file.byteLength) {
    throw new HyperslabError('FormatError', `the header is truncated: it does not end within the ${have} bytes of the file`, {
      actual: have,
    })
  }
  if (have >= MAX_HEADER_BYTES) {
    throw new HyperslabError('UnsupportedError', `the header does not end within its first ${have} bytes`, { actual: have })
  }
  signal?.throwIfAborted()
  const longer = new Uint8Array(Math.min(file.byteLength, have * 2))
  longer.set(prefix)
  longer.set(await readBytes(file, have, longer.length), have)
  return longer
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
  if (version === 5) {
    throw new HyperslabError(
      'UnsupportedError',
      'a CDF-5 (64-bit data) file; only the classic formats CDF-1 and CDF-2 are read',
      {
        actual: 'CDF-5',
      },
    )
  }
  // A file of three bytes has a truncated header.
  if (version !== undefined && version !== 1 && version !== 2) {
    throw new HyperslabError('FormatError', `not a NetCDF file: CDF is followed by ${version}, not by the version 1 or 2`, {
      actual: version,
      expected: [1, 2],
    })
  }
}

function show(bytes: Uint8Array): string {
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(' ')
  const text = Array.from(bytes, (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join('')
  return `${hex} ("${text}")`
}

/** Parses the header; returns undefined if the prefix ends before it does. */
function parse(prefix: Uint8Array): ClassicHeader | undefined {
  let reader: NetCDFReader
  try {
    reader = new NetCDFReader(prefix)
  } catch (cause) {
    // A DataView throws this beyond its end.
    if (cause instanceof RangeError) return undefined
    const reason = cause instanceof Error ? cause.message : String(cause)
    if (/larger than 4 ?GB/.test(reason)) {
      throw new HyperslabError('UnsupportedError', 'a variable starts beyond 4 GiB, which netcdfjs does not read', { cause })
    }
    throw new HyperslabError('FormatError', `the header is broken: ${reason}`, { cause })
  }
  return check(reader.header as unknown as ParsedHeader, reader.buffer.offset)
}

function check(parsed: ParsedHeader, byteLength: number): ClassicHeader {
  const dimensions = (parsed.dimensions ?? []).map(({ name, size }) => ({ name: decodeParsed(name), length: size }))
  const growing = dimensions.flatMap(({ length }, id) => (length === 0 ? [id] : []))
  if (growing.length > 1) {
    const names = growing.map((id) => dimensions[id]!.name)
    throw new HyperslabError('FormatError', `several record dimensions: ${names.join(', ')}`, { actual: names })
  }
  const [recordId] = growing
  const variables = (parsed.variables ?? []).map((variable): ClassicVariable => {
    const name = decodeParsed(variable.name)
    const fail = (text: string, actual: unknown): never => {
      throw new HyperslabError('FormatError', text, { array: name, actual })
    }
    const type = isClassicType(variable.type) ? variable.type : fail('its type is none of the six classic ones', variable.type)
    variable.dimensions.forEach((id, axis) => {
      if (id >= dimensions.length) fail(`axis ${axis} has dimension ${id} of ${dimensions.length}`, id)
      if (id === recordId && axis > 0) fail(`the record dimension is axis ${axis}, not the first`, axis)
    })
    return { name, type, dimensionIds: variable.dimensions, attributes: variable.attributes, begin: variable.offset }
  })
  const records = parsed.recordDimension.length
  return {
    byteLength,
    records: records === STREAMING ? undefined : records,
    dimensions,
    recordId,
    attributes: parsed.globalAttributes,
    variables,
  }
}

const DIMENSIONS = 10
const VARIABLES = 11
const ATTRIBUTES = 12
/** Bytes of one value of an attribute, by type, from 1 (byte) to 6 (double). */
const TYPE_BYTES = [0, 1, 1, 2, 4, 4, 8]
/**
 * Signals that the prefix ends before the header, or that the header is damaged at a place where the parser
 * stops, too.
 */
const SHORT = Symbol('short')
const BROKEN = Symbol('broken')

/**
 * Whether a prefix of a classic file is safe for the parser, which allocates what counts announce before it
 * checks that the bytes exist. Walks the lists without keeping them.
 * @returns false if the prefix ends before the header does
 * @throws FormatError if a count announces more than the file has bytes for
 */
function holdsHeader(prefix: Uint8Array, fileBytes: number): boolean {
  const view = new DataView(prefix.buffer, prefix.byteOffset, prefix.byteLength)
  // Magic and number of records.
  let at = 8
  const word = (): number => {
    if (at + 4 > prefix.length) throw SHORT
    at += 4
    return view.getUint32(at - 4)
  }
  const count = (leastBytes: number): number => {
    const items = word()
    if (items * leastBytes <= fileBytes - at) return items
    const text = `the header is truncated: it does not end within the ${fileBytes} bytes of the file`
    throw new HyperslabError('FormatError', text, { actual: fileBytes })
  }
  const skip = (bytes: number): void => {
    at += Math.ceil(bytes / 4) * 4
    if (at > prefix.length) throw SHORT
  }
  const list = (tag: number, leastBytes: number, item: () => void): void => {
    const found = word()
    if (found !== tag && found !== 0) throw BROKEN
    // The count of an empty list is 0 in all valid files.
    const items = found === 0 ? 0 * word() : count(leastBytes)
    for (let i = 0; i < items; i++) item()
  }
  const name = (): void => skip(count(1))
  const attributes = (): void =>
    list(ATTRIBUTES, 12, () => {
      name()
      const bytes = TYPE_BYTES[word()]
      if (!bytes) throw BROKEN
      skip(bytes * count(bytes))
    })
  try {
    list(DIMENSIONS, 8, () => {
      name()
      word()
    })
    attributes()
    list(VARIABLES, 28, () => {
      name()
      skip(4 * count(4))
      attributes()
      // Type, size and offset. The offset has 64 bits in version 2.
      skip(prefix[3] === 2 ? 16 : 12)
    })
  } catch (error) {
    if (error === SHORT) return false
    if (error !== BROKEN) throw error
  }
  return true
}

/** @throws InvalidArgumentError unless `file` has a size and a `slice` */
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
 * @throws FormatError if `slice` returns a different number of bytes
 */
export async function readBytes(file: AsyncBuffer, start: number, end: number): Promise<Uint8Array> {
  const slice = await file.slice(start, end)
  const bytes = ArrayBuffer.isView(slice) ? slice : new Uint8Array(slice)
  if (bytes.byteLength !== end - start) {
    throw new HyperslabError(
      'FormatError',
      `reading bytes ${start} to ${end} gave ${bytes.byteLength} bytes, not ${end - start}`,
      {
        actual: bytes.byteLength,
        expected: end - start,
      },
    )
  }
  return bytes
}
