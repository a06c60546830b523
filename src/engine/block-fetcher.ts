import { compactBytes } from '../core/bytes.ts'
import { forEachLimited } from '../core/limiter.ts'
import { jointly, type Signal } from '../core/signal.ts'
import type { ByteRange } from '../store/store.ts'
import { type BlockRequest, storedRange } from './batches.ts'
import { type BlockOrigin, type BlockRef, checkStoredBytes } from './block.ts'
import { type BlockMemory, keyOf } from './block-cache.ts'

/** Cost of reading since the file was opened. */
export interface IoStats {
  /** Blocks fetched from the store; of partially read blocks, the parts. */
  blocks: number
  /** Bytes fetched for them. */
  bytes: number
}

type Read = (range: ByteRange, signal: Signal) => Promise<Uint8Array>

/** Concurrent reads from stores that read one range at a time. */
const CONCURRENT_READS = 4

/** Fetches stored blocks; concurrent readers of one block share the request. */
export class BlockFetcher {
  readonly cost: IoStats = { blocks: 0, bytes: 0 }
  readonly #memory: BlockMemory
  readonly #unchecked = new WeakSet<Uint8Array>()
  /** Buffers that only one reader requested and no cache holds. */
  readonly #alone = new WeakSet<Uint8Array>()

  constructor(memory: BlockMemory) {
    this.#memory = memory
  }

  /**
   * Fetches what some blocks of one origin need, in the order of their ranges. If the store reads many
   * ranges, all are requested at once.
   * @throws IntegrityError if the bytes of a block have changed since they were written; any error of the
   *   store
   */
  async fetch<C>(
    requests: readonly BlockRequest<C>[],
    signal: Signal | undefined,
  ): Promise<Map<BlockRequest<C>, readonly Uint8Array[]>> {
    const { origin } = requests[0]!.block
    const found = new Map(requests.map((request) => [request, [] as Uint8Array[]]))
    const ranges = requests.flatMap((request) => [...request.ranges.keys()].map((i) => ({ request: request, i })))
    const [read, limit] = origin.readMany ? [together(origin), ranges.length] : [oneByOne(origin), CONCURRENT_READS]
    await forEachLimited(ranges, limit, async ({ request, i }) => {
      found.get(request)![i] = await this.#fetch(request, i, read, signal)
    })
    return found
  }

  /**
   * Reads one range of what a block needs into `target`, which has its length. A concurrent reader of the
   * same range reads it again.
   * @throws IntegrityError if the bytes have changed since they were written; any error of the store
   */
  async readInto(
    { block, parts, ranges }: BlockRequest<unknown>,
    i: number,
    target: Uint8Array,
    signal: Signal | undefined,
  ): Promise<void> {
    const { offset, length } = ranges[i]!
    this.count(length)
    const bytes = await block.origin.read(offset, length, signal, target)
    if (bytes !== target) target.set(bytes)
    if (parts === undefined) checkStoredBytes(block, target)
    else parts.check?.(i, target)
  }

  /**
   * Whether the checksum of a fetched block is still unchecked. The code that decodes it in kernel memory
   * checks it there.
   */
  isUnchecked(bytes: Uint8Array): boolean {
    return this.#unchecked.has(bytes)
  }

  /** @throws IntegrityError if an unchecked block has changed since it was written */
  check(block: BlockRef, bytes: Uint8Array): void {
    if (!this.#unchecked.has(bytes)) return
    checkStoredBytes(block, bytes)
    this.#unchecked.delete(bytes)
  }

  /** Returns a buffer to the origin for reuse, unless another reader holds it. */
  recycle({ origin }: BlockRef, bytes: Uint8Array): void {
    if (this.#alone.delete(bytes)) origin.recycle?.(bytes)
  }

  count(bytes: number): void {
    this.cost.blocks++
    this.cost.bytes += bytes
  }

  async #fetch(
    { block, parts, ranges }: BlockRequest<unknown>,
    i: number,
    read: Read,
    signal: Signal | undefined,
  ): Promise<Uint8Array> {
    const range = ranges[i]!
    const key = keyOfRange(block, range)
    // Rereading a local file costs less than the memory of a cache.
    const slabs = block.origin.readMany && this.#memory.slabs
    const known = slabs && (inWholeBlock(slabs, block) ?? (slabs.get(key) as Uint8Array | undefined))
    if (known !== undefined) return known
    let isAlone = false
    const start = async (shared: Signal): Promise<Uint8Array> => {
      // Results of a joint request may be views of one buffer.
      isAlone = !block.origin.readMany
      const whole = range.length === Infinity
      this.count(whole ? 0 : range.length)
      const bytes = await read(range, shared)
      if (whole) this.cost.bytes += bytes.length
      if (parts === undefined) this.#unchecked.add(bytes)
      if (slabs !== undefined || block.part !== undefined) this.check(block, bytes)
      parts?.check?.(i, bytes)
      slabs?.set(key, compactBytes(bytes))
      return bytes
    }
    const bytes = await this.#memory.fetches.share(key, start, signal, () => {
      isAlone = false
    })
    if (isAlone) this.#alone.add(bytes)
    return bytes
  }
}

/** Returns the bytes of a segment from the cached slab of its whole block. */
function inWholeBlock(
  slabs: NonNullable<BlockMemory['slabs']>,
  { part, fileOffset, compressedBytes }: BlockRef,
): Uint8Array | undefined {
  if (part === undefined) return undefined
  const slab = slabs.again(keyOfRange(part.whole, storedRange(part.whole))) as Uint8Array | undefined
  const start = fileOffset - part.whole.fileOffset
  return slab?.subarray(start, start + compressedBytes)
}

const keyOfRange = (block: BlockRef, { offset, length }: ByteRange): string => `${keyOf(block)} ${offset}+${length}`

const oneByOne =
  (origin: BlockOrigin): Read =>
  ({ offset, length }, signal) =>
    origin.read(offset, length, signal)

/**
 * Joins all ranges requested before the next microtask into one call. The call is aborted once all its
 * requesters have aborted.
 */
function together(origin: BlockOrigin): Read {
  const ranges: ByteRange[] = []
  const joint = jointly()
  let all: Promise<Uint8Array[]> | undefined
  return async (range, signal) => {
    const at = ranges.push(range) - 1
    joint.join(signal)
    all ??= Promise.resolve().then(() => origin.readMany!(ranges, joint.signal))
    return (await all)[at]!
  }
}
