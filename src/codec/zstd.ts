import { joinBytes } from '../core/bytes.ts'
import { aboveLimit, checkSize } from './bounds.ts'
import { wrongLength } from './codec.ts'
import { platformZlib } from './platform-zlib.ts'
import { type DecoderMaker, outside } from './stream-decoder.ts'
import {
  checkContent,
  continued,
  type Frame,
  type FrameMeasure,
  malformed,
  mostContent,
  parseFrames,
  splitFrames,
  toFrame,
  toUnsizedFrame,
} from './zstd-frames.ts'

/**
 * Decodes one or several Zstandard frames by the platform's library if there is one. Otherwise it uses a
 * WebAssembly module of this package, or fzstd if WebAssembly cannot be compiled. Each decoder is loaded on
 * first use.
 * @throws CodecError, or any error of the decoder, if the frames are malformed, decode to another length, or
 *   differ from their checksums
 */
export async function decode(bytes: Uint8Array, decodedBytes: number): Promise<Uint8Array> {
  const decodeFrame = await frameDecoder()
  const measure = await frameMeasure()
  const parts: Uint8Array[] = []
  for (const { frame, size } of splitFrames(bytes, decodedBytes, measure)) {
    const part = await decodeFrame(frame, size)
    if (part.length !== size) throw wrongLength('zstd', part.length, size)
    parts.push(part)
  }
  return joinBytes(parts)
}

const frameDecoder = async (): Promise<FrameDecoder> => nativeDecoder() ?? portable()

/**
 * Returns a synchronous decoder for frames without a declared size. They are rare, so threads of the
 * platform's own decoder are not used.
 */
async function frameMeasure(): Promise<FrameMeasure> {
  const native = platformZlib()?.zstdDecompressSync
  if (native !== undefined) return nativeMeasure(native)
  const { hasZstdKernels, measureFrame } = await import('./zstd-wasm.ts')
  return hasZstdKernels() ? measureFrame : interpretedMeasure()
}

const nativeMeasure =
  (native: NonNullable<NonNullable<ReturnType<typeof platformZlib>>['zstdDecompressSync']>): FrameMeasure =>
  (frame, mostBytes) =>
    native(toUnsizedFrame(frame, mostBytes), {
      maxOutputLength: Math.max(mostBytes, 1),
      chunkSize: Math.min(mostBytes, 128 * 1024) + 64,
    }).length

async function interpretedMeasure(): Promise<FrameMeasure> {
  const decodeUpTo = await interpretedUpTo()
  return (frame, mostBytes) => {
    const out = decodeUpTo(frame, mostBytes)
    if (out === undefined) throw malformed(`a frame decodes to more than ${mostBytes} bytes, or not at all`)
    return out.length
  }
}

type FrameDecoder = (frame: Frame, contentBytes: number) => Uint8Array | Promise<Uint8Array>
type SyncFrameDecoder = (frame: Frame, contentBytes: number) => Uint8Array

/**
 * Loads a decoder that works synchronously on this thread: the platform's library if there is one, else one
 * of those that {@link decode} uses.
 */
export async function loadZstdStreams(): Promise<DecoderMaker> {
  const native = platformZlib()?.zstdDecompressSync
  if (native)
    return decodeOutside(
      (frame, size) => native(toFrame(frame, size), { maxOutputLength: Math.max(size, 1), chunkSize: size + 64 }),
      nativeMeasure(native),
    )
  const { hasZstdKernels, zstdStreams } = await import('./zstd-wasm.ts')
  return hasZstdKernels() ? zstdStreams : decodeOutside(await interpreted(), await interpretedMeasure())
}

const decodeOutside = (decodeFrame: SyncFrameDecoder, measure: FrameMeasure): DecoderMaker =>
  outside((bytes, into) => {
    for (const { frame, start, size } of splitFrames(bytes, into.length, measure)) {
      const part = decodeFrame(frame, size)
      if (part.length !== size) throw wrongLength('zstd', part.length, size)
      into.set(part, start)
    }
  })

/**
 * Decodes frames whose total size is unknown; single frames may declare theirs.
 * @throws CodecError if they decode to more than `mostBytes` bytes, or are malformed
 */
