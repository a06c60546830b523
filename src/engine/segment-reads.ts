import { Lz4PrefixDecoder } from '../codec/lz4-front.ts'
import type { CodecSet } from '../codec/registry.ts'
import { isHyperslabError } from '../core/errors.ts'
import type { MemoryBudget } from '../core/memory-budget.ts'
import type { Signal } from '../core/signal.ts'
import { hasMore, type Need, needOf } from './batches.ts'
import { type BlockOrigin, type BlockRef, checkBlockBytes, type Groups, type Parts, type Stored } from './block.ts'
import type { BlockMemory } from './block-cache.ts'
import { moved } from './segments.ts'

/** Readers that may go through files at the same time. */
const REMEMBERED = 8
/** Bytes between a segment and the next that belong to neither, unless literals go on for long. */
const MOST_BETWEEN = 64

/** Has blocks read in segments, and notices who reads those one after another. */
export class SegmentReads {
  readonly #codecs: CodecSet
  readonly #decoded: BlockMemory['blocks']
  readonly #maxBlockBytes: number
  readonly #keyOf: (block: BlockRef) => string
  readonly #budget: MemoryBudget | undefined
  readonly #ends: { readonly origin: BlockOrigin; readonly end: number }[] = []
  readonly #continued = new WeakSet<BlockRef>()

  /** @param budget holds tables of segments while they are read */
  constructor(
    codecs: CodecSet,
    decoded: BlockMemory['blocks'],
    maxBlockBytes: number,
    keyOf: (block: BlockRef) => string,
    budget: MemoryBudget | undefined,
  ) {
    this.#budget = budget
    this.#maxBlockBytes = maxBlockBytes
    this.#codecs = codecs
    this.#decoded = decoded
    this.#keyOf = keyOf
  }

  /** Decodes a block as far as it is wanted. */
  front(stored: Uint8Array, decodedBytes: number): Lz4PrefixDecoder {
    return new Lz4PrefixDecoder(stored, decodedBytes)
  }

  /**
   * In the place of blocks of which little is wanted their segments. Depends on the groups alone, as batches
   * do.
   */
  async split<C extends Stored>(groups: Groups<C>, signal: Signal | undefined): Promise<Groups<C>> {
    const parts: (readonly [BlockRef, readonly C[], Parts?])[] = []
    for (const [block, chunks] of groups) {
      if (block.codec === 'none') {
        const own = hasMore(block, chunks) ? await this.#partsOf(block, chunks, signal) : undefined
        parts.push(own === undefined ? [block, chunks] : [block, chunks, own])
        continue
      }
      const some = block.codec === 'lz4' && !this.#codecs.isUsers('lz4') && hasMore(block, chunks)
      const own = some
        ? (await unlessDamaged(async () => block.origin.segmentsOf?.(block, signal, this.#budget)))?.split(chunks)
        : undefined
      if (own !== undefined && this.#continues(own.map(([segment]) => segment))) this.#continued.add(block)
      parts.push(...(own ?? [[block, chunks] as const]))
    }
    return parts
  }

  /**
   * In the place of segments whole blocks that are in memory, or should be: over a network, whoever goes
   * through a block segment by segment would wait for a request each time.
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

  /**
   * Of a block that is not compressed only the parts with some chunks are needed: those that can be checked
   * or, where the file has no checksum even of the block, the chunks.
   */
  async #partsOf(block: BlockRef, chunks: readonly Stored[], signal: Signal | undefined): Promise<Parts | undefined> {
    if (block.crc === undefined) {
      const ranges = chunks.map(({ address }) => ({ offset: block.fileOffset + address.offset, length: address.size }))
      return { ranges, partOf: chunks.map((_, i) => i) }
    }
    const parts = (await unlessDamaged(async () => block.origin.checksumsOf?.(block, signal, this.#budget)))?.partsOf(chunks)
    for (const { length } of parts?.ranges ?? []) checkBlockBytes(block, length, this.#maxBlockBytes)
    return parts
  }

  /**
   * Takes note of segments that are read at once; whether the first of them comes right behind some that were
   * read lately.
   */
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

/**
 * What is read; undefined where that is damaged or too large, of which `verify` tells: whole blocks, which
 * have checksums of their own, do without.
 */
export async function unlessDamaged<T>(read: () => Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    if (!isHyperslabError(error, 'FormatError', 'IntegrityError')) throw error
    return undefined
  }
}
