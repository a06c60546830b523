import { inKernel } from '../codec/codec.ts'
import type { CodecSet } from '../codec/registry.ts'
import { within } from '../core/errors.ts'
import { forEachLimited } from '../core/limiter.ts'
import type { Signal } from '../core/signal.ts'
import { withArena } from '../kernels/arena.ts'
import { planRangeReads } from '../store/ranges.ts'
import { type BlockRequest, SMALL_BATCH_BYTES, SMALL_GAP_BYTES, storedRange } from './batches.ts'
import {
  type BlockUse,
  type ChunkBytes,
  checkStoredBytes,
  chunkPart,
  decodeBlock,
  decodeOutsideKernels,
  findCodec,
  type Stored,
} from './block.ts'
import type { BlockFetcher } from './block-fetcher.ts'

const NEIGHBOURS = { maxGapBytes: SMALL_GAP_BYTES, maxRequestBytes: SMALL_BATCH_BYTES }

/** Reads and decodes under way at the same time. */
const CONCURRENT = 4

const NO_BYTES = new Uint8Array(0)

/**
 * Reads small blocks of one local file, all of each, and passes them to `use`. Neighbours are read together,
 * and chunks that are copied are passed together. Concurrent readers do not share the work, which would take
 * longer than to do it again.
 * @returns one result for each block, or one for all if chunks are copied
 * @throws CodecError if a block cannot be decoded; IntegrityError if its bytes have changed since they were
 *   written; any error of the store
 */
export async function useSmallBlocks<C extends Stored, R>(
  requests: readonly BlockRequest<C>[],
  use: BlockUse<C, R>,
  codecs: CodecSet,
  fetcher: BlockFetcher,
  signal: Signal | undefined,
): Promise<R[]> {
  return within({ file: requests[0]!.block.origin.file }, async () => {
    const stored = await readNeighbours(requests, fetcher, signal)
    const decoded: (Uint8Array | undefined)[] = []
    await forEachLimited(requests.entries(), CONCURRENT, async ([i, { block }]) => {
      const codec = findCodec(codecs, block)
      if (inKernel(codec)) return
      checkStoredBytes(block, stored[i]!)
      decoded[i] = await decodeOutsideKernels(codec, block, stored[i]!)
    })
    signal?.throwIfAborted()
    const numbers = [...requests.keys()]
    const parts = use.copied === undefined ? numbers.map((i) => [i]) : [numbers]
    return parts.map((part) =>
      withArena((arena) => {
        const found = new Map<C, ChunkBytes>()
        for (const i of part) {
          const { block, chunks } = requests[i]!
          const bytes = decoded[i]
          const pointer = bytes === undefined ? decodeBlock(arena, codecs, block, stored[i]!, true) : 0
          for (const chunk of chunks) {
            const { offset, size } = chunk.address
            found.set(chunk, bytes === undefined ? { pointer: pointer + offset, size } : chunkPart(bytes, chunk.address))
          }
        }
        return use.onThisThread(arena, [...found.keys()], (chunk) => found.get(chunk)!)
      }),
    )
  })
}

/** Returns the stored bytes of each block. */
async function readNeighbours(
  requests: readonly BlockRequest<unknown>[],
  fetcher: BlockFetcher,
  signal: Signal | undefined,
): Promise<Uint8Array[]> {
  const { origin } = requests[0]!.block
  const ranges = requests.map(({ block }) => storedRange(block))
  for (const { length } of ranges) fetcher.count(length)
  const stored: Uint8Array[] = ranges.map(() => NO_BYTES)
  await forEachLimited(planRangeReads(ranges, NEIGHBOURS), CONCURRENT, async ({ offset, length, parts }) => {
    const bytes = await origin.read(offset, length, signal)
    for (const part of parts) stored[part.range] = bytes.subarray(part.from, part.from + part.length)
  })
  return stored
}
