import { allocate, checkDType, type FixedDType, type TypedArray, toBytes } from '../core/dtype.ts'
import { HyperslabError, messageOf } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'

/** Data that tasks exchange. */
export type StateValue =
  | number
  | bigint
  | string
  | boolean
  | null
  | undefined
  | TypedArray
  | readonly StateValue[]
  | { readonly [name: string]: StateValue }

const MAGIC = 'HSS1'
/** Maximum size in bytes of the JSON text with the labels and the lists of texts. */
const MOST_BYTES = 256 * 2 ** 20

/** Elements of eight bytes must be aligned to this number of bytes. */
const ALIGNMENT = 8

const TYPES: readonly (readonly [new (length: number) => TypedArray, FixedDType])[] = [
  [Float64Array, 'float64'],
  [Float32Array, 'float32'],
  [BigInt64Array, 'int64'],
  [BigUint64Array, 'uint64'],
  [Int32Array, 'int32'],
  [Uint32Array, 'uint32'],
  [Int16Array, 'int16'],
  [Uint16Array, 'uint16'],
  [Int8Array, 'int8'],
  [Uint8Array, 'uint8'],
]

/**
 * Encodes values to bytes, identically on every machine: the length of a JSON text, the text, and typed
 * arrays as they are, little-endian. All NaNs get the same bits.
 */
export function encodeState(value: StateValue): Uint8Array {
  const parts: Uint8Array[] = []
  let size = 0
  const plain = (each: StateValue): unknown => {
    if (typeof each === 'bigint') return { $: 'bigint', is: String(each) }
    if (typeof each === 'number') return Number.isFinite(each) && !Object.is(each, -0) ? each : { $: 'number', is: textOf(each) }
    if (each === undefined) return { $: 'undefined' }
    if (typeof each !== 'object' || each === null) return each
    if (Array.isArray(each)) return each.map(plain)
    const dtype = TYPES.find(([Class]) => each instanceof Class)?.[1]
    if (dtype === undefined)
      return Object.fromEntries(Object.entries(each as Record<string, StateValue>).map(([name, own]) => [name, plain(own)]))
    const data = each as TypedArray
    const at = size
    const bytes = toBytes(withOneNaN(data))
    const padding = -bytes.length & (ALIGNMENT - 1)
    parts.push(bytes, new Uint8Array(padding))
    size += bytes.length + padding
    return { $: dtype, at, length: data.length }
  }
  const json = JSON.stringify(plain(value))
  const text = new TextEncoder().encode(json.padEnd(json.length + 3))
  const start = 8 + text.length + (-(8 + text.length) & (ALIGNMENT - 1))
  const encoded = new Uint8Array(start + size)
  encoded.set(new TextEncoder().encode(MAGIC))
  new DataView(encoded.buffer).setUint32(4, text.length, true)
  encoded.set(text, 8)
  let at = start
  for (const part of parts) {
    encoded.set(part, at)
    at += part.length
  }
  return encoded
}

/**
 * Decodes values into memory of their own.
 * @throws FormatError for other bytes
 */
export function decodeState(bytes: Uint8Array): StateValue {
  const broken = (what: string): HyperslabError => new HyperslabError('FormatError', `this is not a partial result: ${what}`, {})
  if (bytes.length < 8 || new TextDecoder().decode(bytes.subarray(0, 4)) !== MAGIC) throw broken('it begins otherwise')
  const length = new DataView(bytes.buffer, bytes.byteOffset, bytes.length).getUint32(4, true)
  const start = 8 + length + (-(8 + length) & (ALIGNMENT - 1))
  if (start > bytes.length) throw broken(`it ends before ${start} bytes`)
  const value = (each: unknown): StateValue => {
    if (typeof each !== 'object' || each === null) return each as StateValue
    if (Array.isArray(each)) return each.map(value)
    const { $: kind, is, at = 0, length = 0 } = each as { $?: string; is?: string; at?: number; length?: number }
    if (kind === undefined) return Object.fromEntries(Object.entries(each).map(([name, own]) => [name, value(own)]))
    if (kind === 'undefined') return undefined
    if (kind === 'bigint') return BigInt(is!)
    if (kind === 'number') return Number(is)
    checkDType(kind)
    const data = allocate(kind as FixedDType, length) as TypedArray
    const from = start + at
    if (!(from >= start && from + data.byteLength <= bytes.length)) throw broken(`${data.length} numbers lie beyond its end`)
    toBytes(data).set(bytes.subarray(from, from + data.byteLength))
    return data
  }
  try {
    return value(parseJson(bytes.subarray(8, 8 + length), 'its description', { maxBytes: MOST_BYTES, exact: false }))
  } catch (error) {
    throw broken(messageOf(error))
  }
}

const textOf = (value: number): string => (Object.is(value, -0) ? '-0' : String(value))

/** Makes all NaNs equal, because their bits differ between machines. */
function withOneNaN(data: TypedArray): TypedArray {
  if (!(data instanceof Float64Array || data instanceof Float32Array) || !data.some(Number.isNaN)) return data
  return data.map((value) => (Number.isNaN(value) ? Number.NaN : value))
}
