import { checkSize } from '../../../codec/bounds.ts'
import type { Span, Step } from '../../../codec/chain.ts'
import { HyperslabError } from '../../../core/errors.ts'
import type { Arena } from '../../../kernels/arena.ts'
import { filters } from '../../../kernels/filters.ts'
import { rareFilters } from '../../../kernels/rare-filters.ts'
import { malformedFilter } from './basic.ts'
import { createUnpacking } from './nbit.ts'

// Filters that few files use. Loaded with the first chunk that needs one.

type Decoder = NonNullable<Step['decodeIn']>

/**
 * Returns the decoder of a filter; undefined if the filter leaves bytes as they are.
 * @throws CodecError for invalid parameters; UnsupportedError for parameters that are not read here
 */
export function createRareDecoder(id: number, parameters: readonly number[]): Decoder | undefined {
  if (id === 4) return createSzip(parameters)
  if (id === 5) return createUnpacking(parameters)
  return id === 6 ? createUnscaling(parameters) : createLzf(parameters)
}

/** Reasons by the kernel's error codes -1, -2, ... (assembly/lzf-decode.ts). */
const LZF_REASONS = [
  'it ends in the middle',
  'a match reaches back to before the start of the output',
  'it decodes to more bytes than expected',
  'it decodes to fewer bytes than expected',
]

/** Largest ratio of decoded to stored bytes of lzf: a match of 264 bytes takes 3. */
const LZF_RATIO = 88

/** Creates the decoder of lzf. Its third parameter is the number of bytes of a chunk. */
const createLzf =
  ([, , bytes = 0]: readonly number[]): Decoder =>
  (arena, pointer, length, expected, mostBytes) => {
    const decodedBytes = expected ?? bytes
    checkSize('lzf', decodedBytes, expected, mostBytes)
    if (decodedBytes > length * LZF_RATIO) throw malformedFilter('lzf', `${length} bytes cannot decode to ${decodedBytes}`)
    const target = arena.alloc(decodedBytes)
    const code = rareFilters(arena).lzfDecode(pointer, length, target, decodedBytes)
    if (code < 0) throw malformedFilter('lzf', `${LZF_REASONS[-code - 1]} (${length} bytes of input, ${decodedBytes} of output)`)
    return { pointer: target, length: decodedBytes }
  }

/** Bits of the options mask of szip. */
const MOST_SIGNIFICANT_FIRST = 16
const NEAREST_NEIGHBOUR = 32

/** Reasons by the kernel's error codes -1, -2, ... (assembly/szip-decode.ts). */
const SZIP_REASONS = ['it ends in the middle', 'a sample has more bits than expected', 'a run of zeros leaves its line']

/** The kernel's working memory. */
const WORK_BYTES = 256
/** Largest number of samples for one bit of input: 64 blocks of 64 samples take a few bits. */
const SAMPLES_PER_BIT = 4096

// A chunk is its number of decoded bytes, u32 little-endian, followed by the coded samples. Samples of 32 and
// 64 bits are stored as bytes in planes, each byte a sample.
function createSzip([mask = 0, blockSamples = 0, bits = 0, lineSamples = 0]: readonly number[]): Decoder {
  const isWide = bits === 32 || bits === 64
  if (bits < 1 || (bits > 24 && !isWide) || blockSamples < 2 || blockSamples > 64 || blockSamples % 2 !== 0 || lineSamples < 1)
    throw malformedFilter('szip', `blocks of ${blockSamples} samples of ${bits} bits, lines of ${lineSamples}`)
  const [sampleBits, bytes] = isWide ? [8, 1] : [bits, bits > 16 ? 4 : bits > 8 ? 2 : 1]
  return (arena, pointer, length, expected, mostBytes) => {
    if (length < 4) throw malformedFilter('szip', `${length} bytes have no room for the size`)
    const decodedBytes = new DataView(arena.kernels.memory.buffer).getUint32(pointer, true)
    checkSize('szip', decodedBytes, expected, mostBytes)
    if (decodedBytes > length * 8 * SAMPLES_PER_BIT)
      throw malformedFilter('szip', `${length} bytes cannot decode to ${decodedBytes}`)
    if (decodedBytes % (isWide ? bits / 8 : bytes) !== 0)
      throw malformedFilter('szip', `${decodedBytes} bytes are not whole samples of ${bits} bits`)
    const target = arena.alloc(decodedBytes)
    const work = arena.alloc(WORK_BYTES)
    const code = rareFilters(arena).szipDecode(
      pointer + 4,
      length - 4,
      target,
      decodedBytes / bytes,
      bytes,
      sampleBits,
      blockSamples,
      Math.ceil(lineSamples / blockSamples),
      lineSamples,
      Number((mask & NEAREST_NEIGHBOUR) !== 0),
      work,
    )
    if (code < 0)
      throw malformedFilter('szip', `${SZIP_REASONS[-code - 1]} (${length} bytes of input, ${decodedBytes} of output)`)
    const span = { pointer: target, length: decodedBytes }
    if (!isWide) return mask & MOST_SIGNIFICANT_FIRST ? reversed(arena, span, bytes) : span
    const whole = arena.alloc(decodedBytes)
    filters(arena).unshuffle(bits / 8, target, whole, decodedBytes)
    return { pointer: whole, length: decodedBytes }
  }
}

