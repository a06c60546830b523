import { within } from '../core/errors.js'
import type { Signal } from '../core/signal.js'
import { SingleFlight } from '../core/single-flight.js'
import type { BlockRef } from './block.js'
import { checkCrc } from './checksums.js'
import { type BlockSegments, decodeSegments } from './segments.js'

type Segments = ReadonlyMap<BlockRef, BlockSegments>

/** The table of the segments of a layer, read once, when the first of them is needed. */
export class SegmentTable {
  readonly #block: BlockRef
  readonly #blocks: ReadonlyMap<number, BlockRef>
  readonly #reads = new SingleFlight<SegmentTable, Segments>()
  /** As it came with the footer; or damaged, so that it is not read again. */
  #stored: Uint8Array | undefined
  #segments: Segments | undefined

  /**
   * @param block that holds the table
   * @param blocks of the layer, by id
   */
  constructor(block: BlockRef, blocks: ReadonlyMap<number, BlockRef>, stored: Uint8Array | undefined) {
    this.#block = block
    this.#blocks = blocks
    this.#stored = stored
  }

  /** @throws FormatError, IntegrityError when the table is damaged */
  async of(block: BlockRef, signal?: Signal): Promise<BlockSegments | undefined> {
    const segments = this.#segments ?? (await this.#reads.share(this, (shared) => this.#read(shared), signal))
    return segments.get(block)
  }

  #read(signal: Signal): Promise<Segments> {
    const { origin, fileOffset, compressedBytes, crc } = this.#block
    return within({ file: origin.file }, async () => {
      this.#stored ??= await origin.read(fileOffset, compressedBytes, signal)
      if (crc !== undefined) checkCrc('the table of segments', this.#stored, crc)
      this.#segments = decodeSegments(this.#stored, this.#blocks)
      this.#stored = undefined
      return this.#segments
    })
  }
}
