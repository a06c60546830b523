import { PREFIX_BYTES } from '../codec/lz4.ts'
import { jointsOf, type Segment, standalone } from '../codec/lz4-segments.ts'
import { HyperslabError } from '../core/errors.ts'
import { lastStart } from '../core/shape.ts'
import type { BlockRef, SegmentedBlock, SegmentPart, Stored } from './block.ts'

/** A segment as a block of its own. */
export type SegmentRef = BlockRef & Segment & { readonly part: SegmentPart }

/**
 * What is wanted of a block is read in segments up to this part of its bytes; of more, all are read at once.
 */
const MOST = 3 / 4

/** Numbers of a segment in a table of them: stored bytes, decoded bytes, 16 * head + match, tail, CRC-32C. */
export const SEGMENT_FIELDS = 5

/**
 * The segments of one block, which end where chunks do. Files may have millions of them, so they are kept as
 * numbers, and made blocks of when they are wanted.
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
   * @throws FormatError when these are not segments of that block
   */
  constructor(block: BlockRef, fields: Float64Array) {
    const count = fields.length / SEGMENT_FIELDS
    this.#block = block
    this.#fields = fields
    this.#starts = new Float64Array(count)
    this.#offsets = new Float64Array(count)
    this.#joints = jointsOf(count, (number) => this.#segment(number))
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

  /** All of them. */
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

/** A chunk as it lies in another block than that of its address, that many bytes further on. */
export const moved = <C extends Stored>(chunk: C, block: BlockRef, bytes: number): C => {
  const { offset, size } = chunk.address
  return { ...chunk, address: { block, offset: offset + bytes, size } }
}

const wrong = ({ origin, id }: BlockRef, actual: unknown, expected: unknown): HyperslabError =>
  new HyperslabError('FormatError', `block ${id}: its segments do not go with it`, { file: origin.file, actual, expected })
