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

/** Returns why text would be read as another one, as the end of a sentence; undefined for other text. */
export function textFault(text: string): string | undefined {
  if (text.endsWith('\0')) return 'ends with NUL, which is padding in NetCDF'
  return /\p{Surrogate}/u.test(text) ? 'is no valid Unicode in NetCDF' : undefined
}
