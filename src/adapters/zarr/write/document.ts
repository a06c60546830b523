import { parseSign } from '../../../array/lazy/signs.ts'
import type { NamedValues } from '../../../array/source.ts'
import { encodeBase64 } from '../../../core/base64.ts'
import { type DType, elementBytes, isFixed, isFloat, isNumeric, type ScalarOf } from '../../../core/dtype.ts'
import { HyperslabError, invalidArgument } from '../../../core/errors.ts'
import { floatsIn, MAX_DEPTH, markFloats, withoutMembers, writeJson } from '../../../core/json.ts'
import { member } from '../../../core/member.ts'
import { checkValue } from '../../../core/options.ts'
import { quoted } from '../../../core/quoted.ts'
import type { JsonObject } from '../document.ts'
import type { CodecMetadata, ComplexDType, StoredType } from '../metadata.ts'
import { elementsNamed } from '../missing.ts'
import { NOT_A_TIME } from '../time-units.ts'

/** Content of the metadata of an array of version 3. */
export interface ArrayFacts {
  readonly shape: readonly number[]
  readonly type: StoredType
  /** Lengths of the regular grid: of the shards or, without shards, of the chunks. */
  readonly chunkShape: readonly number[]
  /** Codecs in the order of encoding, as in `ZarrArrayMetadata`. */
  readonly codecs: readonly CodecMetadata[]
  /**
   * Value of all elements of chunks that are not stored; zero if undefined. Complex numbers have a list of
   * both parts.
   */
  readonly fillValue: ScalarOf<DType> | readonly number[] | undefined
  readonly attributes: JsonObject
  /** Names of the axes; '' for an axis without a name. */
  readonly dimensionNames?: readonly string[] | undefined
}

/** Attributes as an object, or as a map by name. */
export type NewAttributes = Readonly<Record<string, unknown>> | NamedValues

/** Returns the `zarr.json` of an array. */
export function arrayDocument(facts: ArrayFacts): JsonObject {
  const { shape, type, chunkShape, codecs, fillValue, attributes, dimensionNames } = facts
  return {
    zarr_format: 3,
    node_type: 'array',
    shape: [...shape],
    data_type: typeDocument(type),
    chunk_grid: { name: 'regular', configuration: { chunk_shape: [...chunkShape] } },
    chunk_key_encoding: { name: 'default', configuration: { separator: '/' } },
    fill_value: fillDocument(fillValue, type),
    codecs: codecs.map(codecDocument),
    attributes: withFillOfSign(attributes, type),
    ...(dimensionNames && { dimension_names: dimensionNames.map((name) => name || null) }),
  }
}

/**
 * Returns the attributes of an array of version 3 with its `_FillValue` in the sign that xarray expects: that
 * of the decoded values for unsigned integers with `_Unsigned` "false", else that of the stored type. xarray
 * opens nothing of a store with another one. Values of `missing_value` that name the same element get the
 * same spelling, because xarray writes no array whose two attributes differ.
 */
export function withFillOfSign(attributes: JsonObject, type: StoredType): JsonObject {
  const unsigned = member(attributes, '_Unsigned')
  if (typeof parseSign(type.dtype, unsigned) !== 'string') return attributes
  const [element] = elementsNamed('_FillValue', attributes, type)
  if (element === undefined) return attributes
  // xarray knows no other spelling of false, and keeps the values unsigned.
  const isSigned = type.kind === 'uint' && unsigned === 'false'
  const fill = isSigned ? toSigned(element as number | bigint, type.bytes!) : element
  const missing = elementsNamed('missing_value', attributes, type)
  const given = attributes['missing_value']
  const list = asElementList(given).map((value, i) => (missing[i] === element ? fill : value))
  const named = missing.includes(element) && { missing_value: Array.isArray(given) ? list : list[0] }
  return markFloats({ ...attributes, _FillValue: fill, ...named }, floatsIn(attributes))
}

const toSigned = (value: number | bigint, bytes: number): number | bigint =>
  typeof value === 'bigint' ? BigInt.asIntN(64, value) : Number(BigInt.asIntN(8 * bytes, BigInt(value)))

/**
 * Returns the `zarr.json` of a group.
 * @param members metadata of all nodes below it, by path, if they are consolidated
 */
export const groupDocument = (attributes: JsonObject, members?: Readonly<Record<string, JsonObject>>): JsonObject => ({
  zarr_format: 3,
  node_type: 'group',
  attributes,
  ...(members && { consolidated_metadata: { kind: 'inline', must_understand: false, metadata: members } }),
})

