import { withArena } from '../../../kernels/arena.ts'
import { swapBytes } from '../../../kernels/in-place.ts'

/** Number of bytes that are converted at a time. */
const SWAP_BYTES = 1024 * 1024
/** Number of bytes after the elements that the kernel may overwrite. */
const SWAP_MARGIN = 16

/** Converts numbers to big-endian, in place. */
export function toBigEndian(bytes: Uint8Array, elementBytes: 1 | 2 | 4 | 8): void {
  if (elementBytes === 1) return
  for (let start = 0; start < bytes.length; start += SWAP_BYTES) {
    const part = bytes.subarray(start, start + SWAP_BYTES)
    withArena((arena) => {
      const pointer = arena.alloc(part.length + SWAP_MARGIN)
      arena.bytes(pointer, part.length).set(part)
      swapBytes(arena, pointer, part.length, elementBytes)
      part.set(arena.bytes(pointer, part.length))
    })
  }
}

const utf8 = new TextEncoder()

/** Returns why text would be read as another one, as the end of a sentence; undefined for other text. */
export function textFault(text: string): string | undefined {
  if (text.endsWith('\0')) return 'ends with NUL, which is padding in NetCDF'
  return /\p{Surrogate}/u.test(text) ? 'is no valid Unicode in NetCDF' : undefined
}

/** Encodes each text in `width` bytes, padded with NULs. */
export function encodeTexts(texts: readonly string[], width: number): Uint8Array {
  const bytes = new Uint8Array(texts.length * width)
  for (const [i, text] of texts.entries()) utf8.encodeInto(text, bytes.subarray(i * width, (i + 1) * width))
  return bytes
}

/** Returns the low 32 bits of 64-bit integers. */
export function lowHalves(data: BigInt64Array | BigUint64Array): Int32Array {
  const words = new Int32Array(data.buffer, data.byteOffset, 2 * data.length)
  const low = new Int32Array(data.length)
  for (let i = 0; i < low.length; i++) low[i] = words[2 * i]!
  return low
}
