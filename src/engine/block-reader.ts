import { type Codec, inKernel, type KernelCodec, type SharedCodec } from '../codec/codec.ts'
import { lz4 } from '../codec/lz4.ts'
import { none } from '../codec/none.ts'
import type { CodecSet } from '../codec/registry.ts'
import { compactBytes } from '../core/bytes.ts'
import { rethrowWithin } from '../core/errors.ts'
import { inOrder } from '../core/in-order.ts'
import { forEachLimited, Limiter } from '../core/limiter.ts'
import type { MemoryBudget } from '../core/memory-budget.ts'
import type { Signal } from '../core/signal.ts'
import { type Arena, withArena } from '../kernels/arena.ts'
import type { FilePart, PackedBlock, Task, TaskResult, WorkerPool } from '../pool/task.ts'
import { batchesOf, decodedBytes, hasMore, type Need } from './batches.ts'
import {
  type BlockRef,
  type ChunkBytes,
  checkBlockBytes,
  chunkPart,
  decodeBlock,
  decodeFront,
  decodeInWorker,
  decodeOutsideKernels,
  findCodec,
  type Groups,
  type Stored,
} from './block.ts'
import { type BlockMemory, type Decoded, keyOf, memoryOf, ownKeyOf } from './block-cache.ts'
import { BlockFetcher, type IoStats } from './block-fetcher.ts'
import type { SegmentReads } from './segment-reads.ts'

/** Blocks under way at the same time; with a pool, two more for each worker. */
const CONCURRENT_BLOCKS = 4
/**
 * So many times as many over a network, where most of the time is waiting and the store knows how many
 * requests are too many;
 */
const REMOTE_WIDTH = 128
/** or so many where each is a small file: opening, looking at, reading and closing it waits for threads. */
const SMALL_FILE_WIDTH = 4
const SMALL_FILE_BYTES = 256 * 1024
/** Bytes of those, decoded; a larger block is read alone. */
const MAX_BYTES = 128 * 1024 * 1024

/** What to make of the chunks of a block. */
export interface BlockUse<C, R> {
  /** On this thread; the bytes of the chunks are valid during the call only. */
  here(arena: Arena, chunks: readonly C[], bytesOf: (chunk: C) => ChunkBytes): R
  /** The same as a task for another thread, and what its answer comes to. */
  there?(chunks: readonly C[]): { readonly task: Task; result(answer: TaskResult): R }
}

/**
 * Fetches blocks, once for all who ask at the same time, decodes them, and keeps decoded ones whose other
 * chunks are likely to be wanted soon, the least recently used going first when the byte budget is spent.
 */
export class BlockReader {
  readonly #memory: BlockMemory
  readonly #shared: boolean
  readonly #fetcher: BlockFetcher
  readonly #maxBlockBytes: number
  readonly #codecs: CodecSet
  readonly #pool: WorkerPool | undefined
  readonly #budget: MemoryBudget | undefined
  /** Of what is decoded by neither kernels nor workers, however much arrives at once. */
  readonly #decoding = new Limiter(CONCURRENT_BLOCKS, Infinity)
  /** Loaded when it is needed. */
  #segments: SegmentReads | undefined

  /**
   * @param memory shared with others, or bytes of decoded blocks for this reader alone
   * @param maxBlockBytes larger ones are refused
   * @param pool takes decoding off this thread
   * @param budget bounds what blocks under way hold, here and in other readers
   */
  constructor(memory: BlockMemory | number, maxBlockBytes: number, codecs: CodecSet, pool?: WorkerPool, budget?: MemoryBudget) {
    this.#shared = typeof memory !== 'number'
    this.#memory = typeof memory === 'number' ? memoryOf(memory) : memory
    this.#fetcher = new BlockFetcher(this.#memory)
    this.#maxBlockBytes = maxBlockBytes
    this.#codecs = codecs
    this.#pool = pool
    this.#budget = budget
  }

  get cost(): IoStats {
    return this.#fetcher.cost
  }

