import type { Step } from '../../codec/chain.ts'
import { wrongLength } from '../../codec/codec.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { Arena } from '../../kernels/arena.ts'
import { filters } from '../../kernels/filters.ts'
import type { NumberType } from './number-types.ts'
import { castNumbers, type Numbers, readNumbers, writeNumbers } from './numbers.ts'

// Filters as numcodecs defines them. They store numbers of one type as bytes, and decode them to numbers of
// another type.

/** Converts numbers to another type. */
export function castStep(name: string, from: NumberType, to: NumberType): Step | undefined {
  if (sameType(from, to)) return undefined
  return numberStep(name, from, to, (numbers) => castNumbers(from, to, numbers, name))
}

/** Stores differences of neighbours of type `from`; decodes numbers of type `to`. */
export function deltaStep(from: NumberType, to: NumberType): Step {
  // Sums are computed in the byte order of the kernels.
  const added = { ...to, isBigEndian: false }
  const cast = castStep('delta', from, added)
  const swap = castStep('delta', added, to)
  if (to.kind === 'b' || (to.kind === 'f' && to.bytes === 2))
    throw new HyperslabError('CodecError', 'delta of bools and float16 is not read here')
  return {
    name: 'delta',
    encodedBytes: (bytes) => (bytes / to.bytes) * from.bytes,
    decodeIn(arena, pointer, length, decodedBytes, mostBytes) {
      const span = cast?.decodeIn?.(arena, pointer, length, decodedBytes, mostBytes) ?? { pointer, length }
      filters(arena).cumulate(to.bytes, Number(to.kind === 'f'), span.pointer, span.length / to.bytes)
      return swap?.decodeIn?.(arena, span.pointer, span.length, span.length, mostBytes) ?? span
    },
  }
}

/** Stores `(x - offset) * scale`, rounded. */
export function fixedScaleOffsetStep(from: NumberType, to: NumberType, scale: number, offset: number): Step {
  const name = 'fixedscaleoffset'
  if (from.kind === 'f' && from.bytes === 2) throw new HyperslabError('CodecError', `${name} stored as float16 is not read here`)
  // numpy computes in the precision of the stored type if it is float32, otherwise in float64.
  const isSingle = from.kind === 'f' && from.bytes === 4
  const round = isSingle ? Math.fround : (value: number): number => value
  const [factor, added] = [round(scale), round(offset)]
  const computed: NumberType = { kind: 'f', bytes: isSingle ? 4 : 8, isBigEndian: false }
  return numberStep(name, from, to, (numbers) => {
    const values = isSingle ? new Float32Array(numbers.length) : new Float64Array(numbers.length)
    for (let i = 0; i < values.length; i++) values[i] = round(Number(numbers[i]!) / factor) + added
    return castNumbers(computed, to, values, name)
  })
}

/**
 * Stores 8 bools in a byte, the first in the highest bit. A leading byte contains the number of unused bits
 * in the last byte.
 */
export function packbitsStep(): Step {
  return {
    name: 'packbits',
    encodedBytes: (bytes) => 1 + Math.ceil(bytes / 8),
    decode(stored, decodedBytes) {
      const padding = stored[0] ?? 8
      const count = 8 * (stored.length - 1) - padding
      if (padding > 7 || count < 0)
        throw new HyperslabError('CodecError', `packbits: ${stored.length} bytes cannot have ${padding} padding bits`)
      if (count !== (decodedBytes ?? count)) throw wrongLength('packbits', count, decodedBytes!)
      return Uint8Array.from({ length: count }, (_, i) => (stored[1 + (i >> 3)]! >> (7 - (i & 7))) & 1)
    },
  }
}

/** Position of a bit field in elements, and of the byte that counts the padding bits of the last byte. */
export interface BitField {
  /** Bytes of an element. */
  readonly bytes: number
  /** First and last stored bit of an element, counted from the least significant bit. */
  readonly firstBit: number
  readonly lastBit: number
  /** Whether the bits above the last one are copies of it. */
  readonly isSigned: boolean
  readonly padding: 'none' | 'first_byte' | 'last_byte'
}

/**
 * Returns the step that packs bits of elements one after the other, least significant bit first, as version 3
 * does.
 */
export function bitFieldStep({ bytes, firstBit, lastBit, isSigned, padding }: BitField): Step {
  const width = lastBit - firstBit + 1
  const paddingBytes = padding === 'none' ? 0 : 1
  const packedBytes = (count: number): number => Math.ceil((count * width) / 8)
  return {
    name: 'packbits',
    encodedBytes: (decoded) => packedBytes(decoded / bytes) + paddingBytes,
    decode(stored, decodedBytes) {
      const count = decodedBytes! / bytes
      const length = packedBytes(count)
      if (stored.length !== length + paddingBytes) throw wrongLength('packbits', stored.length, length + paddingBytes)
      const said = padding === 'none' ? undefined : stored[padding === 'first_byte' ? 0 : length]
      const paddingBits = 8 * length - count * width
      if (said !== undefined && said !== paddingBits)
        throw new HyperslabError('CodecError', `packbits: ${said} bits are said to be padding, and ${paddingBits} are`, {
          actual: said,
          expected: paddingBits,
        })
      const packed = padding === 'first_byte' ? stored.subarray(1) : stored
      const decoded = new Uint8Array(decodedBytes!)
      for (let element = 0, at = 0; element < count; element++) {
        const start = 8 * bytes * element
        let bit = 0
        for (let i = firstBit; i <= lastBit; i++, at++) {
          bit = (packed[at >> 3]! >> (at & 7)) & 1
          decoded[(start + i) >> 3]! |= bit << (i & 7)
        }
        if (isSigned && bit === 1) for (let i = lastBit + 1; i < 8 * bytes; i++) decoded[(start + i) >> 3]! |= 1 << (i & 7)
      }
      return decoded
    },
  }
}

const sameType = (a: NumberType, b: NumberType): boolean =>
  a.kind === b.kind && a.bytes === b.bytes && (a.isBigEndian === b.isBigEndian || a.bytes === 1)

/** Returns a step that converts each number to another type. */
function numberStep(name: string, from: NumberType, to: NumberType, convert: (numbers: Numbers) => Numbers): Step {
  return {
    name,
    encodedBytes: (bytes) => (bytes / to.bytes) * from.bytes,
    decodeIn(arena: Arena, pointer, length) {
      if (length % from.bytes !== 0) throw wrongLength(name, length, length - (length % from.bytes))
      const decoded = writeNumbers(to, convert(readNumbers(from, arena.bytes(pointer, length))))
      return { pointer: arena.put(decoded), length: decoded.length }
    },
  }
}
