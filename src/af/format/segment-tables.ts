import type { Segment } from '../../codec/lz4-segments.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { BlockRef } from '../../engine/block.ts'
import { type CheckedSegment, SegmentChecksums } from '../../engine/segment-checksums.ts'
import { BlockSegments } from '../../engine/segments.ts'

/*
 * The table, of numbers as `encodeVarints` writes them:
 *
 *     for each block of more than one segment: id | segments, then for each: stored bytes | decoded bytes | 16 * head + match | tail | CRC-32C
 */

/** @param segments by id of their block */
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
 * @throws FormatError when the table does not go with them
 */
export function decodeSegmentTable(bytes: Uint8Array, blocks: ReadonlyMap<number, BlockRef>): Map<BlockRef, BlockSegments> {
  const numbers = decodeVarints(bytes)
  const next = (): number => {
    const { value } = numbers.next()
    if (value === undefined) throw new HyperslabError('FormatError', 'the table of segments ends too early')
    return value
  }
  const found = new Map<BlockRef, BlockSegments>()
  for (const id of numbers) {
    const block = blocks.get(id)
    if (block === undefined) throw new HyperslabError('FormatError', `there are segments of block ${id}, but no such block`)
    const segments: Segment[] = []
    for (let left = next(); left > 0; left--) {
      const [compressedBytes, uncompressedBytes, start, tail, crc] = [next(), next(), next(), next(), next()]
      const [head, match] = [Math.floor(start / 16), start % 16]
      segments.push({ compressedBytes, uncompressedBytes, head, match, tail, crc })
    }
    found.set(block, new BlockSegments(block, segments))
  }
  return found
}

/*
 * The table, of numbers as `encodeVarints` writes them:
 *
 *     for each block of more than one segment: id | segments, then for each: bytes | CRC-32C
 */

/** @param segments by id of their block */
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
 * @throws FormatError when the table does not go with them
 */
export function decodeSegmentChecksums(
  bytes: Uint8Array,
  blocks: ReadonlyMap<number, BlockRef>,
): Map<BlockRef, SegmentChecksums> {
  const numbers = decodeVarints(bytes)
  const next = (): number => {
    const { value } = numbers.next()
    if (value === undefined) throw new HyperslabError('FormatError', 'the checksums of segments end too early')
    return value
  }
  const found = new Map<BlockRef, SegmentChecksums>()
  for (const id of numbers) {
    const block = blocks.get(id)
    if (block === undefined)
      throw new HyperslabError('FormatError', `there are checksums of segments of block ${id}, but no such block`)
    const segments: CheckedSegment[] = []
    for (let left = next(); left > 0; left--) segments.push({ bytes: next(), crc: next() })
    const wide = segments.find(({ crc }) => crc >= 2 ** 32)
    if (wide !== undefined)
      throw new HyperslabError('FormatError', `block ${id}: a checksum of 32 bits is ${wide.crc}`, { actual: wide.crc })
    found.set(block, new SegmentChecksums(block, segments))
  }
  return found
}

/**
 * Numbers from 0 to 2^53 - 1 as bytes: 7 bits each, the lowest first; the upper bit says that more follow.
 */
export function encodeVarints(numbers: Iterable<number>): Uint8Array {
  const bytes: number[] = []
  for (let number of numbers) {
    for (; number >= 128; number = Math.floor(number / 128)) bytes.push(128 + (number % 128))
    bytes.push(number)
  }
  return Uint8Array.from(bytes)
}

/** The numbers; what is cut off or too large is not among them, nor what comes after. */
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