  /**
   * Fetches what some chunks, grouped by their blocks, need, and takes what `use` makes of each block: for
   * the same groups always in the same order.
   * @throws CodecError when a block does not decode, or is too large; IntegrityError when it is not what was
   *   written
   */
  async use<C extends Stored, R>(
    groups: Groups<C>,
    use: BlockUse<C, R>,
    take: (result: R) => void,
    signal?: Signal,
  ): Promise<void> {
    const bytesOf = (batch: readonly Need<C>[]): number => batch.reduce((sum, { block }) => sum + decodedBytes(block), 0)
    const work = async (batch: readonly Need<C>[]): Promise<R[]> => {
      signal?.throwIfAborted()
      const read = (): Promise<R[]> => this.#useBatch(batch, use, signal)
      return this.#budget?.blocks(heldBytes(batch), read, signal) ?? read()
    }
    const parts = await this.#inSegments(groups, signal)
    const count = this.#lanes * widthOf(parts)
    await inOrder(batchesOf(parts), { count, bytes: MAX_BYTES, bytesOf }, work, (results) => results.forEach(take))
  }

  /** Drops decoded blocks, where no others may want them. */
  clear(): void {
    if (!this.#shared) this.#memory.blocks.clear()
  }

  get #lanes(): number {
    return CONCURRENT_BLOCKS + 2 * (this.#pool?.size ?? 0)
  }

  /** In the place of blocks of which little is wanted their segments, where they have any. */
  async #inSegments<C extends Stored>(groups: Groups<C>, signal: Signal | undefined): Promise<Groups<C>> {
    for (const [block, chunks] of groups) {
      if (!hasMore(block, chunks)) continue
      this.#segments ??= await this.#segmentReads()
      return this.#segments.split(groups, signal)
    }
    return groups
  }

  async #segmentReads(): Promise<SegmentReads> {
    const { SegmentReads } = await import('./segment-reads.ts')
    const keyOf = (block: BlockRef): string => this.#keyOf(block)
    return new SegmentReads(this.#codecs, this.#memory.blocks, this.#maxBlockBytes, keyOf, this.#budget)
  }

  async #useBatch<C extends Stored, R>(needs: readonly Need<C>[], use: BlockUse<C, R>, signal: Signal | undefined): Promise<R[]> {
    const batch = this.#segments?.atHand(needs) ?? needs
    for (const { block, parts } of batch)
      if (parts === undefined) checkBlockBytes(block, block.uncompressedBytes, this.#maxBlockBytes)
    const missing = batch.filter(({ block }) => !this.#memory.blocks.has(this.#keyOf(block)))
    const atOnce = missing[0]?.block.origin.readMany !== undefined
    const fetched = atOnce ? await this.#fetcher.fetch(missing, signal) : undefined
    const results: R[] = []
    await forEachLimited(batch.keys(), this.#lanes, async (i) => {
      try {
        results[i] = await this.#useBlock(batch[i]!, fetched?.get(batch[i]!), use, signal)
      } catch (error) {
        // What was decoded may be no elements.
        rethrowWithin(error, { file: batch[i]!.block.origin.file })
      }
    })
    return results
  }

