import { joinBytes } from '../core/bytes.ts'
import { PREFIX_BYTES } from './lz4.ts'

/*
 * A block of segments is an ordinary LZ4 block. No match crosses a segment boundary. A boundary lies within
 * the literals of a sequence: the last ones of one segment and the first ones of the next. Each segment
 * therefore occupies one range of the block:
 *
 *     ... | token, length | tail of 0 : head of 1 | offset, length | token ... | token, length | tail of 1 : …
 *                                       `--------------------- segment 1 as stored ----------------------´
 *
 * With a token for its head in front, and a token for its tail in place of the last one, this range is a
 * block of its own. A segment that is one run of literals consists of head only; its literals may share their
 * sequence with several segments.
 */

/** A part of a block that decodes by itself. */
export interface Segment {
  /** Its stored bytes, and its decoded bytes. */
  readonly compressedBytes: number
  readonly uncompressedBytes: number
  /** CRC-32C of the stored bytes. */
  readonly crc: number
  /** Number of literals at its start. */
  readonly head: number
  /** Match length field, 0 to 15, in the token of those literals. */
  readonly match: number
  /** Number of literals at its end; 0 if all its literals are the head. */
  readonly tail: number
}

/**
 * Returns the bytes of token and length between segments, and at both ends of the block; they belong to no
 * segment. Segments within one run of literals have none between them.
 */
export function findJoints(count: number, segment: (number: number) => Pick<Segment, 'head' | 'tail'>): Float64Array {
  const joints = new Float64Array(count + 1)
  let literals = 0
  for (let number = count; number-- > 0; ) {
    const { head, tail } = segment(number)
    joints[number + 1] = tail === 0 ? 0 : headerBytes(tail + literals)
    literals = tail === 0 ? head + literals : head
  }
  joints[0] = headerBytes(literals)
  return joints
}

/**
 * Returns a segment as a block of its own.
 * @param joint bytes in front of its tail that belong to no segment
 */
export function standalone({ uncompressedBytes, head, match, tail }: Segment, stored: Uint8Array, joint: number): Uint8Array {
  const end = stored.length - tail
  const body = tail === 0 ? [stored] : [stored.subarray(0, end - joint), encodeHeader(tail, 0), stored.subarray(end)]
  return joinBytes([createPrefix(uncompressedBytes), encodeHeader(head, match), ...body])
}

/** Returns the bytes of a token and of the length of the literals behind it. */
const headerBytes = (literals: number): number => (literals < 15 ? 1 : 2 + Math.floor((literals - 15) / 255))

/** Returns the token and the length of literals in front of a match whose length field is `match`. */
export function encodeHeader(literals: number, match: number): Uint8Array {
  const header = new Uint8Array(headerBytes(literals)).fill(255)
  header[0] = 16 * Math.min(literals, 15) + match
  if (literals >= 15) header[header.length - 1] = (literals - 15) % 255
  return header
}

export function createPrefix(decodedBytes: number): Uint8Array {
  const prefix = new Uint8Array(PREFIX_BYTES)
  new DataView(prefix.buffer).setUint32(0, decodedBytes, true)
  return prefix
}
