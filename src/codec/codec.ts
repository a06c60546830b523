import { HyperslabError, isHyperslabError } from '../core/errors.ts'
import type { Arena } from '../kernels/arena.ts'

/** Compresses and decompresses blocks. Pass your own codecs as the option `codecs` of `open` and `create`. */
export interface Codec {
  /** Name that files store for the codec. */
  readonly name: string
  /**
   * Decodes `bytes`, which must not be changed, to exactly `decodedBytes` bytes. Another length is reported
   * as a `CodecError`, and so is any exception. `decodedBytes` is Infinity if the length is unknown before
   * decoding, as for Zarr arrays of strings. The result is kept: a codec that reuses its memory returns a
   * copy.
   */
  decode(bytes: Uint8Array, decodedBytes: number): Uint8Array | Promise<Uint8Array>
  /** Encodes a block. The codec owns the passed array from then on. Optional: read-only codecs omit it. */
  encode?(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>
  /**
   * Prepares for writing: loads what `encode` needs, or throws if something is missing. Awaited when a file
   * is created, or opened, with this codec for its writes.
   */
  ready?(): unknown
  /**
   * Discards state that may have caused a failure, such as an instance. Awaited after `encode` threw or
   * returned bytes that do not decode to its input.
   */
  reset?(): unknown
}

/**
 * A codec that works in kernel memory, within a synchronous session. Nothing is copied to JavaScript memory
 * and back.
 */
export interface KernelCodec {
  readonly name: string
  /**
   * Decodes `length` bytes in kernel memory to exactly `decodedBytes` bytes there, and returns their address.
   * @throws CodecError if the bytes are malformed or decode to another length
   */
  decodeIn(arena: Arena, pointer: number, length: number, decodedBytes: number): number
}

/** Data from which workers recreate a codec; `id` is unique in this thread. */
export interface RemoteCodec {
  readonly id: number
  readonly spec: object
}

let lastRemote = 0

/** Returns the data of a codec with an id that no other codec of this thread has. */
export const remoteCodec = (spec: object): RemoteCodec => ({ id: ++lastRemote, spec })

/** A codec that workers may have an equivalent of. */
export interface SharedCodec {
  readonly remote?: RemoteCodec | undefined
}

export const inKernel = (codec: Codec | KernelCodec): codec is KernelCodec => 'decodeIn' in codec

/**
 * Decodes a block and checks its length.
 * @param decodedBytes Infinity if the length is unknown before decoding
 * @throws CodecError if the bytes cannot be decoded, or decode to another length
 */
export async function decodeWith(codec: Codec, bytes: Uint8Array, decodedBytes: number): Promise<Uint8Array> {
  const decoded = await attempt(`${codec.name} block does not decode`, () => codec.decode(bytes, decodedBytes))
  if (decoded.length !== decodedBytes && decodedBytes < Infinity) throw wrongLength(codec.name, decoded.length, decodedBytes)
  return decoded
}

/** @throws CodecError if the codec fails */
export async function attempt(failure: string, work: () => Uint8Array | Promise<Uint8Array>): Promise<Uint8Array> {
  let result: unknown
  try {
    result = await work()
  } catch (cause) {
    if (isHyperslabError(cause)) throw cause
    throw new HyperslabError('CodecError', `${failure}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
  if (result instanceof Uint8Array) return result
  throw new HyperslabError('CodecError', `${failure}: the codec returns no Uint8Array`, { actual: result })
}

/** Returns the error for a block that decodes to the wrong number of bytes. */
export function wrongLength(codec: string, actual: number, expected: number): HyperslabError {
  return new HyperslabError('CodecError', `${codec} block decodes to ${actual} bytes instead of ${expected}`, {
    actual,
    expected,
  })
}
