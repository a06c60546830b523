import { within } from '../../core/errors.ts'
import type { Signal } from '../../core/signal.ts'
import { SingleFlight } from '../../core/single-flight.ts'
import type { BlockRef } from '../../engine/block.ts'
import { checkCrc } from '../../engine/integrity.ts'
import { SEGMENTS_CODEC } from '../format/extras.ts'
import { decodeSegmentChecksums, decodeSegmentTable } from '../format/segment-tables.ts'

type ByBlock<T> = ReadonlyMap<BlockRef, T>

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

  /**
   * @param block that holds the table, whose codec tells which it is
   * @param blocks of the layer, by id
   */
  constructor(block: BlockRef, blocks: ReadonlyMap<number, BlockRef>, stored: Uint8Array | undefined) {
    this.#block = block
    this.#blocks = blocks
    this.#stored = stored
  }

  /** @throws FormatError, IntegrityError when the table is damaged */
  async of(block: BlockRef, signal?: Signal): Promise<T | undefined> {
    const segments = this.#segments ?? (await this.#reads.share(this, (shared) => this.#read(shared), signal))
    return segments.get(block)
  }

  #read(signal: Signal): Promise<ByBlock<T>> {
    const { origin, codec, fileOffset, compressedBytes, crc } = this.#block
    return within({ file: origin.file }, async () => {
      this.#stored ??= await origin.read(fileOffset, compressedBytes, signal)
      if (crc !== undefined) checkCrc(`the table '${codec}'`, this.#stored, crc)
      const decode = codec === SEGMENTS_CODEC ? decodeSegmentTable : decodeSegmentChecksums
      this.#segments = decode(this.#stored, this.#blocks) as ReadonlyMap<BlockRef, unknown> as ByBlock<T>
      this.#stored = undefined
      return this.#segments
    })
  }
}
