import type { Step } from '../../codec/chain.ts'
import { decodeBase64 } from '../../core/base64.ts'
import { HyperslabError, messageOf } from '../../core/errors.ts'
import { completeJpeg } from './jpeg-stream.ts'
import { type Plane, ycbcrToRgb } from './ycbcr.ts'

/** The used part of a decoded picture of the platform, a `VideoFrame`. */
interface Frame {
  readonly format: string | null
  readonly colorSpace: { readonly fullRange: boolean | null; readonly matrix: string | null }
  readonly visibleRect: { readonly width: number; readonly height: number } | null
  allocationSize(): number
  copyTo(into: Uint8Array): Promise<readonly { readonly offset: number; readonly stride: number }[]>
  close(): void
}

// Browsers have this class in secure contexts. No library that is loaded without the DOM declares it.
declare const ImageDecoder: new (init: {
  readonly data: Uint8Array
  readonly type: string
  readonly colorSpaceConversion: 'none'
  readonly premultiplyAlpha: 'none'
}) => { decode(): Promise<{ readonly image: Frame }>; close(): void }

/** Samples of a picture, pixel by pixel. */
interface Samples {
  readonly bytes: Uint8Array
  readonly width: number
  readonly height: number
}

/** Description of the tiles of a compression of pictures. */
export interface PictureTiles {
  readonly compression: string
  readonly samples: number
  readonly width: number
  readonly rows: number
  /** Largest number of rows of a picture. Some writers store the last strip with all rows. */
  readonly mostRows: number
  /** Whether three samples are stored as YCbCr. */
  readonly isYcbcr: boolean
  /** JPEG stream with the tables that tiles omit. */
  readonly jpegTables: Uint8Array | undefined
}

/** Largest accepted difference between decoders of JPEG. */
const TOLERANCE = 2

/**
 * Returns a step that decodes tiles by the `ImageDecoder` of browsers. A canvas is not used, because it
 * converts colours.
 * @throws UnsupportedError if the decoder gives other values for a known picture
 */
export async function pictureStep(tiles: PictureTiles): Promise<Step> {
  const { compression, samples, width, rows } = tiles
  const reason = await failedTest(compression, samples)
  if (reason !== undefined) {
    const text = `this browser decodes ${compression} of ${samples} samples incorrectly (${reason}); pass a codec named '${compression}' in \`codecs\``
    throw new HyperslabError('UnsupportedError', text, { actual: compression })
  }
  return {
    name: compression,
    async decode(bytes) {
      const stream = compression === 'jpeg' ? checkedJpeg(bytes, tiles) : checkedWebp(bytes, tiles)
      const picture = await decodePicture(stream, compression, samples)
      checkPicture(compression, picture, tiles)
      return picture.bytes.subarray(0, rows * width * samples)
    },
  }
}

function checkedJpeg(bytes: Uint8Array, tiles: PictureTiles): Uint8Array {
  const { bytes: stream, frame } = completeJpeg(bytes, tiles.jpegTables, tiles.isYcbcr)
  // Checked before the platform allocates the picture.
  checkPicture('jpeg', frame, tiles)
  if (frame.components !== tiles.samples || frame.bits !== 8) {
    const text = `a tile of jpeg has ${frame.components} components of ${frame.bits} bits instead of ${tiles.samples} of 8 bits`
    throw new HyperslabError('CodecError', text, { actual: frame.components, expected: tiles.samples })
  }
  return stream
}

function checkedWebp(bytes: Uint8Array, tiles: PictureTiles): Uint8Array {
  const size = webpSize(bytes)
  if (size === undefined) throw new HyperslabError('CodecError', 'malformed webp bytes: there is no header of a picture')
  checkPicture('webp', size, tiles)
  return bytes
}

