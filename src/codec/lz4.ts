import { HyperslabError } from '../core/errors.ts'
import type { Arena } from '../kernels/arena.ts'
import { lz4Decode, lz4Resume, lz4State } from '../kernels/lz4.ts'
import type { KernelCodec } from './codec.ts'
import type { StreamDecoder } from './stream-decoder.ts'

/** Size of the prefix of an LZ4 block: the decoded size as u32, little-endian. */
export const PREFIX_BYTES = 4

/** @throws CodecError if the block is too short for its size prefix */
export function checkPrefix(length: number): void {
  if (length >= PREFIX_BYTES) return
  throw new HyperslabError('CodecError', `an lz4 block of ${length} bytes has no room for its size prefix`, { actual: length })
}

/**
 * One raw LZ4 block behind its decoded size, which is written for other readers. This decoder uses the size
 * in the file's block table. A wrong prefix can therefore neither cost memory nor hide a short block.
 */
export const lz4: KernelCodec = {
  name: 'lz4',

  decodeIn: decodeAt,
}

/**
 * Decodes a block in kernel memory.
 * @throws CodecError if it is malformed or decodes to another length
 */
function decodeAt(arena: Arena, pointer: number, length: number, decodedBytes: number): number {
  checkPrefix(length)
  const target = arena.alloc(decodedBytes)
  lz4Decode(arena, pointer + PREFIX_BYTES, length - PREFIX_BYTES, target, decodedBytes)
  return target
}

/** Creates a decoder of raw LZ4 blocks, all of which use one state. */
export function lz4Streams(arena: Arena): StreamDecoder {
  const state = lz4State(arena)
  return (src, srcBytes, dst, dstBytes) => {
    arena.bytes(state.pointer, 8).fill(0)
    lz4Resume(arena, src, srcBytes, dst, dstBytes, state, dstBytes)
  }
}
