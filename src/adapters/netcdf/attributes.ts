import { ReadonlyAttributes } from '../../core/attributes.ts'
import { decodeText } from '../../core/characters.ts'
import type { DataOf } from '../../core/dtype.ts'
import { encodeChunk } from '../../engine/write-box.ts'
import { type ClassicDType, NUMERIC_TYPES, type NumericType } from './types.ts'

type NumericList = { [D in ClassicDType]: { type: `${D}[]`; value: DataOf<D> } }[ClassicDType]

/** Value of an attribute: one number is a scalar, several numbers (or none) are a list, text is a string. */
export type NetcdfAttribute = { type: ClassicDType; value: number } | NumericList | { type: 'string'; value: string }

/**
 * An attribute as netcdfjs parses it. `type` is one of the six classic types, because the parser throws for
 * others.
 */
export interface ParsedAttribute {
  readonly name: string
  readonly type: string
  readonly value: string | number | readonly number[]
}

const LISTS = {
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  float32: Float32Array,
  float64: Float64Array,
}

/** Attributes of a NetCDF file or variable, by name. */
export type NetcdfAttributes = ReadonlyAttributes<NetcdfAttribute>

/** Returns the attributes by name. Names are unique in a valid file; otherwise the first one counts. */
export function toAttributes(parsed: readonly ParsedAttribute[]): NetcdfAttributes {
  const attributes = new Map<string, NetcdfAttribute>()
  for (const attribute of parsed) {
    const name = decodeParsed(attribute.name)
    if (!attributes.has(name)) attributes.set(name, toAttribute(attribute))
  }
  return new ReadonlyAttributes(() => attributes)
}

function toAttribute({ type, value }: ParsedAttribute): NetcdfAttribute {
  if (typeof value === 'string') return { type: 'string', value: decodeParsed(value) }
  const dtype = NUMERIC_TYPES[type as NumericType]
  // netcdfjs returns unsigned bytes, always as a list. The typed array restores their sign.
  const list = LISTS[dtype].from(typeof value === 'number' ? [value] : value)
  return list.length === 1 ? { type: dtype, value: list[0]! } : ({ type: `${dtype}[]`, value: list } as NumericList)
}

/** Encodes texts of equal byte lengths, as a chunk of strings is stored. */
export const payloadOfText = (stored: Uint8Array, count: number, encoding?: unknown): Uint8Array => {
  const width = stored.length / count
  return encodeChunk(
    'string',
    Array.from({ length: count }, (_, i) => decodeText(stored.subarray(i * width, (i + 1) * width), encoding)),
  )
}

/**
 * Returns the bytes of a string from netcdfjs. It makes a sign-extended character of each byte: 0xe9 becomes
 * U+FFE9. The array wraps.
 */
export function bytesOfParsed(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0))
}

export const decodeParsed = (text: string): string => decodeText(bytesOfParsed(text))
