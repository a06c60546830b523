import { type Codec, inKernel, type KernelCodec, type SharedCodec } from '../codec/codec.ts'
import { lz4 } from '../codec/lz4.ts'
import { none } from '../codec/none.ts'
import type { CodecSet } from '../codec/registry.ts'
import { compactBytes } from '../core/bytes.ts'
import { within } from '../core/errors.ts'
import { inOrder } from '../core/in-order.ts'
import { lazily } from '../core/lazily.ts'
import { forEachLimited, Limiter } from '../core/limiter.ts'
import type { MemoryBudget } from '../core/memory-budget.ts'
import type { Signal } from '../core/signal.ts'
import { withArena } from '../kernels/arena.ts'
import type { FilePart, PackedBlock, Task, TaskResult, WorkerPool } from '../pool/task.ts'
import { type BlockRequest, decodedBytes, isPartialRead, SMALL_BATCH_BYTES, splitBatches } from './batches.ts'
import {
  type BlockRef,
  type BlockUse,
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
import { type BlockMemory, createMemory, type Decoded, findOwnKey, keyOf } from './block-cache.ts'
import { BlockFetcher, type IoStats } from './block-fetcher.ts'
import type { CopiedChunk } from './read-directly.ts'
import type { SegmentReads } from './segment-reads.ts'

const direct = lazily(() => import('./read-directly.ts'))
const small = lazily(() => import('./small-blocks.ts'))

/** Number of blocks under way at the same time; each worker of a pool adds two. */
const CONCURRENT_BLOCKS = 4
/** Size of the ranges of a block from which its uncompressed bytes are read straight into the result. */
const DIRECT_BYTES = 64 * 1024
/** Factor for network stores, where most of the time is waiting. The store limits the requests itself. */
const REMOTE_WIDTH = 128
/** Factor for small files: opening, stat, reading and closing each wait for a thread of the platform. */
const SMALL_FILE_WIDTH = 4
const SMALL_FILE_BYTES = 256 * 1024
/** Share of a budget that small blocks may take which are read together. */
const BUDGET_SHARE = 1 / 16
/** Largest sum of decoded bytes under way. A larger block is read alone. */
const MAX_BYTES = 128 * 1024 * 1024

/**
 * Fetches and decodes blocks; concurrent readers of one block share the work. Keeps decoded blocks whose
 * other chunks are likely to be read soon. Evicts the least recently used blocks when the byte budget is
 * spent.
 */
export class BlockReader {
  readonly #memory: BlockMemory
  readonly #shared: boolean
  readonly #fetcher: BlockFetcher
  readonly #maxBlockBytes: number
  readonly #codecs: CodecSet
  readonly #pool: WorkerPool | undefined
  readonly #budget: MemoryBudget | undefined
  /** Limits decodes outside kernels and workers. */
  readonly #decoding = new Limiter(CONCURRENT_BLOCKS, Infinity)
  /** Loaded on first use. */
  #segments: SegmentReads | undefined

  /**
   * @param memory shared with other readers, or the byte limit of decoded blocks of this reader alone
   * @param maxBlockBytes larger blocks are rejected
   * @param pool decodes on worker threads
   * @param budget bounds the memory of blocks under way, across all readers that share it
   */
  constructor(memory: BlockMemory | number, maxBlockBytes: number, codecs: CodecSet, pool?: WorkerPool, budget?: MemoryBudget) {
    this.#shared = typeof memory !== 'number'
    this.#memory = typeof memory === 'number' ? createMemory(memory) : memory
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
   * Fetches the parts of blocks that contain some chunks, and passes the result of `use` for each block to
   * `take`. The same groups yield the same order of results.
   * @throws CodecError if a block cannot be decoded or is too large; IntegrityError if its bytes have changed
   *   since they were written
   */
  async use<C extends Stored, R>(
    groups: Groups<C>,
    use: BlockUse<C, R>,
    take: (result: R) => void,
    signal?: Signal,
  ): Promise<void> {
    const bytesOf = (batch: readonly BlockRequest<C>[]): number => batch.reduce((sum, { block }) => sum + decodedBytes(block), 0)
    const work = async (batch: readonly BlockRequest<C>[]): Promise<R[]> => {
      signal?.throwIfAborted()
      const read = (): Promise<R[]> => this.#useBatch(batch, use, signal)
      return this.#budget?.blocks(heldBytes(batch), read, signal) ?? read()
    }
    const parts = await this.#inSegments(groups, signal)
    // Workers read blocks by themselves.
    const smallBytes = this.#pool ? 0 : Math.min(SMALL_BATCH_BYTES, (this.#budget?.bytes ?? Infinity) * BUDGET_SHARE)
    const [, second] = parts
    if (second === undefined) {
      for (const batch of splitBatches(parts, smallBytes)) (await work(batch)).forEach(take)
      return
    }
    const count = this.#lanes * chooseWidth(parts)
    await inOrder(splitBatches(parts, smallBytes), { count, bytes: MAX_BYTES, bytesOf }, work, (results) => results.forEach(take))
  }

  /** Evicts decoded blocks, unless the memory is shared with other readers. */
  clear(): void {
    if (!this.#shared) this.#memory.blocks.clear()
  }

  get #lanes(): number {
    return CONCURRENT_BLOCKS + 2 * (this.#pool?.size ?? 0)
  }

  /** Replaces sparsely read blocks by the segments that cover the requested chunks, if there are any. */
  async #inSegments<C extends Stored>(groups: Groups<C>, signal: Signal | undefined): Promise<Groups<C>> {
    for (const [block, chunks] of groups) {
      if (!isPartialRead(block, chunks)) continue
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

  async #useBatch<C extends Stored, R>(
    requests: readonly BlockRequest<C>[],
    use: BlockUse<C, R>,
    signal: Signal | undefined,
  ): Promise<R[]> {
    const batch = this.#segments?.atHand(requests) ?? requests
    for (const { block, parts } of batch)
      if (parts === undefined) checkBlockBytes(block, block.uncompressedBytes, this.#maxBlockBytes)
    const isOfFile = batch[0]?.block.origin.readMany === undefined
    if (isOfFile && batch.length > 1) return (await small()).useSmallBlocks(batch, use, this.#codecs, this.#fetcher, signal)
    const missing = batch.filter(({ block }) => !this.#memory.blocks.has(this.#keyOf(block)))
    const fetched = isOfFile || missing.length === 0 ? undefined : await this.#fetcher.fetch(missing, signal)
    const useOne = (request: BlockRequest<C>): Promise<R> =>
      // The decoded bytes may not be valid elements.
      within({ file: request.block.origin.file }, () => this.#useBlock(request, fetched?.get(request), use, signal))
    const results: R[] = []
    await forEachLimited(batch.keys(), this.#lanes, async (i) => {
      results[i] = await useOne(batch[i]!)
    })
    return results
  }

  async #useBlock<C extends Stored, R>(
    request: BlockRequest<C>,
    fetched: readonly Uint8Array[] | undefined,
    use: BlockUse<C, R>,
    signal: Signal | undefined,
  ): Promise<R> {
    const { block, chunks } = request
    const known = this.#memory.blocks.get(this.#keyOf(block))
    if (known !== undefined) return this.#useDecoded(known, request, use)
    if (use.copied !== undefined && this.#isDirect(request)) {
      const { readDirectly } = await direct()
      if (await readDirectly(request as unknown as BlockRequest<CopiedChunk>, use.copied, this.#fetcher, signal))
        return undefined as R
    }
    const part = fetched === undefined && request.parts === undefined ? this.#partFor(block) : undefined
    const done = part && (await this.#useInWorker(request, part, use, signal))
    if (done !== undefined) return done[0]
    const parts = fetched ?? (await this.#fetcher.fetch([request], signal)).get(request)!
    if (request.parts !== undefined) {
      const found = new Map(chunks.map((chunk, i) => [chunk, inPart(request, i, parts)]))
      const result = withArena((arena) => use.onThisThread(arena, chunks, (chunk) => found.get(chunk)!))
      for (const bytes of parts) this.#fetcher.recycle(block, bytes)
      return result
    }
    const bytes = parts[0]!
    if (!this.#isAllOnThisThread(request, use)) this.#fetcher.check(block, bytes)
    const alone = block.part?.standalone(bytes) ?? bytes
    const inWorker = await this.#useInWorker(request, alone, use, signal)
    if (inWorker !== undefined) return inWorker[0]
    const result = this.#useOnThisThread(request, alone, use)
    // Kernels copy the block into their own memory, so its buffer can be reused, unless more of it may be
    // read later.
    if (alone === bytes && !isPartialRead(block, chunks)) this.#fetcher.recycle(block, bytes)
    return result
  }

  /** Whether the whole block is decoded in kernel memory on this thread, and none of it is cached. */
  #isAllOnThisThread<C extends Stored, R>({ block, chunks }: BlockRequest<C>, use: BlockUse<C, R>): boolean {
    const codec = findCodec(this.#codecs, block)
    if (block.part !== undefined || isPartialRead(block, chunks) || !inKernel(codec)) return false
    return use.inWorker === undefined || !this.#pool?.decodes(codec)
  }

  /** Whether uncompressed bytes of a local file may be read straight into the result. */
  #isDirect({ block, ranges }: BlockRequest<Stored>): boolean {
    const isLarge = ranges.every(({ length }) => length >= DIRECT_BYTES)
    return isLarge && block.origin.local !== undefined && findCodec(this.#codecs, block) === none
  }

  /** Returns the file range that a worker fetches by itself; undefined if no worker can. */
  #partFor(block: BlockRef): FilePart | undefined {
    const { origin, codec, fileOffset, compressedBytes, uncompressedBytes, crc, sizeInFront, part } = block
    const local = codec === 'none' || part !== undefined ? undefined : origin.local
    if (local === undefined || !this.#pool?.decodes(findCodec(this.#codecs, block))) return undefined
    const size = sizeInFront ? uncompressedBytes : undefined
    return { ...local, offset: fileOffset, length: compressedBytes, crc, size }
  }

  /** Processes a block outside this thread's kernel memory; undefined if that is not possible. */
  async #useInWorker<C extends Stored, R>(
    request: BlockRequest<C>,
    input: PackedBlock['input'],
    use: BlockUse<C, R>,
    signal: Signal | undefined,
  ): Promise<[R] | undefined> {
    const { block, chunks } = request
    const codec = findCodec(this.#codecs, block)
    // Only a block with further chunks is worth caching.
    const keep = isPartialRead(block, chunks)
    if (!keep && use.inWorker !== undefined && this.#pool?.decodes(codec)) {
      const { task, result } = use.inWorker(chunks)
      const done = await this.#decodeInWorker(codec, block, input, task, (answer): [R] => [result(answer)], signal)
      if (done !== undefined) return done
    }
    if (!keep && inKernel(codec)) return undefined
    const known = this.#memory.blocks.again(this.#keyOf(block))
    const decoded = known ?? (await this.#decodeStandalone(codec, block, input, keep, signal))
    return decoded && [this.#useDecoded(decoded, request, use)]
  }

  #useOnThisThread<C extends Stored, R>(request: BlockRequest<C>, bytes: Uint8Array, use: BlockUse<C, R>): R {
    const { block, chunks } = request
    if (isPartialRead(block, chunks)) {
      const codec = findCodec(this.#codecs, block)
      if (codec === lz4) return this.#useDecoded(this.#frontOf(block, bytes), request, use)
      if (codec === none) {
        this.#memory.blocks.set(this.#keyOf(block), compactBytes(bytes))
        return this.#useDecoded(bytes, request, use)
      }
    }
    return withArena((arena) => {
      const pointer = decodeBlock(arena, this.#codecs, block, bytes, this.#fetcher.isUnchecked(bytes))
      return use.onThisThread(arena, chunks, ({ address: { offset, size } }) => ({ pointer: pointer + offset, size }))
    })
  }

  /** Decodes the whole block now if the cache cannot hold both the decoded prefix and the stored rest. */
  #frontOf(block: BlockRef, bytes: Uint8Array): Decoded {
    const { uncompressedBytes } = block
    const front = this.#segments!.front(bytes, uncompressedBytes)
    const { blocks } = this.#memory
    if (blocks.fits(uncompressedBytes) && !blocks.fits(bytes.length + uncompressedBytes))
      decodeFront(front, block, uncompressedBytes)
    return front
  }

  #useDecoded<C extends Stored, R>(decoded: Decoded, { block, chunks }: BlockRequest<C>, use: BlockUse<C, R>): R {
    if (decoded instanceof Uint8Array) return useBytes(decoded, chunks, use)
    decodeFront(decoded, block, Math.max(...chunks.map(({ address: { offset, size } }) => offset + size)))
    // The decoder may have grown, so its size in the cache is updated.
    this.#memory.blocks.set(this.#keyOf(block), decoded)
    return withArena((arena) => use.onThisThread(arena, chunks, ({ address: { offset, size } }) => decoded.bytes(offset, size)))
  }

  /**
   * Returns the cache key. Blocks of user codecs get private keys, because codecs of different files may
   * share a name.
   */
  #keyOf(block: BlockRef): string {
    return this.#codecs.isUsers(block.codec) ? findOwnKey(block) : keyOf(block)
  }

  /**
   * Decodes a whole block outside this thread's kernel memory; concurrent readers share the work. Returns
   * undefined if the block has to be decoded in kernel memory, or if no worker could read it from its file.
   */
  async #decodeStandalone(
    codec: Codec | KernelCodec,
    block: BlockRef,
    input: PackedBlock['input'],
    keep: boolean,
    signal: Signal | undefined,
  ): Promise<Uint8Array | undefined> {
    const pooled = this.#pool?.decodes(codec)
    if (inKernel(codec) && !pooled) return undefined
    const key = this.#keyOf(block)
    const bytes = input instanceof Uint8Array ? input : undefined
    const start = async (shared: Signal): Promise<Uint8Array | undefined> => {
      const inWorker =
        pooled && this.#decodeInWorker(codec, block, input, { kind: 'decode', keep: true }, ({ bytes }) => bytes, shared)
      let decoded = (await inWorker) || undefined
      if (decoded === undefined && bytes !== undefined && !inKernel(codec))
        decoded = await this.#decoding.run(0, () => decodeOutsideKernels(codec, block, bytes), shared)
      if (decoded !== undefined && keep) this.#memory.blocks.set(key, compactBytes(decoded))
      return decoded
    }
    return this.#memory.decodes.share(bytes === undefined ? `${key} in its file` : key, start, signal)
  }

  async #decodeInWorker<T>(
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

/** Returns the factor by which the number of blocks under way is multiplied. */
function chooseWidth(groups: Groups<unknown>): number {
  for (const [{ origin, compressedBytes, uncompressedBytes }] of groups) {
    if (origin.readMany !== undefined) return REMOTE_WIDTH
    return compressedBytes === Infinity && uncompressedBytes <= SMALL_FILE_BYTES ? SMALL_FILE_WIDTH : 1
  }
  return 1
}

/** Sums the stored and decoded bytes of blocks; of partially read blocks, the requested parts. */
const heldBytes = (batch: readonly BlockRequest<unknown>[]): number =>
  batch.reduce((sum, { block, parts, ranges }) => {
    // A compressed object is hardly larger than its decoded bytes.
    const fetched = ranges.reduce((bytes, { length }) => bytes + (length < Infinity ? length : decodedBytes(block)), 0)
    return sum + fetched + (parts === undefined ? decodedBytes(block) : 0)
  }, 0)

/** Returns the bytes of a chunk from the part of its block that was fetched. */
function inPart<C extends Stored>(
  { block, chunks, parts, ranges }: BlockRequest<C>,
  i: number,
  fetched: readonly Uint8Array[],
): Uint8Array {
  const { offset, size } = chunks[i]!.address
  const part = parts!.partOf[i]!
  const start = block.fileOffset + offset - ranges[part]!.offset
  return fetched[part]!.subarray(start, start + size)
}

function useBytes<C extends Stored, R>(decoded: Uint8Array, chunks: readonly C[], use: BlockUse<C, R>): R {
  return withArena((arena) => use.onThisThread(arena, chunks, ({ address }) => chunkPart(decoded, address)))
}
