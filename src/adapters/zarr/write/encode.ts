import { type BloscCompressor, type BloscOptions, encodeBlosc } from '../../../codec/blosc-encode.ts'
import { adler32, crc32, fletcher32 } from '../../../codec/checksums.ts'
import type { Codec } from '../../../codec/codec.ts'
import { deflate } from '../../../codec/deflate.ts'
import { encodeLz4 } from '../../../codec/lz4-encode.ts'
import { joinBytes } from '../../../core/bytes.ts'
import { HyperslabError } from '../../../core/errors.ts'
import { type Check, checkOptions } from '../../../core/options.ts'
import { sizeOf, stridesOf } from '../../../core/shape.ts'
import { OFFSET_BYTES } from '../../../engine/chunk-values.ts'
import { withArena } from '../../../kernels/arena.ts'
import { compute } from '../../../kernels/compute.ts'
import { copyStrided, type ElementBytes } from '../../../kernels/copy.ts'
import { crc32cOf } from '../../../kernels/crc32c.ts'
import { bytesOfWord } from '../element-chain.ts'
import { type CodecMetadata, type StoredType, storedAxes } from '../metadata.ts'
import { swappedPlaces } from '../swap.ts'
import { isNatural, parseOrder, transposedOffsets } from '../transpose.ts'
import { storedValues } from './store-values.ts'

/** Encodes a chunk, in the form of `engine/chunk-values.ts`, to its stored bytes. */
export type ChunkEncoder = (chunk: Uint8Array) => Promise<Uint8Array>

type EncodeStep = (bytes: Uint8Array) => Uint8Array | Promise<Uint8Array>
type Configuration = Readonly<Record<string, unknown>>

/** Form of the elements before the next codec encodes them. */
interface Elements {
  readonly shape: readonly number[]
  /** Bytes of an element; undefined for elements of variable length. */
  readonly bytes: number | undefined
  /** Bytes of a number within an element. */
  readonly wordBytes: number
  /** Whether they have been encoded to bytes. */
  readonly isBytes: boolean
}

/**
 * Returns the encoder of chunks of one shape.
 * @param codecs of a chunk, in the order of encoding
 * @param users codecs of users, which take precedence over those of the package
 * @throws UnsupportedError for codecs that can only be read, and for codecs with unknown options; CodecError
 *   for a codec that does not fit the one before it
 */
export function chunkEncoder(
  codecs: readonly CodecMetadata[],
  type: StoredType,
  shape: readonly number[],
  users: readonly Codec[],
): ChunkEncoder {
  const steps: EncodeStep[] = []
  const values = storedValues(type, sizeOf(shape))
  if (values !== undefined) steps.push(values)
  let elements: Elements = {
    shape: storedAxes(shape, type),
    bytes: type.element?.bytes ?? type.bytes,
    wordBytes: bytesOfWord(type),
    isBytes: false,
  }
  // A codec of the user may have encoded them to bytes.
  let hasUsers = false
  for (const { name, configuration } of codecs) {
    const own = users.find((user) => user.name === name)
    if (own !== undefined) {
      if (own.encode === undefined) throw notWritten(name, 'the codec that was passed under that name only reads')
      steps.push((bytes) => own.encode!(bytes.slice()))
      hasUsers = true
      continue
    }
    const { check, make, isOfBytes, makesBytes = false } = WRITTEN.get(name) ?? notKnown(name)
    try {
      checkOptions(`the codec ${name}`, configuration, check)
    } catch (cause) {
      throw notWritten(name, (cause as Error).message)
    }
    if (isOfBytes !== elements.isBytes && !hasUsers)
      throw new HyperslabError(
        'CodecError',
        `codec '${name}' comes ${elements.isBytes ? 'behind' : 'before'} the one that makes bytes of elements`,
      )
    const step = make(elements, configuration)
    if (step !== undefined) steps.push(step)
    if (makesBytes) elements = { ...elements, isBytes: true }
  }
  if (!elements.isBytes && !hasUsers)
    throw new HyperslabError('CodecError', 'no codec converts elements to bytes: add bytes, or vlen-utf8 for texts')
  return async (chunk) => {
    let bytes = chunk
    for (const step of steps) bytes = await step(bytes)
    return bytes
  }
}

/** Encoder of a codec. */
interface Written {
  /** Checks of its options. */
  readonly check: Readonly<Record<string, Check>>
  /** Whether it encodes bytes to bytes; otherwise it takes elements. */
  readonly isOfBytes: boolean
  /** Whether it encodes elements to bytes. */
  readonly makesBytes?: boolean
  /** Returns the encoding step; undefined if the codec leaves bytes as they are. */
  make(elements: Elements, configuration: Configuration): EncodeStep | undefined
}

const LOCATION: Readonly<Record<string, Check>> = { location: ['start', 'end'] }