/** Returns the size of a picture in WebP: lossy, lossless or extended. */
function webpSize(bytes: Uint8Array): { readonly width: number; readonly height: number } | undefined {
  if (bytes.length < 25) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  const kind = String.fromCharCode(...bytes.subarray(8, 16))
  if (kind === 'WEBPVP8L') {
    const packed = view.getUint32(21, true)
    return { width: 1 + (packed & 0x3fff), height: 1 + ((packed >>> 14) & 0x3fff) }
  }
  if (bytes.length < 30) return undefined
  if (kind === 'WEBPVP8 ') return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff }
  const three = (at: number): number => 1 + view.getUint16(at, true) + 65536 * bytes[at + 2]!
  return kind === 'WEBPVP8X' ? { width: three(24), height: three(27) } : undefined
}

/** @throws CodecError unless the picture has the width of the tile, and all of its rows */
function checkPicture(
  name: string,
  { width, height }: { readonly width: number; readonly height: number },
  tiles: PictureTiles,
): void {
  if (width === tiles.width && height >= tiles.rows && height <= tiles.mostRows) return
  const text = `a tile of ${name} is a picture of ${width} x ${height} pixels instead of ${tiles.width} x ${tiles.rows}`
  throw new HyperslabError('CodecError', text, { actual: [width, height], expected: [tiles.width, tiles.rows] })
}

/** Decodes a picture as the platform's decoder stores it. */
async function decodePicture(data: Uint8Array, compression: string, samples: number): Promise<Samples> {
  const decoder = new ImageDecoder({ data, type: `image/${compression}`, colorSpaceConversion: 'none', premultiplyAlpha: 'none' })
  try {
    const { image } = await decoder.decode()
    try {
      return await readSamples(image, samples)
    } finally {
      image.close()
    }
  } finally {
    decoder.close()
  }
}

/** Returns the samples of a decoded picture. */
async function readSamples(frame: Frame, samples: number): Promise<Samples> {
  const { format, visibleRect, colorSpace } = frame
  if (visibleRect === null || format === null)
    throw new HyperslabError('UnsupportedError', 'the browser returns no samples of the picture; pass a codec in `codecs`', {
      actual: 'nothing',
    })
  const { width, height } = visibleRect
  const bytes = new Uint8Array(frame.allocationSize())
  const layout = await frame.copyTo(bytes)
  const order = CHANNELS[format]?.slice(0, samples)
  if (order !== undefined) return { bytes: pick(bytes, layout[0]!, order, width, height), width, height }
  const halves = HALVED[format]
  if (halves === undefined || samples !== 3 || colorSpace.matrix !== 'smpte170m' || colorSpace.fullRange !== true) {
    const text = `the browser returns pictures in the format ${format} with the matrix ${colorSpace.matrix}, which is not supported; pass a codec in \`codecs\``
    throw new HyperslabError('UnsupportedError', text, { actual: format })
  }
  const [luma, cb, cr] = layout.map(({ offset, stride }, i): Plane => {
    const [wide, tall] = i === 0 ? [1, 1] : halves
    return { bytes: bytes.subarray(offset), stride, width: Math.ceil(width / wide), height: Math.ceil(height / tall) }
  })
  return { bytes: ycbcrToRgb(luma!, cb!, cr!, halves), width, height }
}

/** The byte of a pixel that is not used: such pictures are opaque. */
const OPAQUE = -1

/** Positions of red, green, blue and alpha within a pixel, by the names of formats. */
const CHANNELS: Readonly<Record<string, readonly number[]>> = {
  RGBA: [0, 1, 2, 3],
  RGBX: [0, 1, 2, OPAQUE],
  BGRA: [2, 1, 0, 3],
  BGRX: [2, 1, 0, OPAQUE],
}

/** Pixels for a sample of the colours along x and y, by the names of formats. */
const HALVED: Readonly<Record<string, readonly [number, number]>> = { I444: [1, 1], I422: [2, 1], I420: [2, 2] }

/** Picks some of the four bytes of each pixel. */
function pick(
  bytes: Uint8Array,
  { offset, stride }: { readonly offset: number; readonly stride: number },
  order: readonly number[],
  width: number,
  height: number,
): Uint8Array {
  const picked = new Uint8Array(width * height * order.length)
  for (let y = 0, i = 0; y < height; y++)
    for (let x = 0, at = offset + y * stride; x < width; x++, at += 4)
      for (const place of order) picked[i++] = place === OPAQUE ? 255 : bytes[at + place]!
  return picked
}

