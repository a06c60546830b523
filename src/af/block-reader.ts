import { LRUCache } from 'lru-cache'
import type { Codecs } from '../codec/registry.js'
import { HyperslabError } from '../core/errors.js'
import { forEachLimited } from '../core/limiter.js'
import type { Signal } from '../core/signal.js'
import { SingleFlight } from '../core/single-flight.js'
import { type Arena, withArena } from '../kernels/arena.js'
import type { ByteRange } from '../store/store.js'
import {
  type BlockOrigin,
  type BlockRef,
  type ChunkAddress,
  type ChunkBytes,
  checkBlockBytes,
  decodeApart,
  decodeBlock,
  partOf,
} from './block.js'

/** What reading has cost since the file was opened. */
export interface ReadCost {
  /** Blocks fetched from the store; of uncompressed ones, parts. */
  blocks: number
  /** Bytes fetched for them. */
  bytes: number
}

/** Blocks read at the same time from stores that read one range at a time. */
const CONCURRENT_BLOCKS = 4
/** Bytes asked for at once of stores that take many ranges. */
const BATCH_BYTES = 32 * 1024 * 1024

/** Called for each chunk with its bytes, which are valid during the call only. */
export type ChunkVisitor<C> = (arena: Arena, chunk: C, bytes: ChunkBytes) => void

/** What has to be fetched of one block: all of it, or the parts where single chunks lie. */
interface Need<C> {
  readonly block: BlockRef
  readonly chunks: readonly C[]
  readonly whole: boolean
  /** In the file. */
  readonly ranges: readonly ByteRange[]
}

/**
 * Fetches blocks, once for all who ask at the same time, decodes them, and keeps decoded ones whose other chunks are likely to be wanted
 * soon, the least recently used going first when the byte budget is spent.
 */
export class BlockReader {
  readonly cost: ReadCost = { blocks: 0, bytes: 0 }
  readonly #decoded: LRUCache<BlockRef, Uint8Array> | undefined
  readonly #maxBlockBytes: number
  readonly #codecs: Codecs
  readonly #flights = new SingleFlight<BlockRef, Uint8Array>()

  /**
   * @param cacheBytes memory for decoded blocks
   * @param maxBlockBytes larger ones are refused
   */
  constructor(cacheBytes: number, maxBlockBytes: number, codecs: Codecs) {
    this.#maxBlockBytes = maxBlockBytes
    this.#codecs = codecs
    if (cacheBytes > 0) this.#decoded = new LRUCache({ maxSize: cacheBytes, sizeCalculation: (bytes) => bytes.length })
  }

  /**
   * Fetches what some chunks, grouped by their blocks, need, and hands each of them to `visit`, decoded.
   * @throws CodecError when a block does not decode, or is too large
   */
  async visit<C extends { readonly address: ChunkAddress }>(
    groups: Iterable<readonly [BlockRef, readonly C[]]>,
    visit: ChunkVisitor<C>,
    signal?: Signal,
  ): Promise<void> {
    const single: Need<C>[] = []
    const many = new Map<BlockOrigin, Need<C>[]>()
    for (const [block, chunks] of groups) {
      const decoded = this.#decoded?.get(block)
      if (decoded !== undefined)
        for (const chunk of chunks) withArena((arena) => visit(arena, chunk, partOf(decoded, chunk.address)))
      else if (block.origin.readMany === undefined) single.push(this.#needOf(block, chunks))
      else many.set(block.origin, [...(many.get(block.origin) ?? []), this.#needOf(block, chunks)])
    }
    await forEachLimited(single, CONCURRENT_BLOCKS, async (need) => {
      signal?.throwIfAborted()
      await this.#take(need, await this.#fetch(need, signal), visit)
    })
    for (const needs of many.values()) {
      for (const batch of batchesOf(needs)) await this.#fetchBatch(batch, visit, signal)
    }
  }

  /** Drops decoded blocks. */
  clear(): void {
    this.#decoded?.clear()
  }

  #needOf<C extends { readonly address: ChunkAddress }>(block: BlockRef, chunks: readonly C[]): Need<C> {
    const need = needOf(block, chunks)
    if (need.whole) checkBlockBytes(block, this.#maxBlockBytes)
    return need
  }

  async #fetch({ block, whole, ranges }: Need<unknown>, signal: Signal | undefined): Promise<Uint8Array[]> {
    if (whole) return [await this.#flights.share(block, (shared) => this.#read(block.origin, ranges[0]!, shared), signal)]
    const parts: Uint8Array[] = []
    await forEachLimited(ranges.keys(), CONCURRENT_BLOCKS, async (i) => {
      parts[i] = await this.#read(block.origin, ranges[i]!, signal)
    })
    return parts
  }

  async #fetchBatch<C extends { readonly address: ChunkAddress }>(
    needs: readonly Need<C>[],
    visit: ChunkVisitor<C>,
    signal: Signal | undefined,
  ): Promise<void> {
    const ranges = needs.flatMap((need) => need.ranges)
    for (const { length } of ranges) this.#count(length)
    const parts = await needs[0]!.block.origin.readMany!(ranges, signal)
    const fetched = needs.map((need) => ({ need, own: parts.splice(0, need.ranges.length) }))
    await forEachLimited(fetched, CONCURRENT_BLOCKS, async ({ need, own }) => {
      signal?.throwIfAborted()
      await this.#take(need, own, visit)
    })
  }

  #read(origin: BlockOrigin, { offset, length }: ByteRange, signal: Signal | undefined): Promise<Uint8Array> {
    this.#count(length)
    return origin.read(offset, length, signal)
  }

  #count(bytes: number): void {
    this.cost.blocks++
    this.cost.bytes += bytes
  }

