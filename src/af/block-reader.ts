import { type Codec, inKernel, type KernelCodec } from '../codec/codec.js'
import type { Codecs } from '../codec/registry.js'
import { ByteCache } from '../core/byte-cache.js'
import { inOrder } from '../core/in-order.js'
import { forEachLimited } from '../core/limiter.js'
import type { Signal } from '../core/signal.js'
import { SingleFlight } from '../core/single-flight.js'
import { type Arena, withArena } from '../kernels/arena.js'
import type { Answer, BlockWork, FilePart, Packed, Task } from '../pool/task.js'
import type { ByteRange } from '../store/store.js'
import { batchesOf, checkStored, type Groups, hasMore, type Need, type Stored } from './batches.js'
import {
  type BlockOrigin,
  type BlockRef,
  type ChunkBytes,
  checkBlockBytes,
  checkStoredBytes,
  decodeApart,
  decodeBlock,
  decodeElsewhere,
  findCodec,
  partOf,
} from './block.js'

/** What reading has cost since the file was opened. */
export interface ReadCost {
  /** Blocks fetched from the store; of uncompressed ones, parts. */
  blocks: number
  /** Bytes fetched for them. */
  bytes: number
}

/** Blocks under way at the same time; with a pool, two more for each worker. */
const CONCURRENT_BLOCKS = 4
/** Bytes of those, decoded; a larger block is read alone. */
const MAX_BYTES = 128 * 1024 * 1024

/** What to make of the chunks of a block. */
export interface BlockUse<C, R> {
  /** On this thread; the bytes of the chunks are valid during the call only. */
  here(arena: Arena, chunks: readonly C[], bytesOf: (chunk: C) => ChunkBytes): R
  /** The same as a task for another thread, and what its answer comes to. */
  there?(chunks: readonly C[]): { readonly task: Task; result(answer: Answer): R }
}

/** Called for each chunk with its bytes, which are valid during the call only. */
export type ChunkVisitor<C> = (arena: Arena, chunk: C, bytes: ChunkBytes) => void

/**
 * Fetches blocks, once for all who ask at the same time, decodes them, and keeps decoded ones whose other chunks are likely to be wanted
 * soon, the least recently used going first when the byte budget is spent.
 */
export class BlockReader {
  readonly cost: ReadCost = { blocks: 0, bytes: 0 }
  readonly #decoded: ByteCache<BlockRef, Uint8Array> | undefined
  readonly #maxBlockBytes: number
  readonly #codecs: Codecs
  readonly #fetches = new SingleFlight<BlockRef, Uint8Array>()
  readonly #decodes = new SingleFlight<BlockRef, Uint8Array | undefined>()
  readonly #pool: BlockWork | undefined

  /**
   * @param cacheBytes memory for decoded blocks
   * @param maxBlockBytes larger ones are refused
   * @param pool takes decoding off this thread
   */
  constructor(cacheBytes: number, maxBlockBytes: number, codecs: Codecs, pool?: BlockWork) {
    this.#maxBlockBytes = maxBlockBytes
    this.#codecs = codecs
    if (cacheBytes > 0) this.#decoded = new ByteCache(cacheBytes)
    this.#pool = pool
  }

  /**
   * Fetches what some chunks, grouped by their blocks, need, and hands each of them to `visit`, decoded.
   * @throws CodecError when a block does not decode, or is too large; IntegrityError when it is not what was written
   */
  visit<C extends Stored>(groups: Groups<C>, visit: ChunkVisitor<C>, signal?: Signal): Promise<void> {
    return this.use(groups, { here: visiting(visit) }, () => undefined, signal)
  }