/** Options of version 3 and of version 2. Version 2 has numbers for shuffles, and no `typesize`. */
const BLOSC: Readonly<Record<string, Check>> = {
  cname: 'string',
  clevel: LEVELS(0, 9),
  shuffle: ['noshuffle', 'shuffle', 'bitshuffle', 0, 1, 2, -1] as unknown as string[],
  typesize: 'integer from 1',
  blocksize: 'integer from 0',
}

const WRITTEN: ReadonlyMap<string, Written> = new Map<string, Written>([
  ['transpose', { check: { order: 'value' }, isOfBytes: false, make: transpose }],
  ['bytes', { check: { endian: ['little', 'big'] }, isOfBytes: false, makesBytes: true, make: bytesInOrder }],
  ['vlen-utf8', { check: {}, isOfBytes: false, makesBytes: true, make: ({ shape }) => lengthPrefixed(sizeOf(shape)) }],
  ['vlen-bytes', { check: {}, isOfBytes: false, makesBytes: true, make: ({ shape }) => lengthPrefixed(sizeOf(shape)) }],
  ['zstd', { check: { level: 'integer', checksum: 'boolean' }, isOfBytes: true, make: (_, options) => createZstdStep(options) }],
  ['gzip', { check: { level: LEVELS(0, 9) }, isOfBytes: true, make: (_, { level = 5 }) => deflated('gzip', level) }],
  ['zlib', { check: { level: LEVELS(0, 9) }, isOfBytes: true, make: (_, { level = 1 }) => deflated('zlib', level) }],
  ['blosc', { check: BLOSC, isOfBytes: true, make: blosc }],
  ['lz4', { check: { acceleration: 'integer' }, isOfBytes: true, make: () => lz4 }],
  [
    'shuffle',
    {
      check: { elementsize: 'integer from 0' },
      isOfBytes: true,
      make: (_, { elementsize = 4 }) => shuffled(elementsize as number),
    },
  ],
  ['crc32c', { check: LOCATION, isOfBytes: true, make: (_, { location = 'end' }) => summed(crc32cOf, location) }],
  ['crc32', { check: LOCATION, isOfBytes: true, make: (_, { location = 'start' }) => summed(crc32, location) }],
  ['adler32', { check: LOCATION, isOfBytes: true, make: (_, { location = 'start' }) => summed(adler32, location) }],
  ['fletcher32', { check: {}, isOfBytes: true, make: () => summed(fletcher32, 'end') }],
])

/** Names of the codecs that can encode. */
const WRITTEN_CODECS: readonly string[] = [...WRITTEN.keys()]

function LEVELS(least: number, most: number): string {
  return `integer from ${least} to ${most}`
}

function transpose({ shape, bytes }: Elements, { order }: Configuration): EncodeStep | undefined {
  const axes = parseOrder(order, shape.length)
  if (isNatural(axes)) return undefined
  return bytes === undefined ? reordered(axes, shape) : transposed(axes, shape, bytes)
}

/** Transposes elements of `bytes` bytes to the order `order` of axes. */
function transposed(order: readonly number[], shape: readonly number[], bytes: number): EncodeStep {
  const unit = ([8, 4, 2] as ElementBytes[]).find((size) => bytes % size === 0) ?? 1
  const units = bytes / unit
  const stored = stridesOf(order.map((axis) => shape[axis]!))
  const from = stridesOf(shape).map((stride) => stride * units)
  const to = shape.map((_, axis) => stored[order.indexOf(axis)]! * units)
  return (elements) =>
    withArena((arena) => {
      const source = arena.put(elements)
      const target = arena.alloc(elements.length)
      if (units === 1) copyStrided(arena, unit, shape, source, from, target, to)
      else copyStrided(arena, unit, [...shape, units], source, [...from, 1], target, [...to, 1])
      return arena.bytes(target, elements.length).slice()
    })
}

/** Transposes values of variable length. */
function reordered(order: readonly number[], shape: readonly number[]): EncodeStep {
  let sources: Float64Array | undefined
  return (values) => {
    if (sources === undefined) {
      const places = transposedOffsets(order, shape)
      sources = new Float64Array(places.length)
      for (const [i, place] of places.entries()) sources[place] = i
    }
    const head = OFFSET_BYTES * (sources.length + 1)
    const view = new DataView(values.buffer, values.byteOffset, values.length)
    const readOffset = (i: number): number => head + view.getUint32(OFFSET_BYTES * i, true)
    const out = new Uint8Array(values.length)
    const offsets = new DataView(out.buffer)
    let end = head
    for (const [place, source] of sources.entries()) {
      const value = values.subarray(readOffset(source), readOffset(source + 1))
      out.set(value, end)
      end += value.length
      offsets.setUint32(OFFSET_BYTES * (place + 1), end - head, true)
    }
    return out
  }
}

function bytesInOrder({ bytes, wordBytes }: Elements, { endian }: Configuration): EncodeStep | undefined {
  if (bytes === undefined) throw new HyperslabError('CodecError', 'bytes: elements of variable length are not numbers')
  if (wordBytes === 1) return undefined
  if (endian === undefined) throw new HyperslabError('CodecError', `bytes: numbers of ${wordBytes} bytes have no byte order`)
  return endian === 'big' ? (elements) => swapped(elements, wordBytes) : undefined
}

