import { afterEach, describe, expect, test, vi } from 'vitest'
import { completeJpeg } from '../../../src/adapters/geotiff/jpeg-stream.ts'
import type { PictureTiles } from '../../../src/adapters/geotiff/picture-step.ts'
import { ycbcrToRgb } from '../../../src/adapters/geotiff/ycbcr.ts'

const segment = (marker: number, ...bytes: number[]): number[] => [0xff, marker, 0, bytes.length + 2, ...bytes]
const [SOI, EOI] = [
  [0xff, 0xd8],
  [0xff, 0xd9],
] as const
const TABLE = segment(0xdb, 0, 1, 2)
const CODES = segment(0xc4, 7, 8)
/** Frame of 8 bits, 5 rows of 300 pixels, 3 components. */
const FRAME = segment(0xc0, 8, 0, 5, 1, 44, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1)
const SCAN = [...segment(0xda, 3, 1, 0, 2, 17, 3, 17, 0, 63, 0), 9, 0xff, 0, 9, ...EOI]
const adobe = (transform: number): number[] => [
  ...segment(0xee, ...Array.from('Adobe', (letter) => letter.charCodeAt(0)), 0, 100, 0, 0, 0, 0, transform),
]

describe('completeJpeg', () => {
  test('joins tables and a tile, and tells how colours are stored', () => {
    const profile = segment(0xe2, 1, 2, 3)
    const tile = Uint8Array.from([...SOI, ...segment(0xe0, 74), ...profile, ...adobe(1), ...segment(0xfe, 65), ...FRAME, ...SCAN])
    const tables = Uint8Array.from([...SOI, ...TABLE, 0xff, ...CODES, ...EOI])
    for (const isYcbcr of [false, true]) {
      const { bytes, frame } = completeJpeg(tile, tables, isYcbcr)
      expect([...bytes]).toEqual([...SOI, ...adobe(Number(isYcbcr)), ...TABLE, ...CODES, ...FRAME, ...SCAN])
      expect(frame).toEqual({ width: 300, height: 5, components: 3, bits: 8 })
    }
  })

  test.each([
    ['no marker at its start', [1, 2, 3], 'does not start with its marker'],
    ['nothing', [], 'does not start with its marker'],
    ['no frame', [...SOI, ...TABLE, ...SCAN], 'no header of a frame'],
    ['a segment that is cut off', [...SOI, 0xff, 0xdb, 0, 200, 1], 'the segment at byte 2 is cut off'],
    ['a length of a segment below its own', [...SOI, 0xff, 0xdb, 0, 1, 1, 1], 'the segment at byte 2 is cut off'],
    ['bytes between segments', [...SOI, ...TABLE, 5, ...FRAME], `byte ${2 + TABLE.length} is no marker`],
    ['a frame that is cut off', [...SOI, ...segment(0xc0, 8, 0), ...SCAN], 'the header of the frame is cut off'],
  ])('refuses a stream with %s', (_, bytes, text) => {
    expect(() => completeJpeg(Uint8Array.from(bytes), undefined, true)).toThrow(
      expect.objectContaining({ tag: 'CodecError', message: expect.stringContaining(text) }),
    )
  })
})

