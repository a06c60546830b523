import { HyperslabError } from '../core/errors.js'
import type { Arena } from '../kernels/arena.js'

/** Turns blocks into fewer bytes and back. */
export interface Codec {
  /** The name files carry. */
  readonly name: string
  /**
   * Decodes `bytes` into exactly `decodedBytes` bytes in kernel memory and returns where.
   * @throws CodecError when they are not what `encode` makes, or decode to another length
   */
  decode(arena: Arena, bytes: Uint8Array, decodedBytes: number): number
  /** Encodes `length` bytes in kernel memory; left out by codecs that only read. */
  encode?(arena: Arena, pointer: number, length: number): Uint8Array
}

/** The error for a block that decodes to the wrong number of bytes. */
export function wrongLength(codec: string, actual: number, expected: number): HyperslabError {
  return new HyperslabError('CodecError', `${codec} block decodes to ${actual} bytes instead of ${expected}`, {
    actual,
    expected,
  })
}
