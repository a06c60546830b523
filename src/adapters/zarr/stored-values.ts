import type { Step } from '../../codec/chain.ts'
import { wrongLength } from '../../codec/codec.ts'
import { HyperslabError } from '../../core/errors.ts'
import { OFFSET_BYTES } from '../../engine/chunk-values.ts'
import type { Arena } from '../../kernels/arena.ts'
import { filterStep } from './filter-step.ts'
import type { StoredType } from './metadata.ts'
import { NOT_A_TIME, timeScale, toNanoseconds } from './time-units.ts'

/**
 * Returns the step that converts stored elements, in C order and little-endian, to the type that they are
 * read as; undefined if none is needed.
 * @param count number of elements
 */
export function valuesStep(type: StoredType, count: number): Step | undefined {
  const { kind, bytes, unit } = type
  if (kind === 'bool') return inPlace('bool', normaliseBools)
  if (kind === 'bfloat16') return widenStep('bfloat16', 'widenBrain')
  if (kind === 'float' && bytes === 2) return widenStep('float16', 'widenHalf')
  if (kind === 'datetime' && unit !== 'ns') return scaleStep(unit!)
  if (kind === 'raw' || kind === 'fixed-bytes' || kind === 'fixed-text') return ownLengthStep(type, count)
  return undefined
}

function inPlace(name: string, change: (arena: Arena, pointer: number, length: number) => void): Step {
  return {
    name,
    encodedBytes: (bytes) => bytes,
    decodeIn(arena, pointer, length) {
      change(arena, pointer, length)
      return { pointer, length }
    },
  }
}

/** Any value except 0 is true, and becomes 1. */
function normaliseBools(arena: Arena, pointer: number, length: number): void {
  const bools = arena.bytes(pointer, length)
  for (let i = 0; i < length; i++) if (bools[i]! > 1) bools[i] = 1
}

function widenStep(name: string, kernel: 'widenHalf' | 'widenBrain'): Step {
  return filterStep({
    name,
    encodedBytes: (bytes) => bytes / 2,
    decodeIn(kernels, arena, pointer, length) {
      const target = arena.alloc(2 * length)
      kernels[kernel](pointer, target, length / 2)
      return { pointer: target, length: 2 * length }
    },
  })
}

/** @throws UnsupportedError, which names a time that is not a whole number of nanoseconds within 64 bits */
function scaleStep(unit: string): Step {
  const { multiply, divide, months } = timeScale(unit)
  const fits = divide === 1n && months === undefined && multiply < -NOT_A_TIME
  return filterStep({
    name: 'datetime',
    encodedBytes: (bytes) => bytes,
    decodeIn(kernels, arena, pointer, length) {
      const view = new DataView(arena.kernels.memory.buffer, pointer, length)
      const done = fits ? kernels.scaleTimes(pointer, length / 8, multiply) : 0
      for (let at = 8 * done; at < length; at += 8) view.setBigInt64(at, toNanoseconds(view.getBigInt64(at, true), unit), true)
      return { pointer, length }
    },
  })
}

/** Converts fixed-width elements to elements of variable length. */
function ownLengthStep({ kind, bytes = 1 }: StoredType, count: number): Step {
  const put = kind === 'raw' ? putWhole : kind === 'fixed-bytes' ? putTrimmed : putText
  return {
    name: kind,
    inputBytes: count * bytes,
    decode(stored) {
      const head = OFFSET_BYTES * (count + 1)
      // A character of 4 bytes takes at most 4 bytes in UTF-8.
      const out = new Uint8Array(head + count * bytes)
      const view = new DataView(out.buffer)
      let end = head
      for (let i = 0; i < count; i++) {
        end = put(stored.subarray(i * bytes, (i + 1) * bytes), out, end)
        view.setUint32(OFFSET_BYTES * (i + 1), end - head, true)
      }
      return out.slice(0, end)
    },
  }
}

/** Writes a fixed-width element at `at`, converted to the type that it is read as. Returns the end. */
type ElementWriter = (element: Uint8Array, out: Uint8Array, at: number) => number

const putWhole: ElementWriter = (element, out, at) => {
  out.set(element, at)
  return at + element.length
}

