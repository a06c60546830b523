import { decodeBase64 } from '../../core/base64.ts'
import { type DType, isBigInt, type ScalarOf, toElement } from '../../core/dtype.ts'
import { isHyperslabError } from '../../core/errors.ts'
import { withoutNuls } from '../../core/text.ts'
import { badMetadata, showJson } from './document.ts'
import type { StoredType } from './metadata.ts'
import { NOT_A_TIME, toNanoseconds } from './time-units.ts'

type Scalar = ScalarOf<DType>

const DECIMAL = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/
const WORDS: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
}

/**
 * Converts a fill value of metadata to an element of the type, in any of its spellings; undefined for null.
 * @throws FormatError if it is not a value of the type
 */
export function parseFillValue(value: unknown, type: StoredType): Scalar | undefined {
  if (value === null || value === undefined) return undefined
  const refuse = (): never => badMetadata(`the fill value ${showJson(value)} is not a value of ${typeName(type)}`, value)
  switch (type.kind) {
    case 'bool':
      return value === true || value === 1 ? true : value === false || value === 0 ? false : refuse()
    case 'int':
    case 'uint':
      return toInteger(type.dtype, parseInteger(value) ?? refuse(), refuse)
    case 'float':
    case 'bfloat16':
      return roundTo(type, parseFloating(value, type) ?? refuse())
    case 'datetime':
    case 'timedelta': {
      const time = value === 'NaT' ? NOT_A_TIME : toInteger('int64', parseInteger(value) ?? refuse(), refuse)
      return type.kind === 'datetime' ? toNanoseconds(time as bigint, type.unit!) : time
    }
    case 'string':
    case 'fixed-text': {
      // zarr-python writes 0 for strings without a fill value, and reads it as text.
      const text = typeof value === 'string' ? value : Number.isInteger(value) ? String(value) : refuse()
      return type.kind === 'string' ? text : fixedText(text, type.bytes! / 4)
    }
    case 'binary':
      return parseBytes(value) ?? refuse()
    case 'fixed-bytes':
    case 'raw':
      return fixedBytes(parseBytes(value) ?? refuse(), type)
  }
}

/** Rounds a float to its stored precision. */
export function roundTo({ kind, bytes }: StoredType, value: number): number {
  if (kind === 'bfloat16') return roundToBits(value, 8, -126, 127)
  return bytes === 8 ? value : bytes === 4 ? Math.fround(value) : roundToBits(value, 11, -14, 15)
}

/**
 * Rounds half to even, to a number of significant bits and a range of exponents. Larger values become
 * infinite.
 */
function roundToBits(value: number, bits: number, least: number, most: number): number {
  if (value === 0 || !Number.isFinite(value)) return value
  // The exponent of subnormal numbers is clamped, because they share the least one.
  const exponent = Math.max(least, findExponent(Math.abs(value)))
  const unit = 2 ** (exponent - bits + 1)
  const rounded = roundHalfEven(value / unit) * unit
  return Math.abs(rounded) >= 2 ** (most + 1) ? Math.sign(value) * Number.POSITIVE_INFINITY : rounded
}

const findExponent = (magnitude: number): number => {
  const estimate = Math.floor(Math.log2(magnitude))
  // Next to powers of two the logarithm may be off by one.
  return magnitude < 2 ** estimate ? estimate - 1 : magnitude >= 2 ** (estimate + 1) ? estimate + 1 : estimate
}

function roundHalfEven(value: number): number {
  const below = Math.floor(value)
  const rest = value - below
  return rest > 0.5 || (rest === 0.5 && below % 2 !== 0) ? below + 1 : below
}

/** Parses an integer: a number, an exact bigint, or text. */
function parseInteger(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : undefined
  return typeof value === 'string' && /^[+-]?\d{1,40}$/.test(value) ? BigInt(value.replace(/^\+/, '')) : undefined
}

/** Parses a float: a number, its name, text, or all its bits in hexadecimal. */
function parseFloating(value: unknown, { kind, bytes }: StoredType): number | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return Number(value)
  if (typeof value !== 'string') return undefined
  if (Object.hasOwn(WORDS, value)) return WORDS[value]
  if (DECIMAL.test(value)) return Number(value)
  const bits = /^0x([0-9a-f]+)$/i.exec(value)?.[1]
  // Fewer or more digits than the type has are those of another type.
  if (bits?.length !== 2 * bytes!) return undefined
  const view = new DataView(new ArrayBuffer(8))
  view.setBigUint64(0, BigInt(`0x${bits.padEnd(16, '0')}`))
  if (bytes !== 2) return bytes === 4 ? view.getFloat32(0) : view.getFloat64(0)
  // Bits of bfloat16 are the upper half of those of float32.
  return kind === 'bfloat16' ? view.getFloat32(0) : parseHalf(view.getUint16(0))
}

/** Returns the value of a float16 from its bits. */
export function parseHalf(bits: number): number {
  const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023]
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25))
}

/** Parses bytes: base64, or a list of numbers. */
function parseBytes(value: unknown): Uint8Array | undefined {
  if (Array.isArray(value))
    return value.every((byte) => Number.isInteger(byte) && byte >= 0 && byte < 256) ? Uint8Array.from(value) : undefined
  return typeof value === 'string' ? decodeBase64(value) : undefined
}

/** Returns an integer of the type, as a bigint for types of 64 bits. */
function toInteger(dtype: DType, value: bigint, refuse: () => never): Scalar {
  try {
    return toElement(dtype, isBigInt(dtype) ? value : Number(value)) as Scalar
  } catch (error) {
    if (isHyperslabError(error, 'InvalidArgumentError')) return refuse()
    throw error
  }
}

/** Returns text of a fixed length. It ends before trailing NULs. Longer text is truncated, as in numpy. */
const fixedText = (text: string, length: number): string => withoutNuls([...text].slice(0, length).join(''))

function fixedBytes(bytes: Uint8Array, { kind, bytes: length }: StoredType): Uint8Array {
  const element = new Uint8Array(length!)
  element.set(bytes.subarray(0, length))
  if (kind === 'raw') return element
  let end = element.length
  while (end > 0 && element[end - 1] === 0) end--
  return element.slice(0, end)
}

const typeName = ({ kind, dtype, bytes, unit }: StoredType): string =>
  kind === 'float' || kind === 'int' || kind === 'uint'
    ? `${kind}${8 * bytes!}`
    : unit !== undefined
      ? `${kind} of ${unit}`
      : kind === 'bool' || kind === 'bfloat16' || bytes === undefined
        ? kind
        : `${dtype} of ${bytes} bytes`