  async #take<C extends { readonly address: ChunkAddress }>(
    need: Need<C>,
    parts: readonly Uint8Array[],
    visit: ChunkVisitor<C>,
  ): Promise<void> {
    const { block, chunks, whole } = need
    if (!whole) {
      for (const [i, chunk] of chunks.entries()) withArena((arena) => visit(arena, chunk, parts[i]!))
      return
    }
    // Only a block that has more to give is kept.
    const keep = wantedBytes(chunks) < block.uncompressedBytes
    const decoded = await decodeApart(this.#codecs, block, parts[0]!)
    if (decoded !== undefined) {
      for (const chunk of chunks) withArena((arena) => visit(arena, chunk, partOf(decoded, chunk.address)))
      if (keep) this.#decoded?.set(block, decoded)
      return
    }
    withArena((arena) => {
      const pointer = decodeBlock(arena, this.#codecs, block, parts[0]!)
      for (const chunk of chunks) {
        const { offset, size } = chunk.address
        withArena((inner) => visit(inner, chunk, { pointer: pointer + offset, size }))
      }
      if (keep) this.#decoded?.set(block, arena.bytes(pointer, block.uncompressedBytes).slice())
    })
  }
}

/** Of blocks that are not compressed only the chunks are needed, as long as the block is as long as it says. */
function needOf<C extends { readonly address: ChunkAddress }>(block: BlockRef, chunks: readonly C[]): Need<C> {
  const { fileOffset, compressedBytes, uncompressedBytes } = block
  const inPlace = block.codec === 'none' && wantedBytes(chunks) < uncompressedBytes
  if (!inPlace) return { block, chunks, whole: true, ranges: [{ offset: fileOffset, length: compressedBytes }] }
  if (compressedBytes !== uncompressedBytes) {
    const text = `block ${block.id}: not compressed, but ${compressedBytes} bytes stored for ${uncompressedBytes}`
    throw new HyperslabError('CodecError', text, {
      file: block.origin.file,
      actual: compressedBytes,
      expected: uncompressedBytes,
    })
  }
  const ranges = chunks.map(({ address }) => ({ offset: fileOffset + address.offset, length: address.size }))
  return { block, chunks, whole: false, ranges }
}

function* batchesOf<C>(needs: readonly Need<C>[]): Generator<Need<C>[]> {
  let batch: Need<C>[] = []
  let bytes = 0
  for (const need of needs) {
    batch.push(need)
    for (const { length } of need.ranges) bytes += length
    if (bytes < BATCH_BYTES) continue
    yield batch
    batch = []
    bytes = 0
  }
  if (batch.length > 0) yield batch
}

const wantedBytes = (chunks: readonly { readonly address: ChunkAddress }[]): number =>
  chunks.reduce((sum, { address }) => sum + address.size, 0)