/** Returns the stored bytes of a document. */
export const encodeDocument = (metadata: JsonObject, end = ''): Uint8Array => new TextEncoder().encode(writeJson(metadata) + end)

/** Returns the default storage of elements of a type. */
export function toStoredType(dtype: DType): StoredType {
  switch (dtype) {
    case 'bool':
      return { dtype, kind: 'bool', bytes: 1 }
    case 'string':
    case 'binary':
      return { dtype, kind: dtype, bytes: undefined }
    case 'timestamp_ns':
      return { dtype, kind: 'datetime', bytes: 8, unit: 'ns' }
    default: {
      const kind = isFloat(dtype) ? 'float' : dtype.startsWith('u') ? 'uint' : 'int'
      return { dtype, kind, bytes: isFixed(dtype) ? elementBytes(dtype) : undefined }
    }
  }
}

/** Returns the codec that converts elements to bytes. Strings and binaries are stored after their lengths. */
export function elementCodec({ kind, bytes }: StoredType): CodecMetadata {
  if (kind === 'string') return { name: 'vlen-utf8', configuration: {} }
  if (kind === 'binary') return { name: 'vlen-bytes', configuration: {} }
  const hasOrder = bytes! > 1 && kind !== 'raw' && kind !== 'fixed-bytes'
  return { name: 'bytes', configuration: hasOrder ? { endian: 'little' } : {} }
}

function typeDocument({ kind, bytes, unit, element }: StoredType): unknown {
  if (element !== undefined) return element.name
  switch (kind) {
    case 'bool':
    case 'string':
      return kind
    case 'int':
    case 'uint':
    case 'float':
    case 'bfloat16':
      return kind === 'bfloat16' ? kind : `${kind}${8 * bytes!}`
    case 'binary':
      return 'variable_length_bytes'
    case 'fixed-text':
      return { name: 'fixed_length_utf32', configuration: { length_bytes: bytes } }
    case 'fixed-bytes':
      return { name: 'null_terminated_bytes', configuration: { length_bytes: bytes } }
    case 'raw':
      return { name: 'raw_bytes', configuration: { length_bytes: bytes } }
    case 'datetime':
    case 'timedelta': {
      const [, multiple, name] = /^(\d*)(.*)$/s.exec(unit!)!
      const configuration = { unit: name, scale_factor: Number(multiple || 1) }
      return { name: kind === 'datetime' ? 'numpy.datetime64' : 'numpy.timedelta64', configuration }
    }
  }
}

/** Returns a fill value as metadata spell it. Default: zero or the empty text of the type. */
export function fillDocument(value: ArrayFacts['fillValue'], { kind, bytes, unit, element }: StoredType): unknown {
  if (element?.isComplex) return ((value ?? [0, 0]) as number[]).map((part) => floatDocument(part, bytes!))
  switch (kind) {
    case 'bool':
      return value ?? false
    case 'int':
    case 'uint':
      return value ?? 0
    case 'float':
    case 'bfloat16':
      return floatDocument((value ?? 0) as number, kind === 'float' ? bytes! : 2)
    case 'datetime':
      if (value !== undefined && value !== NOT_A_TIME && unit !== 'ns')
        throw new HyperslabError('UnsupportedError', `a fill value of times is written in nanoseconds, not in ${unit}`, {
          actual: unit,
        })
      return value === NOT_A_TIME ? 'NaT' : (value ?? 0)
    case 'timedelta':
      return value === NOT_A_TIME ? 'NaT' : (value ?? 0)
    case 'string':
    case 'fixed-text':
      return value ?? ''
    case 'binary':
      return encodeBase64((value ?? new Uint8Array(0)) as Uint8Array)
    case 'fixed-bytes':
    case 'raw':
      return encodeBase64((value ?? new Uint8Array(bytes!)) as Uint8Array)
  }
}

/** Returns a float as JSON. JSON has no infinities and NaN, and parsers turn -0 into an integer. */
function floatDocument(value: number, bytes: number): unknown {
  if (Object.is(value, -0)) return `0x80${'00'.repeat(bytes - 1)}`
  return Number.isFinite(value) ? value : String(value)
}

/** Codecs that version 3 itself defines. Others have the names of numcodecs. */
const OWN = ['bytes', 'transpose', 'blosc', 'gzip', 'zstd', 'crc32c', 'sharding_indexed', 'vlen-utf8', 'vlen-bytes']