function swapped(elements: Uint8Array, wordBytes: number): Uint8Array {
  if (elements.length === 0) return elements
  return withArena((arena) => {
    const places = arena.put(swappedPlaces(wordBytes))
    // The kernel stores whole vectors.
    const target = arena.alloc(elements.length + 15)
    arena.bytes(target, elements.length).set(elements)
    compute(arena).swap(target, elements.length, places)
    return arena.bytes(target, elements.length).slice()
  })
}

/** Stores each value after its length, and all of them after their number: see `stored-values.ts`. */
function lengthPrefixed(count: number): EncodeStep {
  return (values) => {
    const head = OFFSET_BYTES * (count + 1)
    const view = new DataView(values.buffer, values.byteOffset, values.length)
    const out = new Uint8Array(values.length)
    const lengths = new DataView(out.buffer)
    lengths.setUint32(0, count, true)
    let to = OFFSET_BYTES
    for (let i = 0; i < count; i++) {
      const [start, end] = [i, i + 1].map((at) => view.getUint32(OFFSET_BYTES * at, true)) as [number, number]
      lengths.setUint32(to, end - start, true)
      out.set(values.subarray(head + start, head + end), to + OFFSET_BYTES)
      to += OFFSET_BYTES + end - start
    }
    return out
  }
}

/** Default level of Zstandard, which level 0 of numcodecs means. */
const ZSTD_DEFAULT = 3

function createZstdStep({ level = 0, checksum = false }: Configuration): EncodeStep {
  if (checksum) throw notWritten('zstd', 'frames with checksums are not written; crc32c behind it checks what is stored')
  // Levels below 1 are faster variants of the same format. There are none above 22.
  const own = level === 0 ? ZSTD_DEFAULT : Math.min(22, Math.max(1, level as number))
  return async (bytes) => (await import('../../../codec/zstd-encode.ts')).zstdEncoder(own)(bytes)
}

const deflated =
  (name: 'gzip' | 'zlib', level: unknown): EncodeStep =>
  (bytes) =>
    deflate(name, bytes, level as number)

const SHUFFLES = ['noshuffle', 'shuffle', 'bitshuffle'] as const
const BLOSC_COMPRESSORS: readonly BloscCompressor[] = ['lz4', 'lz4hc', 'zlib', 'zstd']

function blosc({ bytes = 1 }: Elements, configuration: Configuration): EncodeStep {
  const { cname = 'lz4', clevel = 5, shuffle = 1, typesize = bytes, blocksize = 0 } = configuration
  const compressor = BLOSC_COMPRESSORS.find((name) => name === cname)
  if (compressor === undefined) throw notWritten('blosc', `compressors in it are ${BLOSC_COMPRESSORS.join(', ')}, not ${cname}`)
  // For -1, numcodecs shuffles the bits of one-byte elements, and the bytes of others.
  const number = shuffle === -1 ? (typesize === 1 ? 2 : 1) : shuffle
  const options: BloscOptions = {
    compressor,
    level: clevel as number,
    shuffle: typeof number === 'number' ? SHUFFLES[number]! : (number as BloscOptions['shuffle']),
    typesize: typesize as number,
    blockBytes: blocksize as number,
  }
  return (chunk) => encodeBlosc(chunk, options)
}

/** Encodes a block after its decoded size, as numcodecs does. */
const lz4: EncodeStep = (bytes) => withArena((arena) => encodeLz4(arena, arena.put(bytes), bytes.length))

/** Stores bytes of elements in planes: the first byte of each element, then the second, and so on. */
function shuffled(size: number): EncodeStep | undefined {
  if (size <= 1) return undefined
  return (bytes) => {
    if (bytes.length % size !== 0) {
      const text = `shuffle: ${bytes.length} bytes are not a multiple of ${size}`
      throw new HyperslabError('CodecError', text, { actual: bytes.length })
    }
    return withArena((arena) => {
      const source = arena.put(bytes)
      const target = arena.alloc(bytes.length)
      compute(arena).shuffle(size, source, target, bytes.length)
      return arena.bytes(target, bytes.length).slice()
    })
  }
}

/** Adds a checksum of 4 bytes, little-endian, before or after the bytes. */
const summed =
  (sumOf: (bytes: Uint8Array) => number, location: unknown): EncodeStep =>
  (bytes) => {
    const sum = new Uint8Array(4)
    new DataView(sum.buffer).setUint32(0, sumOf(bytes), true)
    return joinBytes(location === 'start' ? [sum, bytes] : [bytes, sum])
  }

function notWritten(name: string, why: string): HyperslabError {
  return new HyperslabError('UnsupportedError', `codec '${name}' cannot be written: ${why}`, { actual: name })
}

function notKnown(name: string): never {
  throw new HyperslabError('UnsupportedError', `codec '${name}' is not written here`, { actual: name, expected: WRITTEN_CODECS })
}
