import type { Arena } from '../kernels/arena.ts'

/** Decodes a stream in kernel memory to exactly so many bytes; it does not grow the memory. */
export type StreamDecoder = (src: number, srcBytes: number, dst: number, dstBytes: number) => void

/** Makes the decoder of a session, with what it needs of kernel memory. */
export type DecoderMaker = (arena: Arena) => StreamDecoder

/** The decoder of what decodes outside of kernel memory. */
export const outside =
  (decode: (bytes: Uint8Array, into: Uint8Array) => void): DecoderMaker =>
  (arena) =>
  (src, srcBytes, dst, dstBytes) =>
    decode(arena.bytes(src, srcBytes), arena.bytes(dst, dstBytes))
