import { HyperslabError } from '../core/errors.ts'
import type { Arena } from './arena.ts'

/** Reasons by the kernel's error codes -1, -2, ... (assembly/lz4-decode.ts). */
const REASONS = [
  'the input ends in the middle of a sequence',
  'a match reaches back to before the start',
  'it decodes to more bytes than expected',
  'it decodes to fewer bytes than expected',
  'more input after the last byte of output',
  'a match ends too close to the end',
]

/** Progress of decoding a block: two u32 in kernel memory, bytes read and bytes written. */
export interface Lz4State {
  readonly pointer: number
}

/**
 * Creates the state for {@link lz4Resume}, at the start of a block or at the position of an earlier session.
 * Costs 8 bytes of the arena.
 * @param position result of {@link lz4Position}
 */
export function lz4State(arena: Arena, position: { read: number; written: number } = { read: 0, written: 0 }): Lz4State {
  return { pointer: arena.int32s([position.read, position.written]) }
}

/**
 * Returns the bytes of input read and of output written so far. Continuing needs the output up to there,
 * because matches refer to it.
 */
export function lz4Position(arena: Arena, state: Lz4State): { read: number; written: number } {
  const [read, written] = arena.view('uint32', state.pointer, 2)
  return { read: read!, written: written! }
}

/**
 * Decodes a raw LZ4 block (no frame) of `srcBytes` bytes at `src` to exactly `dstBytes` bytes at `dst`.
 * Writes nothing but the destination.
 * @throws CodecError if the block is malformed or has another size
 */
export function lz4Decode(arena: Arena, src: number, srcBytes: number, dst: number, dstBytes: number): void {
  arena.scratch(() => lz4Resume(arena, src, srcBytes, dst, dstBytes, lz4State(arena), dstBytes))
}

/**
 * Continues from `state` until at least `wanted` of the block's `dstBytes` bytes are decoded. The bytes
 * behind these in `dst` are undefined. If `wanted` equals `dstBytes`, the block is checked to its end. Does
 * not grow the memory.
 * @returns number of decoded bytes: `wanted` or somewhat more
 * @throws CodecError as {@link lz4Decode}; the state is unchanged then
 */
export function lz4Resume(
  arena: Arena,
  src: number,
  srcBytes: number,
  dst: number,
  dstBytes: number,
  state: Lz4State,
  wanted: number,
): number {
  const written = arena.kernels.lz4Decode(src, srcBytes, dst, dstBytes, state.pointer, wanted)
  // Sizes from 2 GiB up come back negative; error codes are the last few numbers below 2^32.
  if (written < 0 && written >= -REASONS.length) {
    throw new HyperslabError(
      'CodecError',
      `malformed LZ4 block: ${REASONS[-written - 1]} (${srcBytes} bytes of input, ${dstBytes} of output)`,
      { actual: srcBytes, expected: dstBytes },
    )
  }
  return written >>> 0
}
