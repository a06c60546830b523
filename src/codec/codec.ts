import { HyperslabError, isHyperslabError } from '../core/errors.ts'
import type { Arena } from '../kernels/arena.ts'

/**
 * Turns blocks into fewer bytes and back. Pass codecs of your own as the option `codecs` of `open` and
 * `create`.
 */
export interface Codec {
  /** The name files carry. */
  readonly name: string
  /**
   * Decodes `bytes`, which must not be changed, into exactly `decodedBytes` bytes: another length is reported
   * as a `CodecError`, and so is whatever this throws. It is Infinity where only decoding tells, as for
   * Zarr arrays of strings.
   */
  decode(bytes: Uint8Array, decodedBytes: number): Uint8Array | Promise<Uint8Array>
  /**
   * The bytes a block is stored as; left out by codecs that only read. The array belongs to the codec from
   * then on.
   */
  encode?(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>
  /**
   * Awaited when a file is created, or opened, with this as the codec of its writes: loads what `encode`
   * needs, or says what is missing.
   */
  ready?(): unknown
  /**
   * Awaited when `encode` has thrown, or made what does not decode to what it was given: lets go of what may
   * be the cause, such as an instance.
   */
  reset?(): unknown
}

/**
 * A codec that works in kernel memory, within a synchronous session: nothing is copied to JavaScript's memory
 * and back.
 */
export interface KernelCodec {
  readonly name: string
  /**
   * Decodes `length` bytes in kernel memory into exactly `decodedBytes` bytes there and returns where.
   * @throws CodecError when they are malformed or decode to another length
   */
  decodeIn(arena: Arena, pointer: number, length: number, decodedBytes: number): number
}

/** What other threads make a codec of that does the same, as data; `id` tells it from all others here. */
export interface RemoteCodec {
  readonly id: number
  readonly spec: object
}

/** A codec of which workers have one that does the same. */
export interface SharedCodec {
  readonly remote?: RemoteCodec | undefined
}

export const inKernel = (codec: Codec | KernelCodec): codec is KernelCodec => 'decodeIn' in codec

/**
 * @param decodedBytes Infinity where only decoding tells
 * @throws CodecError when the bytes do not decode, or to another length
 */
export async function decodeWith(codec: Codec, bytes: Uint8Array, decodedBytes: number): Promise<Uint8Array> {
  const decoded = await attempt(`${codec.name} block does not decode`, () => codec.decode(bytes, decodedBytes))
  if (decoded.length !== decodedBytes && decodedBytes < Infinity) throw wrongLength(codec.name, decoded.length, decodedBytes)
  return decoded
}

/** @throws CodecError when the codec fails */
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

/** The error for a block that decodes to the wrong number of bytes. */
export function wrongLength(codec: string, actual: number, expected: number): HyperslabError {
  return new HyperslabError('CodecError', `${codec} block decodes to ${actual} bytes instead of ${expected}`, {
    actual,
    expected,
  })
}
