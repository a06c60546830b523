import { HyperslabError } from '../core/errors.ts'
import { wrongLength } from './codec.ts'

// RFC 8878. A block of a container is one frame, or several, with skippable ones between them:
//
//     magic 28 B5 2F FD | descriptor | window 0-1 | dictionary 0-4 | content size 0-8 | blocks | checksum 0 or 4
//
// A block is 3 bytes, little-endian: last (1 bit), type (2 bits), size (21 bits); then as many bytes, or one
// that is repeated.

const MAGIC = 0xfd2fb528
/** Magic numbers `184D2A50` to `184D2A5F`, followed by a u32 of the bytes to skip. */
const SKIPPABLE = 0x184d2a5
const RLE = 1
const RESERVED = 3
/** Largest content of a block. */
const BLOCK_BYTES = 128 * 1024

/** A parsed frame. */
export interface Frame {
  /** Declared content size, if there is one. */
  readonly contentBytes: number | undefined
  readonly blocks: Uint8Array
  /** Position of the last block in `blocks`. */
  readonly last: number
  /** 4 bytes, or empty. */
  readonly checksum: Uint8Array
}

/** One of several frames, with its range of the decoded bytes. */
interface FramePart {
  readonly frame: Frame
  readonly start: number
  readonly size: number
}

/** Decodes a frame without a declared size to at most `mostBytes` bytes, and returns its size. */
export type FrameMeasure = (frame: Frame, mostBytes: number) => number

/**
 * Maximum number of frames without a declared size. Measuring one allocates at least a block, however short
 * the frame is.
 */
const MOST_SILENT_FRAMES = 1024

/**
 * Returns the frames that decode to `decodedBytes` bytes.
 * @param measure called for frames without a declared size, except the last one
 * @throws CodecError if a frame is incomplete or needs a dictionary, or if the frames declare another
 *   number of bytes
 */
export function splitFrames(bytes: Uint8Array, decodedBytes: number, measure: FrameMeasure): readonly FramePart[] {
  const frames = parseFrames(bytes)
  let end = 0
  return frameSizes(frames, decodedBytes, measure).map((size, i) => {
    end += size
    return { frame: frames[i]!, start: end - size, size }
  })
}

/**
 * Returns the decoded size of each frame: the declared size, or the measured one if none is declared. The
 * last frame without a declared size gets the remaining bytes.
 * @throws CodecError if the sum is not `decodedBytes`, so that no frame gets more room than the block has
 */
function frameSizes(frames: readonly Frame[], decodedBytes: number, measure: FrameMeasure): number[] {
  const known = frames.reduce((sum, { contentBytes = 0 }) => sum + contentBytes, 0)
  let silent = frames.filter(({ contentBytes }) => contentBytes === undefined).length
  if (silent > MOST_SILENT_FRAMES)
    throw malformed(`${silent} of its ${frames.length} frames do not say their size, and ${MOST_SILENT_FRAMES} may`)
  if (known > decodedBytes || (silent === 0 && known < decodedBytes)) throw wrongLength('zstd', known, decodedBytes)
  let left = decodedBytes - known
  return frames.map((frame) => {
    if (frame.contentBytes !== undefined) return frame.contentBytes
    const size = --silent === 0 ? left : measure(frame, Math.min(mostContent(frame), left))
    left -= size
    return size
  })
}

/** @throws CodecError if a frame is incomplete, or needs a dictionary */
export function parseFrames(bytes: Uint8Array): Frame[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const frames: Frame[] = []
  let at = 0
  try {
    while (at < bytes.length) {
      const magic = view.getUint32(at, true)
      if (magic >>> 4 === SKIPPABLE) at += 8 + view.getUint32(at + 4, true)
      else if (magic !== MAGIC) throw malformed(`there is no zstd frame at byte ${at} of ${bytes.length}`)
      else {
        const { contentBytes, start, hasChecksum } = headerAt(view, at + 4)
        const { last, end } = blocksAt(view, start)
        at = end + (hasChecksum ? 4 : 0)
        frames.push({ contentBytes, blocks: bytes.subarray(start, end), last: last - start, checksum: bytes.subarray(end, at) })
      }
    }
  } catch (error) {
    if (error instanceof RangeError) at = Number.POSITIVE_INFINITY
    else throw error
  }
  if (at > bytes.length) throw malformed(`the zstd frame ends in the middle, after ${bytes.length} bytes`)
  return frames
}