  /**
   * Fetches what some chunks, grouped by their blocks, need, and takes what `use` makes of each block: for the same groups always in the
   * same order.
   * @throws CodecError when a block does not decode, or is too large; IntegrityError when it is not what was written
   */
  async use<C extends Stored, R>(
    groups: Groups<C>,
    use: BlockUse<C, R>,
    take: (result: R) => void,
    signal?: Signal,
  ): Promise<void> {
    const bytesOf = (batch: readonly Need<C>[]): number => batch.reduce((sum, { block }) => sum + block.uncompressedBytes, 0)
    const work = async (batch: readonly Need<C>[]): Promise<R[]> => {
      signal?.throwIfAborted()
      return this.#useBatch(batch, use, signal)
    }
    await inOrder(batchesOf(groups), { count: this.#lanes, bytes: MAX_BYTES, bytesOf }, work, (results) => results.forEach(take))
  }

  /** Drops decoded blocks. */
  clear(): void {
    this.#decoded?.clear()
  }

  get #lanes(): number {
    return CONCURRENT_BLOCKS + 2 * (this.#pool?.size ?? 0)
  }

  async #useBatch<C extends Stored, R>(batch: readonly Need<C>[], use: BlockUse<C, R>, signal: Signal | undefined): Promise<R[]> {
    const { origin } = batch[0]!.block
    for (const { block, whole } of batch) if (whole) checkBlockBytes(block, this.#maxBlockBytes)
    const missing = batch.filter(({ block }) => !this.#decoded?.has(block))
    const fetched = origin.readMany && missing.length > 0 ? await this.#fetchBatch(missing, origin, signal) : undefined
    const results: R[] = []
    await forEachLimited(batch.keys(), this.#lanes, async (i) => {
      results[i] = await this.#useBlock(batch[i]!, fetched?.get(batch[i]!), use, signal)
    })
    return results
  }

  async #useBlock<C extends Stored, R>(
    need: Need<C>,
    fetched: readonly Uint8Array[] | undefined,
    use: BlockUse<C, R>,
    signal: Signal | undefined,
  ): Promise<R> {
    const { block, chunks, whole } = need
    const known = this.#decoded?.get(block)
    if (known !== undefined) return useBytes(known, chunks, use)
    const part = fetched === undefined && whole ? this.#partFor(block) : undefined
    const done = part && (await this.#useElsewhere(need, part, use, signal))
    if (done !== undefined) return done[0]
    const parts = fetched ?? (await this.#fetch(need, signal))
    if (!whole) {
      const partFor = new Map(chunks.map((chunk, i) => [chunk, parts[i]!]))
      return withArena((arena) => use.here(arena, chunks, (chunk) => partFor.get(chunk)!))
    }
    const bytes = parts[0]!
    checkStoredBytes(block, bytes)
    if (block.codec === 'none') {
      checkStored(block)
      return useBytes(bytes, chunks, use)
    }
    return ((await this.#useElsewhere(need, bytes, use, signal)) ?? [this.#useHere(need, bytes, use)])[0]
  }

  /** What a worker needs to fetch a block by itself; undefined where none can. */
  #partFor(block: BlockRef): FilePart | undefined {
    const { origin, codec, fileOffset, compressedBytes, crc } = block
    if (origin.local === undefined || codec === 'none' || !this.#pool?.decodes(findCodec(this.#codecs, block))) return undefined
    return { ...origin.local, offset: fileOffset, length: compressedBytes, crc }
  }

  /** Not in the memory of the kernels here; undefined where that has to be done. */
  async #useElsewhere<C extends Stored, R>(
    { block, chunks }: Need<C>,
    input: Packed['input'],
    use: BlockUse<C, R>,
    signal: Signal | undefined,
  ): Promise<[R] | undefined> {
    const codec = findCodec(this.#codecs, block)
    // Only a block that has more to give is worth keeping.
    const keep = hasMore(block, chunks)
    if (keep || !inKernel(codec)) {
      const decoded = this.#decoded?.get(block) ?? (await this.#decodeApart(codec, block, input, keep, signal))
      return decoded && [useBytes(decoded, chunks, use)]
    }
    if (!this.#pool?.decodes(codec) || use.there === undefined) return undefined
    const { task, result } = use.there(chunks)
    return this.#decodeThere(block, input, task, (answer) => [result(answer)], signal)
  }

  #useHere<C extends Stored, R>({ block, chunks }: Need<C>, bytes: Uint8Array, use: BlockUse<C, R>): R {
    return withArena((arena) => {
      const pointer = decodeBlock(arena, this.#codecs, block, bytes)
      const result = use.here(arena, chunks, ({ address: { offset, size } }) => ({ pointer: pointer + offset, size }))
      if (hasMore(block, chunks)) this.#decoded?.set(block, arena.bytes(pointer, block.uncompressedBytes).slice())
      return result
    })
  }

  /** A whole decoded block, once for all who ask at the same time; undefined where that has to be done in the memory of the kernels here. */
  async #decodeApart(
    codec: Codec | KernelCodec,
    block: BlockRef,
    input: Packed['input'],
    keep: boolean,
    signal: Signal | undefined,
  ): Promise<Uint8Array | undefined> {
    if (inKernel(codec) && !this.#pool?.decodes(codec)) return undefined
    const start = async (shared: Signal): Promise<Uint8Array | undefined> => {
      const decoded = inKernel(codec)
        ? await this.#decodeThere(block, input, { kind: 'decode', keep: true }, ({ bytes }) => bytes, shared)
        : await decodeApart(codec, block, input as Uint8Array)
      if (decoded !== undefined && keep) this.#decoded?.set(block, decoded)
      return decoded
    }
    return this.#decodes.share(block, start, signal)
  }

  async #decodeThere<T>(
    block: BlockRef,
    input: Packed['input'],
    task: Task,
    use: (answer: Answer) => T,
    signal: Signal | undefined,
  ): Promise<T | undefined> {
    const result = await decodeElsewhere(this.#pool!, block, input, task, use, signal)
    if (result !== undefined && !(input instanceof Uint8Array)) this.#count(input.length)
    return result
  }

  async #fetch({ block, whole, ranges }: Need<unknown>, signal: Signal | undefined): Promise<readonly Uint8Array[]> {
    if (whole) return [await this.#fetches.share(block, (shared) => this.#read(block.origin, ranges[0]!, shared), signal)]
    const parts: Uint8Array[] = []
    await forEachLimited(ranges.keys(), CONCURRENT_BLOCKS, async (i) => {
      parts[i] = await this.#read(block.origin, ranges[i]!, signal)
    })
    return parts
  }

  async #fetchBatch<C>(
    needs: readonly Need<C>[],
    origin: BlockOrigin,
    signal: Signal | undefined,
  ): Promise<Map<Need<C>, readonly Uint8Array[]>> {
    const ranges = needs.flatMap((need) => need.ranges)
    for (const { length } of ranges) this.#count(length)
    const parts = await origin.readMany!(ranges, signal)
    return new Map(needs.map((need) => [need, parts.splice(0, need.ranges.length)]))
  }

  #read(origin: BlockOrigin, { offset, length }: ByteRange, signal: Signal | undefined): Promise<Uint8Array> {
    this.#count(length)
    return origin.read(offset, length, signal)
  }

  #count(bytes: number): void {
    this.cost.blocks++
    this.cost.bytes += bytes
  }
}

/** Each chunk in a memory session of its own. */
export const visiting =
  <C>(visit: ChunkVisitor<C>): BlockUse<C, void>['here'] =>
  (_, chunks, bytesOf) => {
    for (const chunk of chunks) withArena((arena) => visit(arena, chunk, bytesOf(chunk)))
  }

function useBytes<C extends Stored, R>(decoded: Uint8Array, chunks: readonly C[], use: BlockUse<C, R>): R {
  return withArena((arena) => use.here(arena, chunks, ({ address }) => partOf(decoded, address)))
}
