import { type Arena, withArena } from './arena.ts'

/** Piece size for bytes outside kernel memory: fits in the cache together with other data. */
const PIECE_BYTES = 256 * 1024

/**
 * Computes the CRC-32C (Castagnoli) of `bytes` bytes in kernel memory, from 0 to 2^32 - 1. Allocates nothing.
 * @param seed checksum of the bytes before them
 */
export function crc32c(arena: Arena, pointer: number, bytes: number, seed = 0): number {
  return arena.kernels.crc32c(pointer, bytes, seed) >>> 0
}

/**
 * Computes the CRC-32C of bytes anywhere. `crc32cOf(b, crc32cOf(a))` is the checksum of `a` followed by `b`.
 * @throws UnsupportedError if the platform cannot compile the kernels
 */
export function crc32cOf(bytes: Uint8Array, seed = 0): number {
  return withArena((arena) => {
    const pointer = arena.alloc(Math.min(bytes.length, PIECE_BYTES))
    return copied(arena, bytes, () => pointer, seed)
  })
}

/** Copies bytes into new arena memory, and computes their CRC-32C while they are in the cache. */
export function putWithCrc(arena: Arena, bytes: Uint8Array): { readonly pointer: number; readonly crc: number } {
  const pointer = arena.alloc(bytes.length)
  return { pointer, crc: copied(arena, bytes, (at) => pointer + at, 0) }
}

/** @param placeOf returns the address of the piece at a position */
function copied(arena: Arena, bytes: Uint8Array, placeOf: (at: number) => number, seed: number): number {
  let crc = seed
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    const piece = bytes.subarray(at, at + PIECE_BYTES)
    arena.bytes(placeOf(at), piece.length).set(piece)
    crc = crc32c(arena, placeOf(at), piece.length, crc)
  }
  return crc >>> 0
}
