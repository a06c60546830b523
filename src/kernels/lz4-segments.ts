import type { Arena } from './arena.ts'
import { lz4Room } from './lz4.ts'

/** Where a segment starts in a block: in the middle of the literals of a sequence. */
export interface SegmentStart {
  /** Position of that sequence in the block. */
  readonly sequence: number
  /** Literals of it that belong to the segments before. */
  readonly before: number
}

/**
 * Encodes neighbouring segments, of `lengths` bytes from `src` on, as one raw LZ4 block in fresh arena
 * memory; no match reaches from one segment into another. The last literals are left to be written: they
 * start at the last of `starts`, one more than there are segments.
 * @throws CodecError, OutOfMemoryError as `lz4Encode` does
 */
export function lz4EncodeSegments(
  arena: Arena,
  src: number,
  lengths: readonly number[],
): { pointer: number; bytes: number; starts: SegmentStart[] } {
  const pointer = lz4Room(
    arena,
    lengths.reduce((sum, length) => sum + length, 0),
  )
  const carry = arena.int32s([0])
  const starts: SegmentStart[] = [{ sequence: 0, before: 0 }]
  let bytes = 0
  for (const length of lengths) {
    bytes += arena.kernels.lz4Encode(src, length, pointer + bytes, carry) >>> 0
    src += length
    starts.push({ sequence: bytes, before: arena.view('uint32', carry, 1)[0]! })
  }
  return { pointer, bytes, starts }
}
