import { deflateRawSync, constants as zlib } from 'node:zlib'

const MiB = 2 ** 20
const join = (...parts: Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts))
const times = (part: Uint8Array, count: number): Uint8Array => join(...Array<Uint8Array>(count).fill(part))

function u32(value: number): Uint8Array {
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setUint32(0, value, true)
  return bytes
}

/** A MiB of zeros, as a piece of a deflate stream that goes on. */
const DEFLATED = new Uint8Array(deflateRawSync(new Uint8Array(MiB), { finishFlush: zlib.Z_FULL_FLUSH }))

/** Blocks of Zstandard, each 128 KiB of one byte. */
const rleBlocks = (count: number): Uint8Array => join(times(Uint8Array.of(2, 0, 16, 7), count - 1), Uint8Array.of(3, 0, 16, 7))

/** An LZ4 block, or a stream of BloscLZ: a byte, and one match with all that is before, of so many bytes. */
const lz4Block = (bytes: number): Uint8Array => {
  const match = bytes - 1 - 5
  const more = match - 19
  const tail = Uint8Array.of(more % 255, 0x50, 1, 2, 3, 4, 5)
  return join(Uint8Array.of(0x1f, 7, 1, 0), new Uint8Array(Math.floor(more / 255)).fill(255), tail)
}

/** Encoders of hostile inputs: each encodes so many MiB to a thousandth of that or less. */
export const BOMBS: Readonly<Record<string, (size: number) => Uint8Array>> = {
  gzip: (size) =>
    join(Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3), times(DEFLATED, size), Uint8Array.of(3, 0), new Uint8Array(8)),
  zlib: (size) => join(Uint8Array.of(0x78, 0x9c), times(DEFLATED, size), Uint8Array.of(3, 0), new Uint8Array(4)),
  /** A frame that says how much it has. */
  zstd: (size) => join(Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0xa0), u32(size * MiB), rleBlocks(8 * size)),
  /** One that does not, and asks for a window of 1 GiB. */
  'zstd of an unknown size': (size) => join(Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0, 20 << 3), rleBlocks(8 * size)),
  lz4: (size) => join(u32(size * MiB), lz4Block(size * MiB)),
  blosc: (size) => {
    const stream = lz4Block(size * MiB)
    const start = 20
    // Header of a frame with the codec lz4, not split, of one block.
    const header = [Uint8Array.of(2, 1, (1 << 5) | 16, 1), u32(size * MiB), u32(size * MiB), u32(start + 4 + stream.length)]
    return join(...header, u32(start), u32(stream.length), stream)
  },
}
