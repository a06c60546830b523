import { HyperslabError } from '../../../core/errors.ts'
import { OFFSET_BYTES } from '../../../engine/chunk-values.ts'
import { roundTo } from '../fill-values.ts'
import type { StoredType } from '../metadata.ts'
import type { NumberType } from '../number-types.ts'
import { castNumbers, writeNumbers } from '../numbers.ts'
import { NOT_A_TIME, timeScale } from '../time-units.ts'

/**
 * Returns the conversion of elements in memory to their stored type, in C order and little-endian; undefined
 * if none is needed. Inverse of `stored-values.ts`.
 * @param count number of elements
 */
export function storedValues(type: StoredType, count: number): ((elements: Uint8Array) => Uint8Array) | undefined {
  const { kind, bytes, unit } = type
  if (kind === 'bfloat16') return (elements) => brainFloats(floatsIn(elements), type)
  if (kind === 'float' && bytes === 2) return (elements) => writeNumbers(HALF, castNumbers(SINGLE, HALF, floatsIn(elements), 'float16')) // biome-ignore format: one line
  if (kind === 'datetime' && unit !== 'ns') return (elements) => encodeTimesIn(elements, unit!)
  if (kind === 'raw' || kind === 'fixed-bytes' || kind === 'fixed-text') return (elements) => ofOneLength(elements, type, count)
  return undefined
}

const SINGLE: NumberType = { kind: 'f', bytes: 4, isBigEndian: false }
const HALF: NumberType = { kind: 'f', bytes: 2, isBigEndian: false }

const floatsIn = (elements: Uint8Array): Float32Array => new Float32Array(elements.slice().buffer)

/** Returns the upper half of float32, rounded. */
function brainFloats(floats: Float32Array, type: StoredType): Uint8Array {
  const rounded = floats.map((value) => roundTo(type, value))
  const bits = new Uint32Array(rounded.buffer)
  const halves = Uint16Array.from(bits, (each, i) => (Number.isNaN(floats[i]) ? 0x7fc0 : each >>> 16))
  return new Uint8Array(halves.buffer)
}

/**
 * @throws InvalidArgumentError for times that are not a multiple of the unit, UnsupportedError for units
 *   without a fixed length
 */
function encodeTimesIn(elements: Uint8Array, unit: string): Uint8Array {
  const { multiply, divide, months } = timeScale(unit)
  if (months !== undefined)
    throw new HyperslabError('UnsupportedError', `times in units of ${unit} are not written`, { actual: unit })
  const times = new BigInt64Array(elements.slice().buffer)
  for (const [i, time] of times.entries()) {
    if (time === NOT_A_TIME) continue
    const scaled = time * divide
    if (scaled % multiply !== 0n)
      throw new HyperslabError('InvalidArgumentError', `${time} ns are not a whole number of ${unit}`, { actual: time })
    times[i] = scaled / multiply
    if (times[i] !== scaled / multiply)
      throw new HyperslabError('InvalidArgumentError', `${time} ns do not fit 64 bits of ${unit}`, { actual: time })
  }
  return new Uint8Array(times.buffer)
}

/** @throws InvalidArgumentError for values that do not fit such an element */
function ofOneLength(values: Uint8Array, { kind, bytes = 1 }: StoredType, count: number): Uint8Array {
  const head = OFFSET_BYTES * (count + 1)
  const view = new DataView(values.buffer, values.byteOffset, values.length)
  const out = new Uint8Array(count * bytes)
  const target = new DataView(out.buffer)
  const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })
  for (let i = 0; i < count; i++) {
    const [start, end] = [i, i + 1].map((at) => head + view.getUint32(OFFSET_BYTES * at, true)) as [number, number]
    const value = values.subarray(start, end)
    const text = kind === 'fixed-text' ? [...utf8.decode(value)] : undefined
    const length = text === undefined ? value.length : 4 * text.length
    if (kind === 'raw' ? length !== bytes : length > bytes || value.at(-1) === 0) {
      const what = kind === 'raw' ? `of exactly ${bytes} bytes` : `of up to ${bytes} bytes that do not end with a NUL`
      throw new HyperslabError('InvalidArgumentError', `elements are ${what}, got one of ${length}`, {
        actual: length,
        expected: bytes,
      })
    }
    if (text === undefined) out.set(value, i * bytes)
    else for (const [k, character] of text.entries()) target.setUint32(i * bytes + 4 * k, character.codePointAt(0)!, true)
  }
  return out
}