function codecDocument({ name, configuration }: CodecMetadata): JsonObject {
  const own = OWN.includes(name) ? name : `numcodecs.${name}`
  return Object.keys(configuration).length === 0 ? { name: own } : { name: own, configuration }
}

/** Returns the codec of shards. Their index is at the end, followed by its checksum. */
export const shardingCodec = (chunkShape: readonly number[], codecs: readonly CodecMetadata[]): CodecMetadata => ({
  name: 'sharding_indexed',
  configuration: {
    chunk_shape: [...chunkShape],
    codecs: codecs.map(codecDocument),
    index_codecs: [{ name: 'bytes', configuration: { endian: 'little' } }, { name: 'crc32c' }],
    index_location: 'end',
  },
})

/** Attributes that describe the layout of an array in another version or format. */
const LAYOUT = /^(_ARRAY_DIMENSIONS|_(NCZARR|nczarr)_.*)$/
/**
 * Attributes that describe how bytes were decoded to text. They are omitted, because Python would decode the
 * text again.
 */
const OF_TEXT = ['_FillValue', '_Encoding']

/**
 * Returns the attributes of an array of version 3 as JSON. Omits those that would be wrong there: the layout
 * in another format and, for text, the attributes that described its decoding.
 * @throws InvalidArgumentError for values that JSON cannot express
 */
export function arrayAttributes(attributes: NewAttributes | undefined, dtype: DType | ComplexDType): JsonObject {
  const all = attributesDocument(attributes, dtype)
  return withoutMembers(all, (name) => LAYOUT.test(name) || (dtype === 'string' && OF_TEXT.includes(name)))
}

/**
 * Returns attributes as JSON: lists for typed arrays, and texts for NaN and infinities, which JSON does not
 * have. Numbers with a type of floats stay floats: `10.0`. For an array of floats, the attribute `_FillValue`
 * is the base64 of a little-endian float64, as xarray reads it. For complex numbers it is a pair of these.
 * @param dtype data type of the array; undefined for attributes of a group
 * @param stored attributes that the array has already
 * @throws InvalidArgumentError for values that JSON cannot express, and for a `_FillValue` that is no element
 *   of the type, with which xarray opens nothing of the store
 */
export function attributesDocument(
  attributes: NewAttributes = {},
  dtype?: DType | ComplexDType,
  stored: JsonObject = {},
): JsonObject {
  const floats: string[] = []
  const entries = checkedEntries(attributes)
  const unsigned = entries.find(([name]) => name === '_Unsigned')?.[1] ?? member(stored, '_Unsigned')
  const json = Object.fromEntries(
    entries.map(([name, value]) => {
      if (name === '_FillValue' && dtype !== undefined) {
        if (isComplexDType(dtype)) return [name, pairAttribute(value, dtype)]
        if (isNumeric(dtype)) return [name, fillAttribute(value, dtype, unsigned)]
      }
      const isFloats = isOfFloats(attributes, name)
      if (isFloats) floats.push(name)
      const made = attributeDocument(name, value)
      return [name, isFloats && Array.isArray(made) ? markFloats(made, made.keys()) : made]
    }),
  )
  return markFloats(json, floats)
}

const asElementList = (value: unknown): readonly unknown[] =>
  ArrayBuffer.isView(value) || Array.isArray(value) ? Array.from(value as ArrayLike<unknown>) : [value]

/**
 * Returns the element that `_FillValue` names, as the attribute spells it.
 * @param unsigned value of `_Unsigned`, by which the value may have the other sign
 * @throws InvalidArgumentError unless it is one element of the type
 */
function fillAttribute(value: unknown, dtype: DType, unsigned: unknown): unknown {
  const elements = elementsNamed('_FillValue', { _FillValue: asElementList(value), _Unsigned: unsigned }, toStoredType(dtype))
  if (elements.length === 1 && elements[0] !== undefined) return missingDocument(elements[0], dtype)
  const text = `the attribute '_FillValue' is one ${dtype} value, got ${asElementList(value).map(quoted).join(', ') || 'an empty list'}`
  throw new HyperslabError('InvalidArgumentError', text, { actual: value, expected: dtype })
}

const isComplexDType = (dtype: DType | ComplexDType): dtype is ComplexDType => dtype.startsWith('complex')

/**
 * Returns the complex number that `_FillValue` names, as the attribute spells it.
 * @throws InvalidArgumentError unless it is a pair of numbers
 */
