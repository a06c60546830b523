import type { DType } from '../../core/dtype.ts'
import { member } from '../../core/member.ts'
import { asLength, asObject, asText, badMetadata, type JsonObject, showJson, unsupported } from './document.ts'
import type { StoredType } from './metadata.ts'
import { TIME_UNITS, timeScale } from './time-units.ts'

/** Type of an array of version 2, with the byte order of its elements. */
export interface TypeV2 {
  readonly type: StoredType
  /** Byte order; undefined if elements have none. */
  readonly endian: 'little' | 'big' | undefined
}

/** Longest element of a fixed length, in bytes. */
const MAX_ELEMENT_BYTES = 2 ** 24
const MAX_MULTIPLE = 2 ** 31

const NUMBERS: Readonly<Record<string, StoredType>> = {
  bool: { dtype: 'bool', kind: 'bool', bytes: 1 },
  int8: { dtype: 'int8', kind: 'int', bytes: 1 },
  int16: { dtype: 'int16', kind: 'int', bytes: 2 },
  int32: { dtype: 'int32', kind: 'int', bytes: 4 },
  int64: { dtype: 'int64', kind: 'int', bytes: 8 },
  uint8: { dtype: 'uint8', kind: 'uint', bytes: 1 },
  uint16: { dtype: 'uint16', kind: 'uint', bytes: 2 },
  uint32: { dtype: 'uint32', kind: 'uint', bytes: 4 },
  uint64: { dtype: 'uint64', kind: 'uint', bytes: 8 },
  float16: { dtype: 'float32', kind: 'float', bytes: 2 },
  float32: { dtype: 'float32', kind: 'float', bytes: 4 },
  float64: { dtype: 'float64', kind: 'float', bytes: 8 },
  bfloat16: { dtype: 'float32', kind: 'bfloat16', bytes: 2 },
}
const STRING: StoredType = { dtype: 'string', kind: 'string', bytes: undefined }
const BINARY: StoredType = { dtype: 'binary', kind: 'binary', bytes: undefined }

const LETTERS: Readonly<Record<string, string>> = { b: 'bool', i: 'int', u: 'uint', f: 'float' }
/** Codecs that convert objects to bytes, with the resulting type. */
const OBJECT_CODECS: Readonly<Record<string, StoredType>> = { 'vlen-utf8': STRING, 'vlen-bytes': BINARY }

/**
 * Parses the type of an array of version 2, as numpy writes it.
 * @param codecs ids of its filters and compressor. For objects they determine the type
 * @throws UnsupportedError for objects that are neither text nor bytes, and for types that `elements.ts`
 *   parses; FormatError for an invalid type
 */
export function parseTypeV2(value: unknown, codecs: readonly string[]): TypeV2 {
  if (Array.isArray(value)) return unsupported(`structures are read field by field: ${showJson(value)}`, value)
  const text = asText(value, 'dtype')
  if (text === 'bfloat16') return { type: NUMBERS['bfloat16']!, endian: 'little' }
  const [, order, letter, size = '', unit] = /^([<>|=])?([a-zA-Z])(\d*)(?:\[(.*)\])?$/.exec(text) ?? noType(value)
  const endian = order === '>' ? 'big' : 'little'
  if (unit !== undefined && !/[mM]/.test(letter!)) noType(value)
  switch (letter) {
    case 'b':
    case 'i':
    case 'u':
    case 'f': {
      const bytes = Number(size)
      const name = LETTERS[letter]! + (letter === 'b' ? '' : 8 * bytes)
      const type = NUMBERS[name] ?? unknown(name, value)
      if (type.bytes !== bytes) noType(value)
      return { type, endian: bytes > 1 ? endian : undefined }
    }
    case 'M':
    case 'm':
      if (size !== '8') noType(value)
      return { type: timeType(letter === 'M', unit ?? 'generic'), endian }
    case 'S':
      return { type: fixed('fixed-bytes', 'binary', size, 1, value), endian: undefined }
    case 'U':
      return { type: fixed('fixed-text', 'string', size, 4, value), endian }
    case 'V':
      return { type: fixed('raw', 'binary', size, 1, value), endian: undefined }
    case 'O':
      return { type: objectType(codecs), endian: undefined }
    case 'c':
      return unknown(text, value)
    default:
      return noType(value)
  }
}