/** Known pictures of 16 x 16 pixels: their samples follow from the position. */
const PICTURES: Readonly<Record<string, { readonly text: string; sample(x: number, y: number, band: number): number }>> = {
  'jpeg 1': {
    text:
      '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4RDgsLEBYQ' +
      'ERMUFRUVDA8XGBYUGBIUFRT/wAALCAAQABABAREA/8QAFQABAQAAAAAAAAAAAAAAAAAACAf/xAAaEAAABwAAAAAAAAAAAAAA' +
      'AAAABgcjM0FR/9oACAEBAAA/ADWlpIhbygwEtJELeUJ+lpIhbygwEtJELeUP/9k=',
    sample: (x, y) => 20 + 9 * x + 6 * y,
  },
  'jpeg 3': {
    text:
      '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB' +
      'AQEBAQEBAQEBAQEBAQEBAQH/2wBDAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB' +
      'AQEBAQEBAQEBAQEBAQH/wAARCAAQABADASIAAhEBAxEB/8QAFgABAQEAAAAAAAAAAAAAAAAACAcK/8QAIhAAAQALAQEBAAAA' +
      'AAAAAAAAAQAGBxEkMTNBQlKR4UPB/8QAFQEBAQAAAAAAAAAAAAAAAAAABwj/xAAjEQABAgMJAQAAAAAAAAAAAAABCBEAA2Ek' +
      'MTI1QkNTZaPw/9oADAMBAAIRAxEAPwC+KE2OjFa/Th/Dwi6NVQmxUYrXP23QJPCZz1CbFRitc/bdAk8I1lCbFRitc/b8Jk4o' +
      'MT0e9X4s+FtJDRDSUU55bYTs3ygeOh+rH//Z',
    sample: coloured,
  },
  'webp 3': {
    text: 'UklGRjYAAABXRUJQVlA4TCkAAAAvD8ADALmM6H/sogwF6X+ASNtm/q2Oz8Lh6RVSCAQoU4VLYgJ8sGZ3AQA=',
    sample: coloured,
  },
  'webp 4': {
    text: 'UklGRjoAAABXRUJQVlA4TC4AAAAvD8ADELmM6H/sogwF6X+ASNtm/q2Oz8Lh6RVSCAQoU4VLBAIpbIMnwA9Ys+8C',
    sample: coloured,
  },
}

function coloured(x: number, y: number, band: number): number {
  return [20 + 10 * x, 235 - 10 * y, 60 + 3 * x + 4 * y, 16 * y][band]!
}

const SIZE = 16
/** Border in pixels that the test skips, because decoders extrapolate colours there. */
const EDGE = 2

const tested = new Map<string, Promise<string | undefined>>()

/** Decodes a known picture. Returns the reason if it has other samples; undefined if it is right. */
function failedTest(compression: string, samples: number): Promise<string | undefined> {
  const key = `${compression} ${samples}`
  const known = tested.get(key) ?? decodeKnown(compression, samples, PICTURES[key]!)
  tested.set(key, known)
  return known
}

async function decodeKnown(
  compression: string,
  samples: number,
  { text, sample }: (typeof PICTURES)[string],
): Promise<string | undefined> {
  const stream = decodeBase64(text)!
  const data = compression === 'jpeg' ? completeJpeg(stream, undefined, samples === 3).bytes : stream
  try {
    const { bytes, width } = await decodePicture(data, compression, samples)
    const edge = compression === 'jpeg' ? EDGE : 0
    const tolerance = compression === 'jpeg' ? TOLERANCE : 0
    for (let y = edge; y < SIZE - edge; y++)
      for (let x = edge; x < SIZE - edge; x++)
        for (let band = 0; band < samples; band++) {
          const [found, expected] = [bytes[(y * width + x) * samples + band], sample(x, y, band)]
          if (found === undefined || Math.abs(found - expected) > tolerance) return `a sample is ${found} instead of ${expected}`
        }
    return undefined
  } catch (error) {
    // The next read tests it again.
    tested.delete(`${compression} ${samples}`)
    return messageOf(error)
  }
}
