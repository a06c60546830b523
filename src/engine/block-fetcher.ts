import { compactBytes } from '../core/bytes.ts'
import { forEachLimited } from '../core/limiter.ts'
import { jointly, type Signal } from '../core/signal.ts'
import type { ByteRange } from '../store/store.ts'
import { type Need, storedRange } from './batches.ts'
import { type BlockOrigin, type BlockRef, checkStoredBytes } from './block.ts'
import { type BlockMemory, keyOf } from './block-cache.ts'

/** The cost of reading since the file was opened. */
export interface IoStats {
  /** Blocks fetched from the store; of those read in part, parts. */
  blocks: number
  /** Bytes fetched for them. */
  bytes: number
}

type Read = (range: ByteRange, signal: Signal) => Promise<Uint8Array>

/** Ranges read at the same time of stores that take one at a time. */
const CONCURRENT_READS = 4

/** Fetches blocks as they are stored, once for all who ask at the same time. */
export class BlockFetcher {
  readonly cost: IoStats = { blocks: 0, bytes: 0 }
  readonly #memory: BlockMemory
  readonly #unchecked = new WeakSet<Uint8Array>()
  /** What only one has asked for, and nothing was kept of. */
  readonly #alone = new WeakSet<Uint8Array>()

  constructor(memory: BlockMemory) {
    this.#memory = memory
  }

  /**
   * What some blocks of one origin need, in the order of their ranges; of stores that take many ranges all
   * are asked for at once.
   * @throws IntegrityError when a block is not what was written; what the store throws
   */
  async fetch<C>(needs: readonly Need<C>[], signal: Signal | undefined): Promise<Map<Need<C>, readonly Uint8Array[]>> {
    const { origin } = needs[0]!.block
    const found = new Map(needs.map((need) => [need, [] as Uint8Array[]]))
    const ranges = needs.flatMap((need) => [...need.ranges.keys()].map((i) => ({ need, i })))
    const [read, limit] = origin.readMany ? [together(origin), ranges.length] : [apart(origin), CONCURRENT_READS]
    await forEachLimited(ranges, limit, async ({ need, i }) => {
      found.get(need)![i] = await this.#fetch(need, i, read, signal)
    })
    return found
  }

  /**
   * Whether a block was fetched but not checked: whoever decodes it in the memory of the kernels checks it
   * there.
   */
  isUnchecked(bytes: Uint8Array): boolean {
    return this.#unchecked.has(bytes)
  }

  /** @throws IntegrityError when a block that was not checked is not what was written */
  check(block: BlockRef, bytes: Uint8Array): void {
    if (!this.#unchecked.has(bytes)) return
    checkStoredBytes(block, bytes)
    this.#unchecked.delete(bytes)
  }

  /** Gives back what nobody here reads any more, where nobody else has got it. */
  recycle({ origin }: BlockRef, bytes: Uint8Array): void {
    if (this.#alone.delete(bytes)) origin.recycle?.(bytes)
  }

  count(bytes: number): void {
    this.cost.blocks++
    this.cost.bytes += bytes
  }

  async #fetch({ block, parts, ranges }: Need<unknown>, i: number, read: Read, signal: Signal | undefined): Promise<Uint8Array> {
    const range = ranges[i]!
    const key = keyOfRange(block, range)
    // Reading a file of this machine again costs less than the memory would.
    const slabs = block.origin.readMany && this.#memory.slabs
    const known = slabs && (inWholeBlock(slabs, block) ?? (slabs.get(key) as Uint8Array | undefined))
    if (known !== undefined) return known
    let isAlone = false
    const start = async (shared: Signal): Promise<Uint8Array> => {
      // What many reads at once give may be parts of one another.
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

/** Of a segment, what the slab of its whole block has of it. */
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

const apart =
  (origin: BlockOrigin): Read =>
  ({ offset, length }, signal) =>
    origin.read(offset, length, signal)

/**
 * Makes one call of what is asked for before the next turn. It is given up when nobody waits for any of it.
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