export async function decodeUnsized(bytes: Uint8Array, mostBytes: number): Promise<Uint8Array> {
  const frames = parseFrames(bytes)
  const known = frames.reduce((sum, { contentBytes = 0 }) => sum + contentBytes, 0)
  if (known > mostBytes) throw aboveLimit('zstd', known, mostBytes)
  const decodeFrame = await frameDecoder()
  const parts: Uint8Array[] = []
  let left = mostBytes - known
  for (const frame of frames) {
    const { contentBytes } = frame
    const bound = mostContent(frame)
    if (contentBytes === undefined) {
      const part = (await interpretedUpTo())(frame, Math.min(bound, left))
      if (part === undefined && left < bound) throw aboveLimit('zstd', undefined, mostBytes)
      if (part === undefined) throw malformed(`${frame.blocks.length} bytes of blocks do not decode to ${bound} bytes or less`)
      left -= part.length
      parts.push(part)
    } else {
      if (contentBytes > bound) throw malformed(`a frame that cannot have more than ${bound} bytes says it has ${contentBytes}`)
      parts.push(await decodeFrame(frame, contentBytes))
      checkSize('zstd', parts.at(-1)!.length, contentBytes, mostBytes)
    }
  }
  return joinBytes(parts)
}

async function portable(): Promise<SyncFrameDecoder> {
  const { decodeFrame, hasZstdKernels } = await import('./zstd-wasm.ts')
  return hasZstdKernels() ? decodeFrame : interpreted()
}

/** Loads fzstd, which neither returns the number of decoded bytes nor keeps those beyond the output. */
async function interpreted(): Promise<SyncFrameDecoder> {
  const decodeUpTo = await interpretedUpTo()
  return (frame, contentBytes) => {
    const out = decodeUpTo(frame, contentBytes)
    if (out === undefined) throw malformed(`it decodes to more than ${contentBytes} bytes, or not at all`)
    if (out.length === contentBytes) return out
    throw malformed(`it decodes to less than ${contentBytes} bytes`)
  }
}

/**
 * Decodes a frame by fzstd to at most `mostBytes` bytes; returns undefined if it has more or does not decode.
 * @throws CodecError if the frame is malformed, or its content differs from its checksum
 */
async function interpretedUpTo(): Promise<(frame: Frame, mostBytes: number) => Uint8Array | undefined> {
  const { decompress } = await import('fzstd')
  const { contentChecksum } = await import('./xxh64.ts')
  return (frame, mostBytes) => {
    // The mark, bytes that occur nowhere else, is appended to the frame. Its position shows where the decoded
    // bytes end. The bytes after it belong to the working memory of fzstd.
    const mark = Uint8Array.from({ length: 8 }, () => 1 + Math.random() * 255)
    let out: Uint8Array
    try {
      // Without an output buffer, fzstd allocates the declared size. With one, it compares the buffer with a
      // number, as text, which takes longer than decoding.
      out = decompress(toFrame(continued(frame, mark), mostBytes + mark.length))
    } catch (cause) {
      if (cause instanceof RangeError) return undefined
      throw malformed(cause instanceof Error ? cause.message : String(cause))
    }
    let start = out.length - mark.length
    while (start >= 0 && !(out[start] === mark[0] && mark.every((byte, i) => byte === out[start + i]))) start--
    if (start < 0) return undefined
    const content = out.subarray(0, start)
    checkContent(frame, () => contentChecksum(content))
    return content
  }
}

/** Returns a decoder on threads of the platform; a frame whose declared size is wrong fails to decode. */
function nativeDecoder(): FrameDecoder | undefined {
  const zlib = platformZlib()
  if (zlib?.zstdDecompress === undefined) return undefined
  // A chunk size above the result's size makes zlib allocate a single buffer.
  return (frame, contentBytes) =>
    new Promise((resolve, reject) =>
      zlib.zstdDecompress!(
        toFrame(frame, contentBytes),
        { maxOutputLength: Math.max(contentBytes, 1), chunkSize: contentBytes + 64 },
        (error, result) => (error ? reject(error) : resolve(result)),
      ),
    )
}
