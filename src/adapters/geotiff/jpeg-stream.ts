import { joinBytes } from '../../core/bytes.ts'
import { HyperslabError } from '../../core/errors.ts'

const [SOI, EOI, SOS, COM, APP0, APP15] = [0xd8, 0xd9, 0xda, 0xfe, 0xe0, 0xef]
/** Frame headers that baseline and progressive streams have. */
const FRAMES = [0xc0, 0xc1, 0xc2]
const START = Uint8Array.of(0xff, SOI)

/** Sizes in the header of a JPEG stream. */
export interface JpegFrame {
  readonly width: number
  readonly height: number
  readonly components: number
  /** Bits of a sample. */
  readonly bits: number
}

/** A complete JPEG stream. */
export interface JpegStream {
  readonly bytes: Uint8Array
  readonly frame: JpegFrame
}

/**
 * Returns a complete JPEG stream of a tile: adds the shared tables, removes profiles and the orientation, and
 * adds Adobe's marker, which states whether three components are YCbCr. TIFF stores this only in a tag.
 * @param tables stream with the tables, without a picture
 * @throws CodecError if the stream is damaged
 */
export function completeJpeg(tile: Uint8Array, tables: Uint8Array | undefined, isYcbcr: boolean): JpegStream {
  const parts = [START, adobeMarker(isYcbcr)]
  let frame: JpegFrame | undefined
  for (const stream of tables === undefined ? [tile] : [tables, tile]) {
    const { segments, rest } = split(stream)
    for (const { marker, bytes } of segments) {
      if ((marker >= APP0 && marker <= APP15) || marker === COM) continue
      if (FRAMES.includes(marker)) frame = parseFrame(bytes)
      parts.push(bytes)
    }
    if (stream === tile) parts.push(rest)
  }
  return frame === undefined ? damaged('there is no header of a frame') : { bytes: joinBytes(parts), frame }
}

/** Adobe's marker: version 100, no flags, and the transform of the colours. */
const adobeMarker = (isYcbcr: boolean): Uint8Array =>
  Uint8Array.of(0xff, 0xee, 0, 14, ...Array.from('Adobe', (letter) => letter.charCodeAt(0)), 0, 100, 0, 0, 0, 0, Number(isYcbcr))

interface Segment {
  readonly marker: number
  /** The segment with its marker and its length. */
  readonly bytes: Uint8Array
}

/** Splits a stream into the segments of its header, and the rest, which starts with the first scan. */
function split(stream: Uint8Array): { readonly segments: Segment[]; readonly rest: Uint8Array } {
  if (stream[0] !== 0xff || stream[1] !== SOI) damaged('it does not start with its marker')
  const segments: Segment[] = []
  let at = 2
  while (at < stream.length) {
    if (stream[at] !== 0xff) damaged(`byte ${at} is no marker`)
    const marker = stream[at + 1]!
    // Fill bytes of 0xff may precede a marker.
    if (marker === 0xff) {
      at++
      continue
    }
    if (marker === SOS || marker === EOI) break
    const length = 2 + (stream[at + 2]! << 8) + stream[at + 3]!
    if (!(length >= 4 && at + length <= stream.length)) damaged(`the segment at byte ${at} is cut off`)
    segments.push({ marker, bytes: stream.subarray(at, at + length) })
    at += length
  }
  return { segments, rest: stream.subarray(at) }
}

function parseFrame(segment: Uint8Array): JpegFrame {
  if (segment.length < 10) damaged('the header of the frame is cut off')
  const [, , , , bits, h1, h0, w1, w0, components] = segment as unknown as number[]
  return { width: w1! * 256 + w0!, height: h1! * 256 + h0!, components: components!, bits: bits! }
}

function damaged(text: string): never {
  throw new HyperslabError('CodecError', `malformed jpeg bytes: ${text}`)
}
