import { HyperslabError } from '../core/errors.ts'
import type { Arena } from '../kernels/arena.ts'
import { filters } from '../kernels/filters.ts'
import { checkSize } from './bounds.ts'
import type { Span, Step } from './chain.ts'
import { loadInflateSync } from './inflate.ts'
import { lz4Streams } from './lz4.ts'
import { type DecoderMaker, outside, type StreamDecoder } from './stream-decoder.ts'

// A frame of Blosc 1, all numbers little-endian:
//
//     u8 format (2) | u8 format of the compressor | u8 flags | u8 typesize | u32 decoded bytes | u32 bytes of a block | u32 bytes of the frame
//     u32 where each block starts in the frame | blocks; or the bytes as they are
//
// A block is one stream, or one stream per byte of an element, each with the bytes of one position. A shorter
// last block is always one stream. A stream is its size as u32, followed by its bytes. If the size equals the
// decoded size, the stream is uncompressed.

const HEADER_BYTES = 16
const FORMAT = 2
/** Format version of every known compressor. */
const INNER_FORMAT = 1
const SHUFFLED = 1
const NOT_COMPRESSED = 2
const BIT_SHUFFLED = 4
const RESERVED = 8
const NOT_SPLIT = 16
/** Position of the compressor's number in the flags. */
const COMPRESSOR_SHIFT = 5
/**
 * Larger elements are never split into streams, nor are blocks of fewer elements than `LEAST_SPLIT_ELEMENTS`.
 */
const MOST_STREAMS = 16
const LEAST_SPLIT_ELEMENTS = 128

/** Compressors by their numbers in frames; lz4hc shares the number of lz4. */
const COMPRESSORS = ['blosclz', 'lz4', 'snappy', 'zlib', 'zstd']
/**
 * Largest ratio of decoded to stored bytes per compressor. A frame that declares more is rejected before
 * memory is allocated.
 */
const MOST_RATIO: Record<string, number> = { blosclz: 256, lz4: 256, zlib: 1033, zstd: 2 ** 17 }

/**
 * Creates a step that decodes Blosc frames.
 * @param inner the compressor that the metadata declare; `ready` loads its decoder
 */
export function bloscStep(inner: unknown): Step {
  const decoders = new Map<string, DecoderMaker>([
    ['lz4', lz4Streams],
    ['blosclz', bloscLzStreams],
  ])
  if (inner === 'snappy') throw notRead(inner)
  const load = typeof inner === 'string' && Object.hasOwn(LOADED, inner) ? LOADED[inner as keyof typeof LOADED] : undefined
  return {
    name: 'blosc',
    async ready() {
      if (load !== undefined) decoders.set(inner as string, await load())
    },
    decodeIn: (arena, pointer, length, decodedBytes, mostBytes) =>
      decodeFrame(arena, decoders, pointer, length, decodedBytes, mostBytes),
  }
}

/** Compressors whose decoders are loaded on demand. */
const LOADED = {
  zstd: async () => (await import('./zstd.ts')).loadZstdStreams(),
  zlib: async () => outside(await loadInflateSync()),
}

/** Reasons by the kernel's error codes -1, -2, ... (assembly/blosclz-decode.ts). */
const REASONS = [
  'it ends in the middle',
  'a match reaches back to before the start of the output',
  'it decodes to more bytes than expected',
  'it decodes to fewer bytes than expected',
]

function bloscLzStreams(arena: Arena): StreamDecoder {
  const { bloscLzDecode } = filters(arena)
  return (src, srcBytes, dst, dstBytes) => {
    const code = bloscLzDecode(src, srcBytes, dst, dstBytes)
    if (code < 0)
      throw malformed(`a stream of blosclz: ${REASONS[-code - 1]} (${srcBytes} bytes of input, ${dstBytes} of output)`)
  }
}

interface Header {
  readonly innerFormat: number
  readonly flags: number
  readonly typesize: number
  readonly decodedBytes: number
  readonly blockBytes: number
  readonly compressor: string
}

function readHeader(view: DataView, length: number, expected: number | undefined, mostBytes: number): Header {
  if (length < HEADER_BYTES) throw malformed(`${length} bytes have no room for its header`)
  const [format, innerFormat, flags, typesize] = [0, 1, 2, 3].map((at) => view.getUint8(at)) as [number, number, number, number]
  const [decodedBytes, blockBytes, frameBytes] = [4, 8, 12].map((at) => view.getUint32(at, true)) as [number, number, number]
  if (format !== FORMAT) throw malformed(`its format is ${format} instead of ${FORMAT}`)
  if (frameBytes !== length) throw malformed(`it says to have ${frameBytes} bytes and has ${length}`)
  checkSize('blosc', decodedBytes, expected, mostBytes)
  const number = flags >> COMPRESSOR_SHIFT
  const compressor = COMPRESSORS[number] ?? `number ${number}`
  const header = { innerFormat, flags, typesize, decodedBytes, blockBytes, compressor }
  if (decodedBytes > 0) checkHeader(header, length)
  return header
}

