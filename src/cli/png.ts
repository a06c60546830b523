import { deflateSync } from 'node:zlib'
import { crc32 } from '../codec/checksums.ts'
import { joinBytes } from '../core/bytes.ts'
import { type Scale, shareOf } from './heatmap.ts'
import { colourAt, type Picture } from './picture.ts'

const SIGNATURE = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)
/** Number of colours of the scale. Index 0 is transparent. */
const COLOURS = 255

/** Encodes a picture as a PNG file (ISO/IEC 15948) with indexed colours. NaN is transparent. */
export function encodePicture({ rows, columns, values }: Picture, scale: Scale): Uint8Array {
  const palette = new Uint8Array(3 * (COLOURS + 1))
  for (let i = 0; i < COLOURS; i++) palette.set(colourAt(i / (COLOURS - 1)), 3 * (i + 1))
  const header = new Uint8Array(13)
  const view = new DataView(header.buffer)
  view.setUint32(0, columns)
  view.setUint32(4, rows)
  // Indexes of 8 bits, indexed colours, deflate, standard filters, not interlaced.
  header.set([8, 3, 0, 0, 0], 8)
  // Each row begins with the number of its filter, 0 for none.
  const pixels = new Uint8Array(rows * (columns + 1))
  for (let y = 0, i = 0; y < rows; y++)
    for (let x = 0; x < columns; x++, i++) {
      const value = values[i]!
      if (!Number.isNaN(value)) pixels[y * (columns + 1) + x + 1] = 1 + Math.round(shareOf(value, scale) * (COLOURS - 1))
    }
  return joinBytes([
    SIGNATURE,
    chunkOf('IHDR', header),
    chunkOf('PLTE', palette),
    chunkOf('tRNS', Uint8Array.of(0)),
    chunkOf('IDAT', deflateSync(pixels)),
    chunkOf('IEND', new Uint8Array(0)),
  ])
}

/** Encodes a chunk: length, name, data, and the checksum of name and data. */
function chunkOf(name: string, data: Uint8Array): Uint8Array {
  const named = joinBytes([new TextEncoder().encode(name), data])
  const [length, checksum] = [data.length, crc32(named)].map((number) => {
    const bytes = new Uint8Array(4)
    new DataView(bytes.buffer).setUint32(0, number)
    return bytes
  })
  return joinBytes([length!, named, checksum!])
}
