import type { Segment } from '../../codec/lz4-segments.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { BlockRef } from '../../engine/block.ts'
import { CHECKED_FIELDS, type CheckedSegment, SegmentChecksums } from '../../engine/segment-checksums.ts'
import { BlockSegments, SEGMENT_FIELDS } from '../../engine/segments.ts'

/*
 * The table, of numbers as `encodeVarints` writes them:
 *
 *     for each block of more than one segment: id | segments, then for each: stored bytes | decoded bytes | 16 * head + match | tail | CRC-32C
 */

/** @param segments by the id of their block */
export function encodeSegmentTable(segments: ReadonlyMap<number, readonly Segment[]>): Uint8Array {
  const numbers: number[] = []
  for (const [id, own] of segments) {
    numbers.push(id, own.length)
    for (const { compressedBytes, uncompressedBytes, head, match, tail, crc } of own)
      numbers.push(compressedBytes, uncompressedBytes, 16 * head + match, tail, crc)
  }
  return encodeVarints(numbers)
}

/**
 * @param blocks by id
 * @throws FormatError if the table does not match the blocks
 */
export const decodeSegmentTable = (bytes: Uint8Array, blocks: ReadonlyMap<number, BlockRef>): Map<BlockRef, BlockSegments> =>
  decodeTable('the table of segments', bytes, blocks, SEGMENT_FIELDS, (block, fields) => new BlockSegments(block, fields))

/*
 * The table, of numbers as `encodeVarints` writes them:
 *
 *     for each block of more than one segment: id | segments, then for each: bytes | CRC-32C
 */

/** @param segments by the id of their block */
export function encodeSegmentChecksums(segments: ReadonlyMap<number, readonly CheckedSegment[]>): Uint8Array {
  const numbers: number[] = []
  for (const [id, own] of segments) {
    numbers.push(id, own.length)
    for (const { bytes, crc } of own) numbers.push(bytes, crc)
  }
  return encodeVarints(numbers)
}

/**
 * @param blocks by id
 * @throws FormatError if the table does not match the blocks
 */
export const decodeSegmentChecksums = (
  bytes: Uint8Array,
  blocks: ReadonlyMap<number, BlockRef>,
): Map<BlockRef, SegmentChecksums> =>
  decodeTable('the table of checksums', bytes, blocks, CHECKED_FIELDS, (block, fields) => new SegmentChecksums(block, fields))

/**
 * @param width count of numbers for each segment
 * @param read receives the numbers of all segments of a block
 */
function decodeTable<T>(
  what: string,
  bytes: Uint8Array,
  blocks: ReadonlyMap<number, BlockRef>,
  width: number,
  read: (block: BlockRef, fields: Float64Array) => T,
): Map<BlockRef, T> {
  const numbers = decodeVarints(bytes)
  const next = (): number => {
    const { value } = numbers.next()
    if (value === undefined) throw new HyperslabError('FormatError', `${what} ends too early`)
    return value
  }
  const found = new Map<BlockRef, T>()
  for (const id of numbers) {
    const block = blocks.get(id)
    if (block === undefined) throw new HyperslabError('FormatError', `${what} names block ${id}, but there is no such block`)
    const count = width * next()
    // Each number takes at least one byte, so this never allocates more than the bytes justify, whatever
    // count the table claims.
    const fields = new Float64Array(Math.min(count, bytes.length))
    for (let i = 0; i < count; i++) fields[i] = next()
    found.set(block, read(block, fields))
  }
  return found
}

/**
 * Encodes numbers from 0 to 2^53 - 1: 7 bits in each byte, the lowest first; the top bit is set if more bytes
 * follow.
 */
export function encodeVarints(numbers: Iterable<number>): Uint8Array {
  const bytes: number[] = []
  for (let number of numbers) {
    for (; number >= 128; number = Math.floor(number / 128)) bytes.push(128 + (number % 128))
    bytes.push(number)
  }
  return Uint8Array.from(bytes)
}

/** Yields the numbers. Stops at a number that is truncated or too large. */
export function* decodeVarints(bytes: Uint8Array): Generator<number> {
  let number = 0
  let place = 1
  for (const byte of bytes) {
    number += (byte % 128) * place
    place *= 128
    if (number > Number.MAX_SAFE_INTEGER || place > 2 ** 56) return
    if (byte >= 128) continue
    yield number
    number = 0
    place = 1
  }
}