describe('ycbcrToRgb', () => {
  const grey = (width: number, height: number) => ({
    bytes: new Uint8Array(width * height).fill(128),
    stride: width,
    width,
    height,
  })

  test('returns the values of libjpeg for single pixels', () => {
    // Luma, Cb, Cr, and the pixel, by the fixed-point numbers of libjpeg.
    const pixels = [
      [128, 128, 128, 128, 128, 128],
      [76, 85, 255, 254, 0, 0],
      [150, 44, 21, 0, 255, 1],
      [29, 255, 107, 0, 0, 254],
      [0, 0, 0, 0, 135, 0],
      [255, 255, 255, 255, 121, 255],
    ]
    for (const [y, cb, cr, ...rgb] of pixels) {
      const one = (value: number) => ({ bytes: Uint8Array.of(value), stride: 1, width: 1, height: 1 })
      expect([...ycbcrToRgb(one(y!), one(cb!), one(cr!), [1, 1])]).toEqual(rgb)
    }
  })

  test('interpolates colours by weights of 3 and 1, also at odd sizes', () => {
    const cr = { bytes: Uint8Array.of(128, 160, 192, 0, 144, 176, 208, 0), stride: 4, width: 3, height: 2 }
    const reds = (width: number, height: number): number[] => {
      const luma = { ...grey(width, height), bytes: new Uint8Array(width * height) }
      const rgb = ycbcrToRgb(luma, grey(cr.width, 2), cr, [2, height > 2 ? 2 : 1])
      return Array.from({ length: width * height }, (_, i) => rgb[3 * i]!)
    }
    // Red is 1.402 (Cr - 128), rounded. Rows of the colours are 128 160 192 and 144 176 208.
    const red = (value: number): number => Math.round(1.402 * (value - 128))
    const across = [128, 136, 152, 168, 184, 192].map(red)
    expect(reds(6, 2)).toEqual([...across, ...[144, 152, 168, 184, 200, 208].map(red)])
    expect(reds(5, 2)).toEqual([...across.slice(0, 5), ...[144, 152, 168, 184, 200].map(red)])
    const first = [128, 136, 152, 168, 184, 192]
    const rows = [0, 4, 12, 16].map((down) => first.map((value) => red(value + down)))
    expect(reds(6, 4)).toEqual(rows.flat())
    expect(reds(6, 3)).toEqual(rows.slice(0, 3).flat())
  })

  test('repeats colours of one or two samples', () => {
    const cr = { bytes: Uint8Array.of(128, 160), stride: 2, width: 2, height: 1 }
    const luma = { bytes: new Uint8Array(6), stride: 3, width: 3, height: 2 }
    const rgb = ycbcrToRgb(luma, grey(2, 1), cr, [2, 2])
    expect(Array.from({ length: 6 }, (_, i) => rgb[3 * i])).toEqual([0, 0, 45, 0, 0, 45])
  })
})