function pairAttribute(value: unknown, dtype: ComplexDType): unknown {
  const pair = asElementList(value)
  const parts = elementsNamed('_FillValue', { _FillValue: pair }, toStoredType('float64'))
  if (parts.length === 2 && !parts.includes(undefined)) return parts.map((part) => missingDocument(part!, 'float64'))
  const text = `the attribute '_FillValue' is the real and the imaginary part of one ${dtype} value, got ${pair.map(quoted).join(', ') || 'an empty list'}`
  throw new HyperslabError('InvalidArgumentError', text, { actual: value, expected: dtype })
}

/**
 * Returns the attributes of a source with a `_FillValue` that Zarr can hold: its first value that is an
 * element of the type, converted if `_Unsigned` gives it the other sign. `missing_value` names the other
 * numbers. Text that names no element is omitted.
 */
export function withOneFill(attributes: NewAttributes | undefined, dtype: DType): NewAttributes | undefined {
  if (attributes === undefined || !isNumeric(dtype)) return attributes
  const entries = new Map(checkedEntries(attributes))
  if (!entries.has('_FillValue')) return attributes
  const given = asElementList(entries.get('_FillValue'))
  const named = { _FillValue: given, _Unsigned: entries.get('_Unsigned') }
  const elements = elementsNamed('_FillValue', named, toStoredType(dtype))
  const first = elements.findIndex((element) => element !== undefined)
  if (first < 0) entries.delete('_FillValue')
  else entries.set('_FillValue', elements[first])
  const others = given.filter((value, i) => i !== first && (typeof value === 'number' || typeof value === 'bigint'))
  const missing = entries.get('missing_value')
  if (others.length > 0)
    entries.set('missing_value', [
      ...(missing === undefined || typeof missing === 'string' ? [] : asElementList(missing)),
      ...others,
    ])
  const floats = [...entries.keys()].filter((name) => isOfFloats(attributes, name))
  return markFloats(entries, others.length > 0 && isFloat(dtype) ? [...floats, 'missing_value'] : floats)
}

/** Whether an attribute has a type of floats, or was written as one. */
function isOfFloats(attributes: NewAttributes, name: string): boolean {
  const { typed } = attributes as { typed?: unknown }
  const type =
    isNamed(attributes) && typeof typed === 'function' ? (attributes as unknown as TypedNames).typed(name)?.type : undefined
  return type === undefined ? floatsIn(attributes).has(name) : String(type).startsWith('float')
}

interface TypedNames {
  typed(name: string): { readonly type?: unknown } | undefined
}

function isNamed(attributes: NewAttributes): attributes is NamedValues {
  const { keys, get } = attributes as { keys?: unknown; get?: unknown }
  return typeof keys === 'function' && typeof get === 'function'
}

/** Returns the names of attributes with their values. */
export const checkedEntries = (attributes: NewAttributes): [string, unknown][] => {
  checkValue('updateAttributes', 'attributes', attributes, 'object')
  if (!isNamed(attributes)) return Object.entries(attributes)
  return [...attributes.keys()].map((name) => [name, attributes.get(name)])
}

/** Returns the value of the attribute `_FillValue` for missing elements. Bytes become base64, too. */
export function missingDocument(value: ScalarOf<DType>, dtype: DType): unknown {
  if (dtype === 'binary') return encodeBase64(value as Uint8Array)
  if (!isFloat(dtype)) return attributeDocument('_FillValue', value)
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setFloat64(0, value as number, true)
  return encodeBase64(bytes)
}

function attributeDocument(name: string, value: unknown, depth = 0): unknown {
  if (depth > MAX_DEPTH)
    invalidArgument(`the attribute '${name}' nests deeper than ${MAX_DEPTH} levels, or contains itself`, value)
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    const list = Array.from(value as unknown as ArrayLike<number | bigint>, (each) => attributeDocument(name, each))
    return /^Float/.test(Object.prototype.toString.call(value).slice(8)) ? markFloats(list, list.keys()) : list
  }
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? value : String(value)
    case 'string':
    case 'boolean':
    case 'bigint':
      return value
    case 'object':
      if (value === null) return null
      if (Array.isArray(value))
        return markFloats(
          value.map((each) => attributeDocument(name, each, depth + 1)),
          floatsIn(value),
        )
      if (Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null)
        return markFloats(
          Object.fromEntries(Object.entries(value).map(([key, each]) => [key, attributeDocument(name, each, depth + 1)])),
          floatsIn(value),
        )
  }
  throw new HyperslabError('InvalidArgumentError', `the attribute '${name}' has no form in JSON`, { actual: value })
}
