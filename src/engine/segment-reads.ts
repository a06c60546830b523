import { Lz4PrefixDecoder } from '../codec/lz4-front.ts'
import type { CodecSet } from '../codec/registry.ts'
import { isHyperslabError } from '../core/errors.ts'
import type { MemoryBudget } from '../core/memory-budget.ts'
import type { Signal } from '../core/signal.ts'
import { type BlockRequest, createRequest, isPartialRead } from './batches.ts'
import { type BlockOrigin, type BlockRef, checkBlockBytes, type Groups, type Parts, type Stored } from './block.ts'
import type { BlockMemory } from './block-cache.ts'
import { moved } from './segments.ts'

/** Number of sequential reads that are tracked at the same time. */
const REMEMBERED = 8
/** Largest gap between consecutive segments, except after long literals. */
const MOST_BETWEEN = 64

/** Plans reads of blocks in segments, and detects sequential reads of them. */
export class SegmentReads {
  readonly #codecs: CodecSet
  readonly #decoded: BlockMemory['blocks']
  readonly #maxBlockBytes: number
  readonly #keyOf: (block: BlockRef) => string
  readonly #budget: MemoryBudget | undefined
  readonly #ends: { readonly origin: BlockOrigin; readonly end: number }[] = []
  readonly #continued = new WeakSet<BlockRef>()

  /** @param budget accounts for segment tables while they are read */
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

  /** Creates a decoder that decodes a block as far as requested. */
  front(stored: Uint8Array, decodedBytes: number): Lz4PrefixDecoder {
    return new Lz4PrefixDecoder(stored, decodedBytes)
  }

  /**
   * Replaces sparsely read blocks by the segments that cover the requested chunks. The result depends on the
   * groups alone, like batches.
   */
  async split<C extends Stored>(groups: Groups<C>, signal: Signal | undefined): Promise<Groups<C>> {
    const parts: (readonly [BlockRef, readonly C[], Parts?])[] = []
    for (const [block, chunks] of groups) {
      if (block.codec === 'none') {
        const own = isPartialRead(block, chunks) ? await this.#partsOf(block, chunks, signal) : undefined
        parts.push(own === undefined ? [block, chunks] : [block, chunks, own])
        continue
      }
      const some = block.codec === 'lz4' && !this.#codecs.isUsers('lz4') && isPartialRead(block, chunks)
      const own = some
        ? (await unlessDamaged(async () => block.origin.segmentsOf?.(block, signal, this.#budget)))?.split(chunks)
        : undefined
      if (own !== undefined && this.#continues(own.map(([segment]) => segment))) this.#continued.add(block)
      parts.push(...(own ?? [[block, chunks] as const]))
    }
    return parts
  }

  /**
   * Replaces segments by their whole block, if it is cached or should be. Over a network, a sequential reader
   * would otherwise wait for a request per segment.
   */
  atHand<C extends Stored>(requests: readonly BlockRequest<C>[]): readonly BlockRequest<C>[] {
    return requests.map((request) => {
      const { block, chunks } = request
      if (block.part === undefined || this.#decoded.has(this.#keyOf(block))) return request
      const { whole, start } = block.part
      const ahead =
        whole.origin.readMany !== undefined && this.#continued.has(whole) && this.#decoded.fits(whole.uncompressedBytes)
      if (!ahead && !this.#decoded.has(this.#keyOf(whole))) return request
      return createRequest(
        whole,
        chunks.map((chunk) => moved(chunk, whole, start)),
      )
    })
  }

  /**
   * Returns the parts of an uncompressed block that contain some chunks: its segments with checksums. If the
   * file has no checksum of the block either, these are the chunks themselves.
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
   * Remembers segments that are read at once. Returns whether the first of them follows segments that were
   * read recently.
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
 * Returns what `read` returns; undefined if that is damaged or too large, which `verify` reports. The caller
 * then reads whole blocks, which have checksums of their own.
 */
export async function unlessDamaged<T>(read: () => Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    if (!isHyperslabError(error, 'FormatError', 'IntegrityError')) throw error
    return undefined
  }
}
