import { joinBytes } from '../core/bytes.ts'
import { PREFIX_BYTES } from './lz4.ts'

/*
 * A block of segments is an LZ4 block as any other. No match reaches from one segment into another; a
 * boundary lies within the literals of a sequence, the last ones of one segment and the first ones of the
 * next. So each has one piece of the block to itself,
 *
 *     ... | token, length | tail of segment 0 : head of segment 1 | offset, length | token ... | token, length | tail of 1 : head of 2 | ...
 *                                             `---------- what segment 1 is stored as ----------------------------------´
 *
 * and with a token for its head alone in front, and one for its tail alone in the place of the last, this is
 * a block of its own. Of a segment that is one run of literals all is head; its literals may share their
 * sequence with several segments.
 */

/** A part of a block that can be decoded by itself. */
export interface Segment {
  /** Bytes of it as stored, and decoded. */
  readonly compressedBytes: number
  readonly uncompressedBytes: number
  /** CRC-32C of the former. */
  readonly crc: number
  /** Literals it begins with. */
  readonly head: number
  /** What the token of those says of the match behind them, 0 to 15. */
  readonly match: number
  /** Literals it ends with; 0 where all are its head. */
  readonly tail: number
}

/**
 * Bytes of token and length in front of the literals in which the segments of a block begin, and of those
 * with which it ends: what belongs to no segment. Between two of one run of literals there are none.
 */
export function jointsOf(count: number, segment: (number: number) => Pick<Segment, 'head' | 'tail'>): Float64Array {
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
 * The block that a segment is by itself.
 * @param joint bytes in front of its tail that belong to no segment
 */
export function standalone({ uncompressedBytes, head, match, tail }: Segment, stored: Uint8Array, joint: number): Uint8Array {
  const end = stored.length - tail
  const body = tail === 0 ? [stored] : [stored.subarray(0, end - joint), headerOf(tail, 0), stored.subarray(end)]
  return joinBytes([prefixOf(uncompressedBytes), headerOf(head, match), ...body])
}

/** Bytes of a token and the length of literals behind it. */
const headerBytes = (literals: number): number => (literals < 15 ? 1 : 2 + Math.floor((literals - 15) / 255))

/** Token and length of literals in front of a match of which the token says `match`. */
export function headerOf(literals: number, match: number): Uint8Array {
  const header = new Uint8Array(headerBytes(literals)).fill(255)
  header[0] = 16 * Math.min(literals, 15) + match
  if (literals >= 15) header[header.length - 1] = (literals - 15) % 255
  return header
}

export function prefixOf(decodedBytes: number): Uint8Array {
  const prefix = new Uint8Array(PREFIX_BYTES)
  new DataView(prefix.buffer).setUint32(0, decodedBytes, true)
  return prefix
}
