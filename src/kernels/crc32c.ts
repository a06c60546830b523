import { type Arena, withArena } from './arena.ts'

/** Bytes outside kernel memory are taken in as many at a time: what the cache holds beside other things. */
const PIECE_BYTES = 256 * 1024

/**
 * CRC-32C (Castagnoli) of `bytes` bytes in kernel memory, from 0 to 2^32 - 1. Nothing is allocated.
 * @param seed the checksum of what comes before them
 */
export function crc32c(arena: Arena, pointer: number, bytes: number, seed = 0): number {
  return arena.kernels.crc32c(pointer, bytes, seed) >>> 0
}

/**
 * CRC-32C of bytes anywhere. `crc32cOf(b, crc32cOf(a))` is that of `a` followed by `b`.
 * @throws UnsupportedError when the kernels cannot be compiled here
 */
export function crc32cOf(bytes: Uint8Array, seed = 0): number {
  return withArena((arena) => {
    const pointer = arena.alloc(Math.min(bytes.length, PIECE_BYTES))
    return copied(arena, bytes, () => pointer, seed)
  })
}

/** Copies bytes into fresh arena memory, and takes their CRC-32C while they are in the cache. */
export function putWithCrc(arena: Arena, bytes: Uint8Array): { readonly pointer: number; readonly crc: number } {
  const pointer = arena.alloc(bytes.length)
  return { pointer, crc: copied(arena, bytes, (at) => pointer + at, 0) }
}

/** @param placeOf where the piece from a position on goes */
function copied(arena: Arena, bytes: Uint8Array, placeOf: (at: number) => number, seed: number): number {
  let crc = seed
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    const piece = bytes.subarray(at, at + PIECE_BYTES)
    arena.bytes(placeOf(at), piece.length).set(piece)
    crc = crc32c(arena, placeOf(at), piece.length, crc)
  }
  return crc >>> 0
}