  async #useBlock<C extends Stored, R>(
    need: Need<C>,
    fetched: readonly Uint8Array[] | undefined,
    use: BlockUse<C, R>,
    signal: Signal | undefined,
  ): Promise<R> {
    const { block, chunks } = need
    const known = this.#memory.blocks.get(this.#keyOf(block))
    if (known !== undefined) return this.#useDecoded(known, need, use)
    const part = fetched === undefined && need.parts === undefined ? this.#partFor(block) : undefined
    const done = part && (await this.#useElsewhere(need, part, use, signal))
    if (done !== undefined) return done[0]
    const parts = fetched ?? (await this.#fetcher.fetch([need], signal)).get(need)!
    if (need.parts !== undefined) {
      const found = new Map(chunks.map((chunk, i) => [chunk, inPart(need, i, parts)]))
      return withArena((arena) => use.here(arena, chunks, (chunk) => found.get(chunk)!))
    }
    const bytes = parts[0]!
    if (!this.#allHere(need, use)) this.#fetcher.check(block, bytes)
    const alone = block.part?.standalone(bytes) ?? bytes
    const elsewhere = await this.#useElsewhere(need, alone, use, signal)
    if (elsewhere !== undefined) return elsewhere[0]
    const result = this.#useHere(need, alone, use)
    // What the kernels have decoded lies in their memory, unless more of it is wanted later.
    if (alone === bytes && !hasMore(block, chunks)) this.#fetcher.recycle(block, bytes)
    return result
  }

  /** Whether all of a block is decoded in the memory of the kernels here, and nothing of it kept. */
  #allHere<C extends Stored, R>({ block, chunks }: Need<C>, use: BlockUse<C, R>): boolean {
    const codec = findCodec(this.#codecs, block)
    if (block.part !== undefined || hasMore(block, chunks) || !inKernel(codec)) return false
    return use.there === undefined || !this.#pool?.decodes(codec)
  }

  /** What a worker needs to fetch a block by itself; undefined where none can. */
  #partFor(block: BlockRef): FilePart | undefined {
    const { origin, codec, fileOffset, compressedBytes, uncompressedBytes, crc, sizeInFront, part } = block
    const local = codec === 'none' || part !== undefined ? undefined : origin.local
    if (local === undefined || !this.#pool?.decodes(findCodec(this.#codecs, block))) return undefined
    const size = sizeInFront ? uncompressedBytes : undefined
    return { ...local, offset: fileOffset, length: compressedBytes, crc, size }
  }

  /** Not in the memory of the kernels here; undefined where that has to be done. */
  async #useElsewhere<C extends Stored, R>(
    need: Need<C>,
    input: PackedBlock['input'],
    use: BlockUse<C, R>,
    signal: Signal | undefined,
  ): Promise<[R] | undefined> {
    const { block, chunks } = need
    const codec = findCodec(this.#codecs, block)
    // Only a block that has more to give is worth keeping.
    const keep = hasMore(block, chunks)
    if (!keep && use.there !== undefined && this.#pool?.decodes(codec)) {
      const { task, result } = use.there(chunks)
      const done = await this.#decodeThere(codec, block, input, task, (answer): [R] => [result(answer)], signal)
      if (done !== undefined) return done
    }
    if (!keep && inKernel(codec)) return undefined
    const known = this.#memory.blocks.again(this.#keyOf(block))
    const decoded = known ?? (await this.#decodeApart(codec, block, input, keep, signal))
    return decoded && [this.#useDecoded(decoded, need, use)]
  }

  #useHere<C extends Stored, R>(need: Need<C>, bytes: Uint8Array, use: BlockUse<C, R>): R {
    const { block, chunks } = need
    if (hasMore(block, chunks)) {
      const codec = findCodec(this.#codecs, block)
      if (codec === lz4) return this.#useDecoded(this.#frontOf(block, bytes), need, use)
      if (codec === none) {
        this.#memory.blocks.set(this.#keyOf(block), compactBytes(bytes))
        return this.#useDecoded(bytes, need, use)
      }
    }
    return withArena((arena) => {
      const pointer = decodeBlock(arena, this.#codecs, block, bytes, this.#fetcher.isUnchecked(bytes))
      return use.here(arena, chunks, ({ address: { offset, size } }) => ({ pointer: pointer + offset, size }))
    })
  }

  /** Where there is no room for what is left to decode beside what was decoded, all is decoded now. */
  #frontOf(block: BlockRef, bytes: Uint8Array): Decoded {
    const { uncompressedBytes } = block
    const front = this.#segments!.front(bytes, uncompressedBytes)
    const { blocks } = this.#memory
    if (blocks.fits(uncompressedBytes) && !blocks.fits(bytes.length + uncompressedBytes))
      decodeFront(front, block, uncompressedBytes)
    return front
  }

  #useDecoded<C extends Stored, R>(decoded: Decoded, { block, chunks }: Need<C>, use: BlockUse<C, R>): R {
    if (decoded instanceof Uint8Array) return useBytes(decoded, chunks, use)
    decodeFront(decoded, block, Math.max(...chunks.map(({ address: { offset, size } }) => offset + size)))
    // It may weigh more now.
    this.#memory.blocks.set(this.#keyOf(block), decoded)
    return withArena((arena) => use.here(arena, chunks, ({ address: { offset, size } }) => decoded.bytes(offset, size)))
  }

  /**
   * What users' codecs make of a block is no concern of other files: codecs of theirs may have the same name.
   */
  #keyOf(block: BlockRef): string {
    return this.#codecs.isUsers(block.codec) ? ownKeyOf(block) : keyOf(block)
  }

  /**
   * A whole decoded block, once for all who ask at the same time; undefined where that has to be done in the
   * memory of the kernels here.
   */
  async #decodeApart(
    codec: Codec | KernelCodec,
    block: BlockRef,
    input: PackedBlock['input'],
    keep: boolean,
    signal: Signal | undefined,
  ): Promise<Uint8Array | undefined> {
    const pooled = this.#pool?.decodes(codec)
    if (inKernel(codec) && !pooled) return undefined
    const key = this.#keyOf(block)
    const start = async (shared: Signal): Promise<Uint8Array | undefined> => {
      const there = pooled && this.#decodeThere(codec, block, input, { kind: 'decode', keep: true }, ({ bytes }) => bytes, shared)
      let decoded = (await there) || undefined
      if (decoded === undefined && !inKernel(codec))
        decoded = await this.#decoding.run(0, () => decodeOutsideKernels(codec, block, input as Uint8Array), shared)
      if (decoded !== undefined && keep) this.#memory.blocks.set(key, compactBytes(decoded))
      return decoded
    }
    return this.#memory.decodes.share(key, start, signal)
  }

  async #decodeThere<T>(
    codec: Codec | KernelCodec,
    block: BlockRef,
    input: PackedBlock['input'],
    task: Task,
    use: (answer: TaskResult) => T,
    signal: Signal | undefined,
  ): Promise<T | undefined> {
    const result = await decodeInWorker(this.#pool!, codec as SharedCodec, block, input, task, use, signal)
    if (result !== undefined && !(input instanceof Uint8Array)) this.#fetcher.count(input.length)
    return result
  }
}

/** How many times as many blocks as usual may be under way. */
function widthOf(groups: Groups<unknown>): number {
  for (const [{ origin, compressedBytes, uncompressedBytes }] of groups) {
    if (origin.readMany !== undefined) return REMOTE_WIDTH
    return compressedBytes === Infinity && uncompressedBytes <= SMALL_FILE_BYTES ? SMALL_FILE_WIDTH : 1
  }
  return 1
}

/** Bytes of blocks as stored and decoded, or of the parts that are wanted. */
const heldBytes = (batch: readonly Need<unknown>[]): number =>
  batch.reduce((sum, { block, parts, ranges }) => {
    // Compressed, an object is hardly larger than what it holds.
    const fetched = ranges.reduce((bytes, { length }) => bytes + (length < Infinity ? length : decodedBytes(block)), 0)
    return sum + fetched + (parts === undefined ? decodedBytes(block) : 0)
  }, 0)

/** The bytes of a chunk of which only a part of the block was fetched. */
function inPart<C extends Stored>(
  { block, chunks, parts, ranges }: Need<C>,
  i: number,
  fetched: readonly Uint8Array[],
): Uint8Array {
  const { offset, size } = chunks[i]!.address
  const part = parts!.partOf[i]!
  const start = block.fileOffset + offset - ranges[part]!.offset
  return fetched[part]!.subarray(start, start + size)
}

function useBytes<C extends Stored, R>(decoded: Uint8Array, chunks: readonly C[], use: BlockUse<C, R>): R {
  return withArena((arena) => use.here(arena, chunks, ({ address }) => chunkPart(decoded, address)))
}