/** Reverses the bytes of numbers of 1, 2, 4 or 8 bytes. */
function reversed(arena: Arena, span: Span, bytes: number): Span {
  if (bytes > 1 && span.length > 0) {
    const places = Uint8Array.from({ length: 16 }, (_, i) => i ^ (bytes - 1))
    arena.scratch(() => filters(arena).swap(span.pointer, span.length, arena.put(places)))
  }
  return span
}

/** Kinds of scaling: floats by a power of ten, integers by their range. */
const DECIMAL = 0
const INTEGER = 2
const SCALED_HEADER_BYTES = 21
const FILL_PARAMETER = 8

// A chunk is the bits of a number, u32 little-endian | u8 bytes of the minimum (8) | the minimum | zeros up
// to 21 bytes | numbers. Numbers with all their bits are stored as they are, little-endian.
function createUnscaling(parameters: readonly number[]): Decoder | undefined {
  const [kind, scale = 0, count = 0, numberClass, bytes = 0, , order, hasFill] = parameters
  const isFloat = numberClass === 1
  if (![1, 2, 4, 8].includes(bytes) || (isFloat && bytes < 4) || (numberClass !== 0 && !isFloat))
    throw malformedFilter('scaleoffset', `numbers of class ${numberClass} with ${bytes} bytes`)
  if (kind !== (isFloat ? DECIMAL : INTEGER))
    throw new HyperslabError('UnsupportedError', `scaleoffset: scaling of kind ${kind} is not read here; repack the file`, {
      actual: kind,
      expected: [DECIMAL, INTEGER],
    })
  // All bits are kept, so the library leaves the bytes alone.
  if (kind === INTEGER && scale === 8 * bytes) return undefined
  const words = Uint32Array.of(parameters[FILL_PARAMETER] ?? 0, parameters[FILL_PARAMETER + 1] ?? 0)
  const fill = new BigUint64Array(words.buffer)[0]!
  // The factor is a signed number. Text gives the nearest power of ten.
  const divisor = Number(`1e${scale | 0}`)
  return (arena, pointer, length, expected, mostBytes) => {
    const decodedBytes = count * bytes
    checkSize('scaleoffset', decodedBytes, expected, mostBytes)
    const bits = checkScaled(arena, pointer, length, count, bytes)
    const view = new DataView(arena.kernels.memory.buffer)
    const minimumBytes = Math.min(view.getUint8(pointer + 4), 8)
    let minimum = 0n
    for (let i = minimumBytes - 1; i >= 0; i--) minimum = (minimum << 8n) | BigInt(view.getUint8(pointer + 5 + i))
    const numbers = pointer + SCALED_HEADER_BYTES
    const target = arena.alloc(decodedBytes)
    if (bits === 8 * bytes) arena.bytes(target, decodedBytes).set(arena.bytes(numbers, decodedBytes))
    else {
      const { unscale } = rareFilters(arena)
      unscale(isFloat ? -bytes : bytes, numbers, target, count, bits, minimum, divisor, Number(hasFill === 1), fill)
    }
    const span = { pointer: target, length: decodedBytes }
    return order === 1 ? reversed(arena, span, bytes) : span
  }
}

/** Returns the bits of the stored numbers. */
function checkScaled(arena: Arena, pointer: number, length: number, count: number, bytes: number): number {
  if (length < SCALED_HEADER_BYTES) throw malformedFilter('scaleoffset', `${length} bytes have no room for the header`)
  const bits = new DataView(arena.kernels.memory.buffer).getUint32(pointer, true)
  if (bits > 8 * bytes) throw malformedFilter('scaleoffset', `numbers of ${bytes} bytes have ${bits} bits`)
  const needed = SCALED_HEADER_BYTES + Math.ceil((count * bits) / 8)
  if (length < needed) throw malformedFilter('scaleoffset', `${count} numbers of ${bits} bits need ${needed} bytes, of ${length}`)
  return bits
}