function headerAt(view: DataView, at: number): { contentBytes: number | undefined; start: number; hasChecksum: boolean } {
  const descriptor = view.getUint8(at)
  if (descriptor & 8) throw malformed('a bit of the frame header that must be 0 is set')
  const single = (descriptor & 32) !== 0
  const size = dictionaryEnd(view, at + (single ? 1 : 2), descriptor & 3)
  const sizeBytes = descriptor >> 6 === 0 ? Number(single) : 1 << (descriptor >> 6)
  return { contentBytes: contentBytesAt(view, size, sizeBytes), start: size + sizeBytes, hasChecksum: (descriptor & 4) !== 0 }
}

/**
 * Returns the offset after the number of the dictionary, which takes 0, 1, 2 or 4 bytes. The number 0 stands
 * for none.
 * @throws CodecError for another number
 */
function dictionaryEnd(view: DataView, at: number, sizeCode: number): number {
  const end = at + ((1 << sizeCode) >> 1)
  for (let i = at; i < end; i++) if (view.getUint8(i) !== 0) throw malformed('it was made with a dictionary')
  return end
}

function contentBytesAt(view: DataView, at: number, sizeBytes: number): number | undefined {
  if (sizeBytes === 0) return undefined
  if (sizeBytes === 1) return view.getUint8(at)
  if (sizeBytes === 2) return view.getUint16(at, true) + 256
  return sizeBytes === 4 ? view.getUint32(at, true) : Number(view.getBigUint64(at, true))
}

function blocksAt(view: DataView, start: number): { count: number; last: number; end: number } {
  for (let at = start, count = 1; ; count++) {
    const header = view.getUint16(at, true) | (view.getUint8(at + 2) << 16)
    const type = (header >> 1) & 3
    if (type === RESERVED) throw malformed(`a block of an unknown type at byte ${at}`)
    const end = at + 3 + (type === RLE ? 1 : header >>> 3)
    if (header & 1) return { count, last: at, end }
    at = end
  }
}

/** Returns the largest number of bytes that a frame can decode to, whatever it declares. */
export const mostContent = ({ blocks }: Frame): number =>
  BLOCK_BYTES * blocksAt(new DataView(blocks.buffer, blocks.byteOffset, blocks.length), 0).count

/**
 * Returns the frame with a header of this package, which declares the size. A decoder then needs no memory
 * beside the output, whatever the original header required.
 */
export function toFrame({ blocks, checksum }: Frame, contentBytes: number): Uint8Array {
  const out = new Uint8Array(9 + blocks.length + checksum.length)
  const view = new DataView(out.buffer)
  view.setUint32(0, MAGIC, true)
  // A content size of 4 bytes, a single segment.
  out[4] = 0b1010_0000 | checksum.length
  view.setUint32(5, contentBytes, true)
  out.set(blocks, 9)
  out.set(checksum, 9 + blocks.length)
  return out
}

/**
 * Returns the frame with a header of this package that declares no size.
 * @param mostBytes upper bound of its size, which becomes the window of the decoder
 */
export function toUnsizedFrame({ blocks, checksum }: Frame, mostBytes: number): Uint8Array {
  const out = new Uint8Array(6 + blocks.length + checksum.length)
  new DataView(out.buffer).setUint32(0, MAGIC, true)
  out[4] = checksum.length
  // The window is a power of two, at least 1 KiB.
  out[5] = Math.max(0, Math.ceil(Math.log2(Math.max(1, mostBytes))) - 10) << 3
  out.set(blocks, 6)
  out.set(checksum, 6 + blocks.length)
  return out
}

/** Returns a frame's blocks, continued by a last, uncompressed block of `bytes`. */
export function continued({ blocks, last }: Frame, bytes: Uint8Array): Frame {
  const out = new Uint8Array(blocks.length + 3 + bytes.length)
  out.set(blocks)
  out[last]! &= ~1
  out[blocks.length] = (bytes.length << 3) | 1
  out.set(bytes, blocks.length + 3)
  return { contentBytes: undefined, blocks: out, last: blocks.length, checksum: new Uint8Array(0) }
}

/**
 * Compares decoded bytes with the frame's checksum. Every decoder that does not compare calls this.
 * @param sum returns the low 4 bytes of XXH64 of the decoded bytes; called only if the frame has a checksum
 * @throws CodecError if they differ
 */
export function checkContent({ checksum }: Frame, sum: () => number): void {
  if (checksum.length === 0) return
  const expected = new DataView(checksum.buffer, checksum.byteOffset).getUint32(0, true)
  const actual = sum() >>> 0
  if (actual === expected) return
  const hex = (value: number): string => value.toString(16).padStart(8, '0')
  throw new HyperslabError(
    'CodecError',
    `damaged zstd frame: its content has the checksum ${hex(actual)} instead of ${hex(expected)}`,
    { actual, expected },
  )
}

export const malformed = (text: string): HyperslabError => new HyperslabError('CodecError', `malformed zstd block: ${text}`)
