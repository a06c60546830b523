import { HyperslabError } from '../../core/errors.ts'
import { showJson } from './document.ts'
import { parseHalf, roundTo } from './fill-values.ts'
import type { StoredType } from './metadata.ts'
import { LETTERS, type NumberType } from './number-types.ts'

/** Numbers in a typed array. Float16 is in a Float32Array; bools are 0 and 1. */
export type Numbers =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array

const ARRAYS = {
  b1: Uint8Array,
  i1: Int8Array,
  i2: Int16Array,
  i4: Int32Array,
  i8: BigInt64Array,
  u1: Uint8Array,
  u2: Uint16Array,
  u4: Uint32Array,
  u8: BigUint64Array,
  f2: Float32Array,
  f4: Float32Array,
  f8: Float64Array,
}
type Code = keyof typeof ARRAYS
const toCode = ({ kind, bytes }: NumberType): Code => `${kind}${bytes}` as Code
const isWide = (type: NumberType): boolean => type.bytes === 8 && type.kind !== 'f'
const isHalf = (type: NumberType): boolean => type.bytes === 2 && type.kind === 'f'

/**
 * Parses a type by its name in numpy: `<f4`, `|u1`, `i2`, `float64`.
 * @throws CodecError for a name that is not a type of numbers
 */
export function parseNumberType(name: unknown, filter: string): NumberType {
  const [, order, letter, size] = /^([<>|=]?)([biuf])([1248])$/.exec(String(name)) ?? []
  if (letter !== undefined && `${letter}${size}` in ARRAYS)
    return { kind: letter, bytes: Number(size), isBigEndian: order === '>' } as NumberType
  const [, word, bits] = /^(bool|u?int|float)(\d*)$/.exec(String(name)) ?? []
  const code = word === 'bool' && bits === '' ? 'b1' : `${LETTERS[word!]}${Number(bits) / 8}`
  if (word !== undefined && code in ARRAYS) return { kind: code[0], bytes: Number(code[1]), isBigEndian: false } as NumberType
  throw new HyperslabError('CodecError', `${filter}: ${showJson(name)} is not a type of numbers that can be read here`, {
    actual: name,
  })
}

/** Copies numbers from their stored bytes. */
export function readNumbers(type: NumberType, stored: Uint8Array): Numbers {
  const bytes = stored.slice()
  if (type.isBigEndian) reverseEach(bytes, type.bytes)
  if (!isHalf(type)) return new ARRAYS[toCode(type)](bytes.buffer)
  return Float32Array.from(new Uint16Array(bytes.buffer), parseHalf)
}

/** Returns numbers as their stored bytes. */
export function writeNumbers(type: NumberType, numbers: Numbers): Uint8Array {
  const stored = isHalf(type) ? Uint16Array.from(numbers as Float32Array, bitsOfHalf) : numbers
  const bytes = new Uint8Array(stored.buffer, stored.byteOffset, stored.byteLength)
  if (type.isBigEndian) reverseEach(bytes, type.bytes)
  return bytes
}

function reverseEach(bytes: Uint8Array, size: number): void {
  if (size > 1) for (let at = 0; at < bytes.length; at += size) bytes.subarray(at, at + size).reverse()
}

/**
 * Converts numbers to another type as numpy does: integers wrap, floats lose their fraction.
 * @throws CodecError for a float that does not fit an integer
 */
export function castNumbers(from: NumberType, to: NumberType, numbers: Numbers, filter: string): Numbers {
  if (toCode(from) === toCode(to)) return numbers
  if (to.kind === 'b') return Uint8Array.from(numbers as Iterable<number | bigint>, (value) => (Number(value) !== 0 ? 1 : 0))
  if (isWide(to)) return toWide(from, to, numbers, filter)
  const narrow = isWide(from)
    ? narrowed(numbers as BigInt64Array, to)
    : (numbers as Exclude<Numbers, BigInt64Array | BigUint64Array>)
  if (from.kind === 'f' && to.kind !== 'f') for (const value of narrow) checkFits(value, to, filter)
  const Target = ARRAYS[toCode(to)] as typeof Float64Array
  return isHalf(to) ? Float32Array.from(narrow, roundHalf) : Target.from(narrow)
}

/** Converts 64-bit integers to numbers, as exactly as the target type needs. */
const narrowed = (numbers: BigInt64Array | BigUint64Array, to: NumberType): Float64Array =>
  Float64Array.from(numbers as Iterable<bigint> & ArrayLike<bigint> as never, (value: bigint) =>
    Number(to.kind === 'f' ? value : BigInt.asIntN(32, value)),
  )

function toWide(from: NumberType, to: NumberType, numbers: Numbers, filter: string): Numbers {
  const out = to.kind === 'i' ? new BigInt64Array(numbers.length) : new BigUint64Array(numbers.length)
  for (let i = 0; i < numbers.length; i++) {
    const value = numbers[i]!
    if (from.kind === 'f') checkFits(value as number, to, filter)
    out[i] = typeof value === 'bigint' ? value : BigInt(Math.trunc(value))
  }
  return out
}

/** Checks the range of a float, because beyond it the result depends on the processor. */
function checkFits(value: number, { kind, bytes }: NumberType, filter: string): void {
  const bits = 8 * bytes
  const [least, end] = kind === 'u' ? [0, 2 ** bits] : [-(2 ** (bits - 1)), 2 ** (bits - 1)]
  const whole = Math.trunc(value)
  if (whole >= least && whole < end) return
  const text = `${filter}: ${value} does not fit ${bits} bits of ${kind === 'u' ? 'an unsigned' : 'a signed'} integer`
  throw new HyperslabError('CodecError', text, { actual: value })
}

const HALF: StoredType = { dtype: 'float32', kind: 'float', bytes: 2 }
const roundHalf = (value: number): number => roundTo(HALF, value)

/** Returns the bits of a number that has a float16 value. */
function bitsOfHalf(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0
  const magnitude = Math.abs(value)
  if (Number.isNaN(value)) return 0x7e00
  if (magnitude === Number.POSITIVE_INFINITY) return sign | 0x7c00
  if (magnitude < 2 ** -14) return sign | (magnitude * 2 ** 24)
  const exponent = Math.floor(Math.log2(magnitude))
  return sign | ((exponent + 15) << 10) | ((magnitude / 2 ** exponent - 1) * 1024)
}