function checkHeader({ innerFormat, flags, typesize, decodedBytes, blockBytes, compressor }: Header, length: number): void {
  if (flags & RESERVED) throw malformed('a flag is set that must not be')
  if (typesize === 0) throw malformed('its elements have 0 bytes')
  if (blockBytes === 0 || blockBytes > decodedBytes) throw malformed(`blocks of ${blockBytes} of ${decodedBytes} bytes`)
  if (flags & NOT_COMPRESSED) {
    if (length === decodedBytes + HEADER_BYTES) return
    throw malformed(`${length} bytes that are not compressed are not ${decodedBytes}`)
  }
  if (!(compressor in MOST_RATIO)) throw notRead(compressor)
  if (innerFormat !== INNER_FORMAT)
    throw malformed(`the format of ${compressor} in it is ${innerFormat} instead of ${INNER_FORMAT}`)
  const blocks = Math.ceil(decodedBytes / blockBytes)
  if (blocks > (length - HEADER_BYTES) / 4) throw malformed(`${length} bytes have no room for where ${blocks} blocks start`)
  if (decodedBytes > length * MOST_RATIO[compressor]!) throw malformed(`${length} bytes cannot decode to ${decodedBytes}`)
}

function decodeFrame(
  arena: Arena,
  decoders: ReadonlyMap<string, DecoderMaker>,
  pointer: number,
  length: number,
  expected: number | undefined,
  mostBytes: number,
): Span {
  const header = readHeader(viewAt(arena, pointer, length), length, expected, mostBytes)
  const { flags, decodedBytes, blockBytes, compressor } = header
  if (decodedBytes === 0) return { pointer, length: 0 }
  if (flags & NOT_COMPRESSED) return { pointer: pointer + HEADER_BYTES, length: decodedBytes }

  // All memory is allocated first, because the views below are valid only until the memory grows.
  const maker = decoders.get(compressor)
  if (maker === undefined) throw malformed(`it is compressed by ${compressor}, of which the metadata say nothing`)
  const target = arena.alloc(decodedBytes)
  arena.scratch(() => {
    const decoder = maker(arena)
    const shuffled = isShuffled(header) ? arena.alloc(blockBytes) : 0
    const planes = flags & BIT_SHUFFLED ? arena.alloc(blockBytes) : 0
    const view = viewAt(arena, pointer, length)
    for (let at = 0, start = HEADER_BYTES; at < decodedBytes; at += blockBytes, start += 4) {
      const bytes = Math.min(blockBytes, decodedBytes - at)
      const into = shuffled === 0 ? target + at : shuffled
      decodeStreams(arena, decoder, header, view, pointer, view.getUint32(start, true), into, bytes)
      if (shuffled !== 0) unshuffleBlock(arena, header, shuffled, target + at, bytes, planes)
    }
  })
  return { pointer: target, length: decodedBytes }
}

const viewAt = (arena: Arena, pointer: number, length: number): DataView =>
  new DataView(arena.kernels.memory.buffer, pointer, length)

const isShuffled = ({ flags, typesize, blockBytes }: Header): boolean =>
  Boolean(flags & SHUFFLED && typesize > 1) || Boolean(flags & BIT_SHUFFLED && blockBytes >= typesize)

/** Decodes the streams of the block that begins at `start` in the frame, one after another. */
function decodeStreams(
  arena: Arena,
  decoder: StreamDecoder,
  header: Header,
  frame: DataView,
  pointer: number,
  start: number,
  into: number,
  bytes: number,
): void {
  const streams = countStreams(header, bytes)
  const streamBytes = bytes / streams
  let at = start
  for (let i = 0; i < streams; i++) {
    if (at < HEADER_BYTES || at > frame.byteLength - 4) throw malformed(`a stream at byte ${at} of ${frame.byteLength}`)
    const size = frame.getUint32(at, true)
    at += 4
    if (size > frame.byteLength - at) throw malformed(`a stream of ${size} bytes at byte ${at} of ${frame.byteLength}`)
    const to = into + i * streamBytes
    if (size === streamBytes) arena.bytes(to, size).set(arena.bytes(pointer + at, size))
    else decoder(pointer + at, size, to, streamBytes)
    at += size
  }
}

function countStreams({ flags, typesize, blockBytes }: Header, bytes: number): number {
  const isSplit =
    !(flags & NOT_SPLIT) &&
    bytes === blockBytes &&
    typesize <= MOST_STREAMS &&
    Math.floor(bytes / typesize) >= LEAST_SPLIT_ELEMENTS
  if (!isSplit) return 1
  if (bytes % typesize !== 0) throw malformed(`a block of ${bytes} bytes does not split into ${typesize} streams`)
  return typesize
}

function unshuffleBlock(
  arena: Arena,
  { flags, typesize }: Header,
  src: number,
  dst: number,
  bytes: number,
  planes: number,
): void {
  if (flags & SHUFFLED && typesize > 1) filters(arena).unshuffle(typesize, src, dst, bytes)
  else if (bytes >= typesize) filters(arena).bitUnshuffle(typesize, src, dst, bytes, planes)
  else arena.bytes(dst, bytes).set(arena.bytes(src, bytes))
}

const notRead = (compressor: string): HyperslabError =>
  new HyperslabError('CodecError', `blosc with ${compressor} inside is not read; pass a codec named 'blosc' in \`codecs\``, {
    actual: compressor,
  })

const malformed = (text: string): HyperslabError => new HyperslabError('CodecError', `malformed blosc frame: ${text}`)