/** Writes bytes without trailing NULs. */
const putTrimmed: ElementWriter = (element, out, at) => {
  let length = element.length
  while (length > 0 && element[length - 1] === 0) length--
  return putWhole(element.subarray(0, length), out, at)
}

/** Writes UTF-32 as UTF-8, without trailing NULs. */
const putText: ElementWriter = (element, out, at) => {
  const characters = new DataView(element.buffer, element.byteOffset, element.length)
  let length = element.length
  while (length > 0 && characters.getUint32(length - 4, true) === 0) length -= 4
  for (let i = 0; i < length; i += 4) at = putCharacter(characters.getUint32(i, true), out, at)
  return at
}

function putCharacter(code: number, out: Uint8Array, at: number): number {
  if (code < 0x80) {
    out[at++] = code
    return at
  }
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
    const text = `a text has 0x${code.toString(16)} as a character, which Unicode does not have`
    throw new HyperslabError('CodecError', text, { actual: code })
  }
  const more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3
  out[at++] = ((0xff00 >> (more + 1)) & 0xff) | (code >> (6 * more))
  for (let shift = 6 * (more - 1); shift >= 0; shift -= 6) out[at++] = 0x80 | ((code >> shift) & 0x3f)
  return at
}

/**
 * Decodes strings or binaries, each stored after its length, and all after their number, as the codecs
 * `vlen-utf8` and `vlen-bytes` do:
 *
 *     u32 count | u32 bytes, bytes | u32 bytes, bytes | ...
 *
 * This takes as many bytes as the form of `engine/chunk-values.ts`.
 */
export function lengthPrefixedStep(name: string, count: number): Step {
  return {
    name,
    encodedBytes: (bytes) => bytes,
    decode(stored) {
      const damaged = (why: string): never => {
        throw new HyperslabError('CodecError', `malformed ${name} bytes: ${why}`, { actual: stored.length })
      }
      const head = OFFSET_BYTES * (count + 1)
      if (stored.length < head) damaged(`${stored.length} bytes have no room for ${count} values`)
      const view = new DataView(stored.buffer, stored.byteOffset, stored.length)
      if (view.getUint32(0, true) !== count) damaged(`they are ${view.getUint32(0, true)} values instead of ${count}`)
      const out = new Uint8Array(stored.length)
      const offsets = new DataView(out.buffer)
      let from = 4
      let end = head
      for (let i = 0; i < count; i++) {
        if (from > stored.length - 4) damaged(`they end before value ${i} of ${count}`)
        const length = view.getUint32(from, true)
        from += 4
        if (length > stored.length - from) damaged(`value ${i} of ${count} has ${length} bytes of ${stored.length - from}`)
        out.set(stored.subarray(from, from + length), end)
        from += length
        end += length
        offsets.setUint32(OFFSET_BYTES * (i + 1), end - head, true)
      }
      if (from !== stored.length) damaged(`there are ${stored.length - from} bytes behind the last value`)
      return out
    },
  }
}

/**
 * Returns the step that restores the C order of values of variable length.
 * @param count number of values
 * @param findPlaces returns the stored position of each value in C order; called on first use
 */
export function reorderStep(name: string, count: number, findPlaces: () => Float64Array): Step {
  let places: Float64Array | undefined
  return {
    name,
    encodedBytes: (bytes) => bytes,
    decode(stored) {
      // The shape comes from the metadata and may be wrong. Positions are therefore computed only if there
      // are as many elements.
      const head = OFFSET_BYTES * (count + 1)
      if (stored.length < head) throw wrongLength(name, stored.length, head)
      places ??= findPlaces()
      const view = new DataView(stored.buffer, stored.byteOffset, stored.length)
      const readOffset = (place: number): number => head + view.getUint32(OFFSET_BYTES * place, true)
      const out = new Uint8Array(stored.length)
      const offsets = new DataView(out.buffer)
      let end = head
      for (const [i, place] of places.entries()) {
        const value = stored.subarray(readOffset(place), readOffset(place + 1))
        out.set(value, end)
        end += value.length
        offsets.setUint32(OFFSET_BYTES * (i + 1), end - head, true)
      }
      return out
    },
  }
}
