import type { Arena } from '../kernels/arena.ts'

/** Decodes a stream in kernel memory to exactly `dstBytes` bytes, without growing the memory. */
export type StreamDecoder = (src: number, srcBytes: number, dst: number, dstBytes: number) => void

/** Creates the decoder of a session and allocates the kernel memory it needs. */
export type DecoderMaker = (arena: Arena) => StreamDecoder

/** Wraps a decoder that works outside kernel memory. */
export const outside =
  (decode: (bytes: Uint8Array, into: Uint8Array) => void): DecoderMaker =>
  (arena) =>
  (src, srcBytes, dst, dstBytes) =>
    decode(arena.bytes(src, srcBytes), arena.bytes(dst, dstBytes))
