import { PREFIX_BYTES } from '../codec/lz4.ts'
import { findJoints, type Segment, standalone } from '../codec/lz4-segments.ts'
import { HyperslabError } from '../core/errors.ts'
import { lastStart } from '../core/shape.ts'
import type { BlockRef, SegmentedBlock, SegmentPart, Stored } from './block.ts'

/** A segment as a block of its own. */
export type SegmentRef = BlockRef & Segment & { readonly part: SegmentPart }

/** Largest share of a block's bytes that is read in segments. Beyond it, the whole block is read. */
const MOST = 3 / 4

/** Numbers per segment in a table: stored bytes, decoded bytes, 16 * head + match, tail, CRC-32C. */
export const SEGMENT_FIELDS = 5

/**
 * The segments of one block, which end where chunks do. Files may have millions of segments, so they are
 * stored as numbers and converted to blocks on demand.
 */
export class BlockSegments implements SegmentedBlock {
  readonly #block: BlockRef
  readonly #fields: Float64Array
  /** Positions in the decoded block, and in the file. */
  readonly #starts: Float64Array
  readonly #offsets: Float64Array
  readonly #joints: Float64Array

  /**
   * @param fields of the segments, one after another
   * @throws FormatError if the segments do not match the block
   */
  constructor(block: BlockRef, fields: Float64Array) {
    const count = fields.length / SEGMENT_FIELDS
    this.#block = block
    this.#fields = fields
    this.#starts = new Float64Array(count)
    this.#offsets = new Float64Array(count)
    this.#joints = findJoints(count, (number) => this.#segment(number))
    let offset = block.fileOffset + PREFIX_BYTES + this.#joints[0]!
    let start = 0
    for (let number = 0; number < count; number++) {
      const { compressedBytes, uncompressedBytes, head, tail } = this.#segment(number)
      const joint = this.#joints[number + 1]!
      const inside = tail === 0 ? compressedBytes === head && uncompressedBytes === head : head + joint + tail < compressedBytes
      if (!inside || uncompressedBytes === 0) throw wrong(block, compressedBytes, uncompressedBytes)
      this.#starts[number] = start
      this.#offsets[number] = offset
      start += uncompressedBytes
      offset += compressedBytes
    }
    const end = block.fileOffset + block.compressedBytes
    if (start !== block.uncompressedBytes || offset !== end) throw wrong(block, start, block.uncompressedBytes)
  }

  get refs(): SegmentRef[] {
    return Array.from(this.#starts, (_, number) => this.#ref(number))
  }

  split<C extends Stored>(chunks: readonly C[]): [BlockRef, readonly C[]][] | undefined {
    const groups = new Map<number, [SegmentRef, C[]]>()
    let bytes = 0
    for (const chunk of chunks) {
      const { offset, size } = chunk.address
      const number = lastStart(this.#starts, offset)
      let group = groups.get(number)
      if (group === undefined) {
        if (this.#starts.length === 0) return undefined
        group = [this.#ref(number), []]
        groups.set(number, group)
        bytes += group[0].compressedBytes
      }
      const [ref, own] = group
      if (offset + size > ref.part.start + ref.uncompressedBytes) return undefined
      own.push(moved(chunk, ref, -ref.part.start))
    }
    return bytes > MOST * this.#block.compressedBytes ? undefined : [...groups.values()]
  }

  #segment(number: number): Segment {
    const at = SEGMENT_FIELDS * number
    const start = this.#fields[at + 2]!
    return {
      compressedBytes: this.#fields[at]!,
      uncompressedBytes: this.#fields[at + 1]!,
      head: Math.floor(start / 16),
      match: start % 16,
      tail: this.#fields[at + 3]!,
      crc: this.#fields[at + 4]!,
    }
  }

  #ref(number: number): SegmentRef {
    const segment = this.#segment(number)
    const { origin, id, codec } = this.#block
    const joint = this.#joints[number + 1]!
    const alone = (stored: Uint8Array): Uint8Array => standalone(segment, stored, joint)
    const part = { whole: this.#block, number, start: this.#starts[number]!, standalone: alone }
    return { ...segment, origin, id, fileOffset: this.#offsets[number]!, codec, part }
  }
}

/** Returns a chunk with its address in another block, `bytes` further on. */
export const moved = <C extends Stored>(chunk: C, block: BlockRef, bytes: number): C => {
  const { offset, size } = chunk.address
  return { ...chunk, address: { block, offset: offset + bytes, size } }
}

const wrong = ({ origin, id }: BlockRef, actual: unknown, expected: unknown): HyperslabError =>
  new HyperslabError('FormatError', `block ${id}: its segments do not go with it`, { file: origin.file, actual, expected })
