import { joinBytes } from '../core/bytes.ts'
import { HyperslabError } from '../core/errors.ts'
import type { Arena } from '../kernels/arena.ts'
import { compute } from '../kernels/compute.ts'
import { crc32cOf } from '../kernels/crc32c.ts'
import { PREFIX_BYTES } from './lz4.ts'
import { createPrefix, encodeHeader, type Segment } from './lz4-segments.ts'

/**
 * Encodes `length` bytes in kernel memory as a block of the codec lz4.
 * @throws CodecError for more than 2 113 929 216 bytes, the limit of a block; OutOfMemoryError if kernel
 *   memory is exhausted
 */
export function encodeLz4(arena: Arena, pointer: number, length: number): Uint8Array {
  const block = room(arena, length)
  const bytes = compute(arena).lz4Encode(pointer, length, block) >>> 0
  return joinBytes([createPrefix(length), arena.bytes(block, bytes)])
}

/**
 * Returns segment lengths of at least `least` bytes that end where parts of a block do. A shorter rest joins
 * the last segment.
 */
export function cutSegments(parts: Iterable<number>, least: number): number[] {
  const lengths: number[] = []
  let rest = 0
  for (const part of parts) {
    rest += part
    if (rest < least) continue
    lengths.push(rest)
    rest = 0
  }
  if (rest > 0) lengths.push(rest + (lengths.pop() ?? 0))
  return lengths
}

/**
 * Encodes segments of `lengths` bytes, which begin at `pointer`, as one block.
 * @throws the errors of {@link encodeLz4}
 */
export function encodeSegments(
  arena: Arena,
  pointer: number,
  lengths: readonly number[],
): { readonly bytes: Uint8Array; readonly segments: Segment[] } {
  const total = lengths.reduce((sum, length) => sum + length, 0)
  const { pointer: at, bytes: size, starts } = rawSegments(arena, pointer, lengths)
  const literals = starts.at(-1)!.before
  const last = arena.bytes(pointer + total - literals, literals)
  const bytes = joinBytes([createPrefix(total), arena.bytes(at, size), encodeHeader(literals, 0), last])
  const sequences = starts.map(({ sequence }) => readHeader(bytes, PREFIX_BYTES + sequence))
  const segments = lengths.map((length, i): Segment => {
    const [{ before }, next] = [starts[i]!, starts[i + 1]!]
    const { literals, match, end } = sequences[i]!
    const stop = i + 1 < lengths.length ? sequences[i + 1]!.end + next.before : bytes.length
    const stored = bytes.subarray(end + before, stop)
    const rest = { compressedBytes: stored.length, uncompressedBytes: length, crc: crc32cOf(stored) }
    if (starts[i]!.sequence === next.sequence) return { ...rest, head: length, match: 0, tail: 0 }
    return { ...rest, head: literals - before, match, tail: next.before }
  })
  return { bytes, segments }
}

/** Start of a segment in a block, within the literals of a sequence. */
interface SegmentStart {
  /** Position of that sequence in the block. */
  readonly sequence: number
  /** Number of its literals that belong to earlier segments. */
  readonly before: number
}

/**
 * Encodes neighbouring segments, of `lengths` bytes from `src` on, as one raw LZ4 block in new arena memory.
 * No match crosses a segment boundary. The caller still has to write the last literals, which start at the
 * last entry of `starts`, one more than there are segments.
 */
function rawSegments(
  arena: Arena,
  src: number,
  lengths: readonly number[],
): { pointer: number; bytes: number; starts: SegmentStart[] } {
  const pointer = room(
    arena,
    lengths.reduce((sum, length) => sum + length, 0),
  )
  const carry = arena.int32s([0])
  const starts: SegmentStart[] = [{ sequence: 0, before: 0 }]
  let bytes = 0
  for (const length of lengths) {
    bytes += compute(arena).lz4Encode(src, length, pointer + bytes, carry) >>> 0
    src += length
    starts.push({ sequence: bytes, before: arena.view('uint32', carry, 1)[0]! })
  }
  return { pointer, bytes, starts }
}

/**
 * Allocates arena memory for the LZ4 block of any `bytes` bytes.
 * @throws CodecError for more than 2 113 929 216 bytes, the limit of a block; OutOfMemoryError if kernel
 *   memory is exhausted
 */
function room(arena: Arena, bytes: number): number {
  const bound = bytes < 2 ** 32 ? compute(arena).lz4Bound(bytes) >>> 0 : 0
  if (bound > 0) return arena.alloc(bound)
  throw new HyperslabError('CodecError', `an LZ4 block holds at most ${0x7e000000} bytes, not ${bytes}`, {
    actual: bytes,
    expected: 0x7e000000,
  })
}

function readHeader(block: Uint8Array, at: number): { literals: number; match: number; end: number } {
  const token = block[at]!
  let literals = token >> 4
  let end = at + 1
  if (literals === 15) {
    do literals += block[end]!
    while (block[end++] === 255)
  }
  return { literals, match: token & 15, end }
}