/**
 * Parses the type of an array of version 3: a name, or an object with a name and a configuration.
 * @throws UnsupportedError for unknown types, and as {@link parseTypeV2}; FormatError
 */
export function parseTypeV3(name: string, configuration: JsonObject): StoredType {
  const known = Object.hasOwn(NUMBERS, name) ? NUMBERS[name] : undefined
  if (known !== undefined) return known
  const bits = /^r(\d+)$/.exec(name)?.[1]
  if (bits !== undefined) {
    if (Number(bits) % 8 !== 0) badMetadata(`raw types have a multiple of 8 bits, got ${name}`, name)
    return fixed('raw', 'binary', Number(bits) / 8, 1, name)
  }
  const lengthIn = (): unknown => member(configuration, 'length_bytes')
  switch (name) {
    case 'string':
      return STRING
    case 'bytes':
    case 'variable_length_bytes':
      return BINARY
    case 'fixed_length_utf32': {
      const bytes = asLength(lengthIn(), `length_bytes of ${name}`)
      if (bytes % 4 !== 0) badMetadata(`length_bytes of ${name} must be a multiple of 4, got ${bytes}`, bytes)
      return fixed('fixed-text', 'string', bytes / 4, 4, bytes)
    }
    case 'null_terminated_bytes':
      return fixed('fixed-bytes', 'binary', lengthIn(), 1, lengthIn())
    case 'raw_bytes':
      return fixed('raw', 'binary', lengthIn(), 1, lengthIn())
    case 'numpy.datetime64':
    case 'numpy.timedelta64': {
      const unit = asText(member(configuration, 'unit'), `unit of ${name}`)
      const multiple = asLength(member(configuration, 'scale_factor') ?? 1, `scale_factor of ${name}`)
      return timeType(name === 'numpy.datetime64', multiple === 1 ? unit : `${multiple}${unit}`)
    }
    default:
      return unknown(name, name)
  }
}

/** Parses the name and configuration of an extension: only a name, or an object. */
export function parseNamed(value: unknown, what: string): { readonly name: string; readonly configuration: JsonObject } {
  if (typeof value === 'string') return { name: value, configuration: {} }
  const object = asObject(value, what)
  const name = asText(member(object, 'name'), `the name of ${what}`)
  for (const key of Object.keys(object))
    if (!/^(name|configuration|must_understand)$/.test(key)) unsupported(`${what} '${name}' has an unknown member: '${key}'`, key)
  return { name, configuration: asObject(member(object, 'configuration') ?? {}, `the configuration of ${what} '${name}'`) }
}

function objectType(codecs: readonly string[]): StoredType {
  for (const id of codecs) if (Object.hasOwn(OBJECT_CODECS, id)) return OBJECT_CODECS[id]!
  const text = `objects are read where vlen-utf8 or vlen-bytes stores them; here ${codecs.join(', ') || 'no codec'} does`
  return unsupported(text, codecs)
}

/**
 * Returns the type of times. Datetimes are read as nanoseconds since 1970, timedeltas as integers in their
 * unit.
 */
function timeType(isDate: boolean, unit: string): StoredType {
  const [, multiple = '', name = ''] = /^(\d*)(.*)$/s.exec(unit)!
  const isValid = TIME_UNITS.includes(name) && (multiple === '' || (Number(multiple) >= 1 && Number(multiple) < MAX_MULTIPLE))
  if (!isValid) badMetadata(`times have one of the units ${TIME_UNITS.join(', ')} and a multiple of it, got ${unit}`, unit)
  if (!isDate) return { dtype: 'int64', kind: 'timedelta', bytes: 8, unit }
  timeScale(unit)
  return { dtype: 'timestamp_ns', kind: 'datetime', bytes: 8, unit }
}

function fixed(kind: StoredType['kind'], dtype: DType, count: unknown, width: number, given: unknown): StoredType {
  const length = typeof count === 'string' ? Number(count) : asLength(count, 'the length of a type')
  if (length < 1 || !(length * width <= MAX_ELEMENT_BYTES))
    badMetadata(`elements of a fixed length have 1 to ${MAX_ELEMENT_BYTES} bytes, got ${showJson(given)}`, given)
  return { dtype, kind, bytes: length * width }
}

const unknown = (name: string, given: unknown): never => unsupported(`the data type '${name}' cannot be read`, given)

const noType = (given: unknown): never => badMetadata(`${showJson(given)} is not a data type of Zarr version 2`, given)
