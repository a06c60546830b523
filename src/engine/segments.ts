import { PREFIX_BYTES } from '../codec/lz4.ts'
import { jointsOf, type Segment, standalone } from '../codec/lz4-segments.ts'
import { HyperslabError } from '../core/errors.ts'
import { lastStart } from '../core/shape.ts'
import type { Stored } from './batches.ts'
import type { BlockRef, SegmentPart } from './block.ts'

/** A segment as a block of its own. */
export type SegmentRef = BlockRef & Segment & { readonly part: SegmentPart }

/**
 * What is wanted of a block is read in segments up to this part of its bytes; of more, all are read at once.
 */
const MOST = 3 / 4

/** The segments of one block, which end where chunks do. */
export class BlockSegments {
  readonly refs: readonly SegmentRef[]
  readonly #block: BlockRef
  /** Positions in the decoded block. */
  readonly #starts: readonly number[]

  /** @throws FormatError when these are not segments of that block */
  constructor(block: BlockRef, segments: readonly Segment[]) {
    this.#block = block
    const joints = jointsOf(segments)
    const starts: number[] = []
    let fileOffset = block.fileOffset + PREFIX_BYTES + joints[0]!
    let start = 0
    this.refs = segments.map((segment, number) => {
      const { compressedBytes, uncompressedBytes, head, tail } = segment
      const joint = joints[number + 1]!
      const inside = tail === 0 ? compressedBytes === head && uncompressedBytes === head : head + joint + tail < compressedBytes
      if (!inside || uncompressedBytes === 0) throw wrong(block, compressedBytes, uncompressedBytes)
      const { origin, id, codec } = block
      const part = { whole: block, number, start, standalone: (stored: Uint8Array) => standalone(segment, stored, joint) }
      const ref = { ...segment, origin, id, fileOffset, codec, part }
      starts.push(start)
      start += uncompressedBytes
      fileOffset += compressedBytes
      return ref
    })
    this.#starts = starts
    const end = block.fileOffset + block.compressedBytes
    if (start !== block.uncompressedBytes || fileOffset !== end) throw wrong(block, start, block.uncompressedBytes)
  }

  /** Chunks of the block by the segments they lie in; undefined where the whole block had better be read. */
  split<C extends Stored>(chunks: readonly C[]): [BlockRef, readonly C[]][] | undefined {
    const groups = new Map<SegmentRef, C[]>()
    let bytes = 0
    for (const chunk of chunks) {
      const { offset, size } = chunk.address
      const number = lastStart(this.#starts, offset)
      const [ref, start] = [this.refs[number], this.#starts[number]!]
      if (ref === undefined || offset + size > start + ref.uncompressedBytes) return undefined
      let group = groups.get(ref)
      if (group === undefined) {
        group = []
        groups.set(ref, group)
        bytes += ref.compressedBytes
      }
      group.push(moved(chunk, ref, -start))
    }
    return bytes > MOST * this.#block.compressedBytes ? undefined : [...groups]
  }
}

/** A chunk as it lies in another block than that of its address, that many bytes further on. */
export const moved = <C extends Stored>(chunk: C, block: BlockRef, bytes: number): C => {
  const { offset, size } = chunk.address
  return { ...chunk, address: { block, offset: offset + bytes, size } }
}

const wrong = ({ origin, id }: BlockRef, actual: unknown, expected: unknown): HyperslabError =>
  new HyperslabError('FormatError', `block ${id}: its segments do not go with it`, { file: origin.file, actual, expected })
