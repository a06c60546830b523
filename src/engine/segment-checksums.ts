import { HyperslabError, rethrowWithin } from '../core/errors.ts'
import { lastStart } from '../core/shape.ts'
import type { ByteRange } from '../store/store.ts'
import { type BlockRef, type CheckedBlock, type Parts, prefixed, type Stored } from './block.ts'
import { checkCrc } from './integrity.ts'

/** A part of an uncompressed block that ends where a chunk does. */
export interface CheckedSegment {
  readonly bytes: number
  /** CRC-32C of those bytes. */
  readonly crc: number
}

/** Numbers per segment in a table: the two fields above. */
export const CHECKED_FIELDS = 2

/** Checksums of the segments of one block. Partial reads are checked against them. */
export class SegmentChecksums implements CheckedBlock {
  /** Start of each segment in the block, followed by the block's end. */
  readonly #starts: Float64Array
  readonly #crcs: Uint32Array
  readonly #block: BlockRef

  /**
   * @param fields of the segments, one after another
   * @throws FormatError if the segments do not match the block
   */
  constructor(block: BlockRef, fields: ArrayLike<number>) {
    const count = fields.length / CHECKED_FIELDS
    const starts = new Float64Array(count + 1)
    const crcs = new Uint32Array(count)
    const { origin, id, codec, compressedBytes } = block
    for (let i = 0; i < count; i++) {
      const [bytes, crc] = [fields[CHECKED_FIELDS * i]!, fields[CHECKED_FIELDS * i + 1]!]
      starts[i + 1] = starts[i]! + bytes
      crcs[i] = crc
      if (crcs[i] === crc) continue
      throw new HyperslabError('FormatError', `block ${id}: a checksum of 32 bits is ${crc}`, { file: origin.file, actual: crc })
    }
    if (codec !== 'none' || starts.at(-1) !== compressedBytes) {
      const text = `block ${id}: the segments that its checksums are of have ${starts.at(-1)} bytes, it has ${compressedBytes} of codec '${codec}'`
      throw new HyperslabError('FormatError', text, { file: origin.file, actual: starts.at(-1), expected: compressedBytes })
    }
    this.#block = block
    this.#starts = starts
    this.#crcs = crcs
  }

  get count(): number {
    return this.#crcs.length
  }

  /** Returns the file range of a segment, and its CRC-32C. */
  at(number: number): { readonly range: ByteRange; readonly crc: number } {
    const start = this.#starts[number]!
    return {
      range: { offset: this.#block.fileOffset + start, length: this.#starts[number + 1]! - start },
      crc: this.#crcs[number]!,
    }
  }

  partsOf(chunks: readonly Stored[]): Parts | undefined {
    const parts = new Map<number, number>()
    const partOf: number[] = []
    for (const { address } of chunks) {
      const number = lastStart(this.#starts, address.offset, this.count)
      if (address.offset + address.size > this.#starts[number + 1]!) return undefined
      if (!parts.has(number)) parts.set(number, parts.size)
      partOf.push(parts.get(number)!)
    }
    const found = [...parts.keys()].map((number) => this.at(number))
    return { ranges: found.map(({ range }) => range), partOf, check: (part, bytes) => this.#check(found[part]!, bytes) }
  }

  #check({ range: { offset, length }, crc }: ReturnType<SegmentChecksums['at']>, bytes: Uint8Array): void {
    const start = offset - this.#block.fileOffset
    try {
      checkCrc(`bytes ${start} to ${start + length} as stored`, bytes, crc)
    } catch (error) {
      rethrowWithin(prefixed(error, this.#block), { file: this.#block.origin.file })
    }
  }
}
