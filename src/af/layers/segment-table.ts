import { HyperslabError, within } from '../../core/errors.ts'
import type { MemoryBudget } from '../../core/memory-budget.ts'
import type { Signal } from '../../core/signal.ts'
import { SingleFlight } from '../../core/single-flight.ts'
import type { BlockRef } from '../../engine/block.ts'
import { checkCrc } from '../../engine/integrity.ts'
import { SEGMENTS_CODEC } from '../format/extension-blocks.ts'
import { decodeSegmentChecksums, decodeSegmentTable } from '../format/segment-tables.ts'

type ByBlock<T> = ReadonlyMap<BlockRef, T>

/**
 * Memory per byte of a table during the read, at worst: the byte itself, and 64 bytes of numbers for a
 * segment of five bytes.
 */
const WEIGHT = 14

/** Segment table of a layer, by block. It is read once, when the first block needs it. */
export class SegmentTable<T> {
  readonly #block: BlockRef
  readonly #blocks: ReadonlyMap<number, BlockRef>
  readonly #reads = new SingleFlight<SegmentTable<T>, ByBlock<T>>()
  /** The table if it was read with the footer. Kept also if it is damaged, so that it is not read again. */
  #stored: Uint8Array | undefined
  #segments: ByBlock<T> | undefined
  readonly #maxBytes: number

  /**
   * @param block contains the table; its codec identifies the kind of table
   * @param blocks of the layer, by id
   * @param maxBytes larger tables are rejected
   */
  constructor(block: BlockRef, blocks: ReadonlyMap<number, BlockRef>, stored: Uint8Array | undefined, maxBytes: number) {
    this.#maxBytes = maxBytes
    this.#block = block
    this.#blocks = blocks
    this.#stored = stored
  }

  /** @throws FormatError, IntegrityError if the table is damaged or too large */
  async of(block: BlockRef, signal?: Signal, budget?: MemoryBudget): Promise<T | undefined> {
    const segments = this.#segments ?? (await this.#reads.share(this, (shared) => this.#read(shared, budget), signal))
    return segments.get(block)
  }

  #read(signal: Signal, budget: MemoryBudget | undefined): Promise<ByBlock<T>> {
    const { origin, codec, fileOffset, compressedBytes, crc } = this.#block
    const read = async (): Promise<ByBlock<T>> => {
      this.#stored ??= await origin.read(fileOffset, compressedBytes, signal)
      if (crc !== undefined) checkCrc(`the table '${codec}'`, this.#stored, crc)
      const decode = codec === SEGMENTS_CODEC ? decodeSegmentTable : decodeSegmentChecksums
      this.#segments = decode(this.#stored, this.#blocks) as ReadonlyMap<BlockRef, unknown> as ByBlock<T>
      this.#stored = undefined
      return this.#segments
    }
    return within({ file: origin.file }, async () => {
      if (compressedBytes > this.#maxBytes) {
        const text = `the table '${codec}' of ${compressedBytes} bytes is more than \`limits.footerBytes\`, ${this.#maxBytes}`
        throw new HyperslabError('FormatError', text, { actual: compressedBytes, expected: this.#maxBytes })
      }
      return budget?.blocks(WEIGHT * compressedBytes, read, signal) ?? read()
    })
  }
}