describe('pictureStep', () => {
  afterEach(() => {
    vi.unstubAllGlobals()
    vi.resetModules()
  })

  /** Replaces the platform's decoder by one that returns `frames` in turn, the last one again and again. */
  async function stepOf(frames: readonly object[], tiles: Partial<PictureTiles>) {
    const seen: { data: Uint8Array; type: string; open: number } = { data: new Uint8Array(), type: '', open: 0 }
    let next = 0
    const Decoder = class {
      constructor({ data, type, ...rest }: { data: Uint8Array; type: string }) {
        expect(rest).toEqual({ colorSpaceConversion: 'none', premultiplyAlpha: 'none' })
        Object.assign(seen, { data, type })
        seen.open++
      }
      async decode() {
        const { bytes, layout, ...frame } = frames[Math.min(next++, frames.length - 1)] as {
          bytes: Uint8Array
          layout?: object[]
          width: number
          height: number
        }
        seen.open++
        return {
          image: {
            colorSpace: { matrix: null, fullRange: null },
            visibleRect: { width: frame.width, height: frame.height },
            ...frame,
            allocationSize: () => bytes.length,
            copyTo: async (into: Uint8Array) => {
              into.set(bytes)
              return layout ?? [{ offset: 0, stride: 4 * frame.width }]
            },
            close: () => void seen.open--,
          },
        }
      }
      close(): void {
        seen.open--
      }
    }
    vi.stubGlobal('ImageDecoder', Decoder)
    const { pictureStep } = await import('../../../src/adapters/geotiff/picture-step.ts')
    const all = {
      compression: 'webp',
      samples: 3,
      width: 2,
      rows: 1,
      mostRows: 2,
      isYcbcr: false,
      jpegTables: undefined,
      ...tiles,
    }
    return { seen, step: () => pictureStep(all) }
  }

  /** The known picture with three or four samples, as pixels of BGRA. */
  const known = {
    format: 'BGRA',
    width: 16,
    height: 16,
    bytes: Uint8Array.from({ length: 1024 }, (_, i) => {
      const [x, y] = [(i >> 2) % 16, i >> 6]
      return [60 + 3 * x + 4 * y, 235 - 10 * y, 20 + 10 * x, 16 * y][i % 4]!
    }),
  }
  const pixels = (height: number, format = 'BGRA') => ({
    format,
    width: 2,
    height,
    bytes: Uint8Array.from({ length: 8 * height }, (_, i) => i),
  })
  /** Header of a lossless picture. */
  const webp = (width: number, height: number): Uint8Array => {
    const bytes = new Uint8Array(40)
    bytes.set(Array.from('RIFF....WEBPVP8L', (letter) => letter.charCodeAt(0)))
    new DataView(bytes.buffer).setUint32(21, (width - 1) | ((height - 1) << 14), true)
    return bytes
  }

  test('gives samples pixel by pixel, without the rows below the image', async () => {
    for (const [samples, format, expected] of [
      [3, 'BGRX', [2, 1, 0, 6, 5, 4]],
      [3, 'RGBX', [0, 1, 2, 4, 5, 6]],
      [4, 'BGRX', [2, 1, 0, 255, 6, 5, 4, 255]],
      [4, 'BGRA', [2, 1, 0, 3, 6, 5, 4, 7]],
      [4, 'RGBA', [0, 1, 2, 3, 4, 5, 6, 7]],
    ] as const) {
      const { seen, step } = await stepOf([known, pixels(2, format)], { samples })
      const { decode } = await step()
      expect([...(await decode!(webp(2, 2), undefined, Infinity))]).toEqual(expected)
      expect(seen).toMatchObject({ type: 'image/webp', open: 0 })
      vi.resetModules()
    }
  })

  test('refuses a platform that decodes the known picture to other samples', async () => {
    const other = { ...known, bytes: known.bytes.map((value, i) => (i === 4 * 21 ? value + 1 : value)) }
    const { seen, step } = await stepOf([other], {})
    await expect(step()).rejects.toMatchObject({
      tag: 'UnsupportedError',
      message: expect.stringContaining(
        "this browser decodes webp of 3 samples incorrectly (a sample is 80 instead of 79); pass a codec named 'webp'",
      ),
    })
    expect(seen.open).toBe(0)
  })

  test('refuses pictures of another size before they are decoded, and colours of unknown kinds', async () => {
    const { seen, step } = await stepOf([known, { ...pixels(1, 'NV12'), layout: [] }], {})
    const { decode } = await step()
    const { data } = seen
    for (const [width, height] of [
      [3, 1],
      [2, 3],
      [16_384, 16_384],
    ] as const)
      await expect(decode!(webp(width, height), undefined, Infinity)).rejects.toMatchObject({
        tag: 'CodecError',
        message: `a tile of webp is a picture of ${width} x ${height} pixels instead of 2 x 1`,
      })
    await expect(decode!(new Uint8Array(40), undefined, Infinity)).rejects.toMatchObject({ tag: 'CodecError' })
    expect(seen.data).toBe(data)
    await expect(decode!(webp(2, 1), undefined, Infinity)).rejects.toMatchObject({
      tag: 'UnsupportedError',
      message: expect.stringContaining('NV12'),
    })
    expect(seen.open).toBe(0)
  })

  test('compares the header of a JPEG tile with the image', async () => {
    const { step } = await stepOf([known], { compression: 'jpeg', width: 300, rows: 5, mostRows: 5 })
    const { decode } = await step()
    const grey = [...FRAME.slice(0, 9), 1, 1, 0x11, 0]
    grey[3] = grey.length - 2
    await expect(decode!(Uint8Array.from([...SOI, ...grey, ...SCAN]), undefined, Infinity)).rejects.toMatchObject({
      tag: 'CodecError',
      message: 'a tile of jpeg has 1 components of 8 bits instead of 3 of 8 bits',
    })
  })
})
