import { HyperslabError, within } from '../../core/errors.ts'
import type { MemoryBudget } from '../../core/memory-budget.ts'
import type { Signal } from '../../core/signal.ts'
import { SingleFlight } from '../../core/single-flight.ts'
import type { BlockRef } from '../../engine/block.ts'
import { checkCrc } from '../../engine/integrity.ts'
import { SEGMENTS_CODEC } from '../format/extras.ts'
import { decodeSegmentChecksums, decodeSegmentTable } from '../format/segment-tables.ts'

type ByBlock<T> = ReadonlyMap<BlockRef, T>

/**
 * What a table takes for each of its bytes while it is read, at worst: the bytes, and 64 of numbers for a
 * segment of five.
 */
const WEIGHT = 14

/**
 * What a table of the segments of a layer says of each block, read once, when the first of them is needed.
 */
export class SegmentTable<T> {
  readonly #block: BlockRef
  readonly #blocks: ReadonlyMap<number, BlockRef>
  readonly #reads = new SingleFlight<SegmentTable<T>, ByBlock<T>>()
  /** As it came with the footer; or damaged, so that it is not read again. */
  #stored: Uint8Array | undefined
  #segments: ByBlock<T> | undefined
  readonly #maxBytes: number

  /**
   * @param block that holds the table, whose codec tells which it is
   * @param blocks of the layer, by id
   * @param maxBytes a larger table is refused
   */
  constructor(block: BlockRef, blocks: ReadonlyMap<number, BlockRef>, stored: Uint8Array | undefined, maxBytes: number) {
    this.#maxBytes = maxBytes
    this.#block = block
    this.#blocks = blocks
    this.#stored = stored
  }

  /** @throws FormatError, IntegrityError when the table is damaged, or too large */
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
        const text = `the table '${codec}' of ${compressedBytes} bytes is more than limits.footerBytes, ${this.#maxBytes}`
        throw new HyperslabError('FormatError', text, { actual: compressedBytes, expected: this.#maxBytes })
      }
      return budget?.blocks(WEIGHT * compressedBytes, read, signal) ?? read()
    })
  }
}
