import type { Codecs } from '../codec/registry.js'
import { isHyperslabError } from '../core/errors.js'
import type { Signal } from '../core/signal.js'
import { type Groups, hasMore, type Need, needOf, type Stored } from './batches.js'
import type { BlockOrigin, BlockRef } from './block.js'
import type { BlockMemory } from './block-memory.js'
import { type BlockSegments, moved } from './segments.js'

/** Readers that may go through files at the same time. */
const REMEMBERED = 8
/** Bytes between a segment and the next that belong to neither, unless literals go on for long. */
const MOST_BETWEEN = 64

/** Has blocks read in segments, and notices who reads those one after another. */
export class SegmentReads {
  readonly #codecs: Codecs
  readonly #decoded: BlockMemory['blocks']
  readonly #keyOf: (block: BlockRef) => string
  readonly #ends: { readonly origin: BlockOrigin; readonly end: number }[] = []
  readonly #continued = new WeakSet<BlockRef>()

  constructor(codecs: Codecs, decoded: BlockMemory['blocks'], keyOf: (block: BlockRef) => string) {
    this.#codecs = codecs
    this.#decoded = decoded
    this.#keyOf = keyOf
  }

  /** In the place of blocks of which little is wanted their segments. Depends on the groups alone, as batches do. */
  async split<C extends Stored>(groups: Groups<C>, signal: Signal | undefined): Promise<Groups<C>> {
    const parts: [BlockRef, readonly C[]][] = []
    for (const [block, chunks] of groups) {
      const some = block.codec === 'lz4' && !this.#codecs.isUsers('lz4') && hasMore(block, chunks)
      const own = some ? (await segmentsOf(block, signal))?.split(chunks) : undefined
      if (own !== undefined && this.#continues(own.map(([segment]) => segment))) this.#continued.add(block)
      parts.push(...(own ?? [[block, chunks] as const]))
    }
    return parts
  }

  /**
   * In the place of segments whole blocks that are in memory, or should be: over a network, whoever goes through a block segment by segment
   * would wait for a request each time.
   */
  atHand<C extends Stored>(needs: readonly Need<C>[]): readonly Need<C>[] {
    return needs.map((need) => {
      const { block, chunks } = need
      if (block.part === undefined || this.#decoded.has(this.#keyOf(block))) return need
      const { whole, start } = block.part
      const ahead =
        whole.origin.readMany !== undefined && this.#continued.has(whole) && this.#decoded.fits(whole.uncompressedBytes)
      if (!ahead && !this.#decoded.has(this.#keyOf(whole))) return need
      return needOf(
        whole,
        chunks.map((chunk) => moved(chunk, whole, start)),
      )
    })
  }

  /** Takes note of segments that are read at once; whether the first of them comes right behind some that were read lately. */
  #continues(segments: readonly BlockRef[]): boolean {
    const { origin, fileOffset } = segments[0]!
    const behind = (end: number): boolean => fileOffset >= end && fileOffset <= end + MOST_BETWEEN
    const known = this.#ends.findIndex((each) => each.origin === origin && behind(each.end))
    if (known >= 0) this.#ends.splice(known, 1)
    const last = segments.at(-1)!
    this.#ends.push({ origin, end: last.fileOffset + last.compressedBytes })
    if (this.#ends.length > REMEMBERED) this.#ends.shift()
    return known >= 0
  }
}

/** None where the table of them is damaged, of which `verify` tells: then whole blocks are read, which have checksums of their own. */
async function segmentsOf(block: BlockRef, signal: Signal | undefined): Promise<BlockSegments | undefined> {
  try {
    return await block.origin.segmentsOf?.(block, signal)
  } catch (error) {
    if (!isHyperslabError(error, 'FormatError', 'IntegrityError')) throw error
    return undefined
  }
}
