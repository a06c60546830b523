import type { Codecs } from '../codec/registry.js'
import { isHyperslabError } from '../core/errors.js'
import type { Signal } from '../core/signal.js'
import { type Groups, hasMore, type Stored } from './batches.js'
import type { BlockOrigin, BlockRef } from './block.js'
import type { BlockSegments } from './segments.js'

/** Readers that may go through files at the same time. */
const REMEMBERED = 8
/** Bytes between a segment and the next that belong to neither, unless literals go on for long. */
const MOST_BETWEEN = 64

/** Has blocks read in segments, and notices who reads those one after another. */
export class SegmentReads {
  readonly #codecs: Codecs
  readonly #ends: { readonly origin: BlockOrigin; readonly end: number }[] = []
  readonly #continued = new WeakSet<BlockRef>()

  constructor(codecs: Codecs) {
    this.#codecs = codecs
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

  /** Whether somebody goes through a block segment by segment: over a network it is better read at once. */
  continues(block: BlockRef): boolean {
    return block.origin.readMany !== undefined && this.#continued.has(block)
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
