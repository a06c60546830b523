import type { Progress } from '../../array/transfers.ts'
import { Pace } from '../../core/pace.ts'
import type { Signal } from '../../core/signal.ts'
import { type BlockRef, type ChunkAddress, chunkView } from '../../engine/block.ts'
import type { BlockReader } from '../../engine/block-reader.ts'
import { unlessDamaged } from '../../engine/segment-reads.ts'
import { withArena } from '../../kernels/arena.ts'
import { isNested } from '../format/definition.ts'
import type { ArrayState } from '../layers/array-state.ts'
import { measure, visitBlocks } from '../layers/chunk-stats.ts'
import { loadStats } from '../layers/load-stats.ts'
import { PendingChunk } from '../layers/pending-chunk.ts'
import type { LayerArray } from './commit.ts'
import type { BlockPacker } from './packer.ts'

export interface CompactOptions {
  /** Whether to encode every block anew, even those that could be copied. */
  readonly recode: boolean
  /** Receives the progress after each step. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
  /** Cancels the call when it is aborted. */
  readonly signal?: Signal | undefined
}

/** A chunk to be moved from its current location. */
interface Moved {
  readonly chunkIndex: number
  readonly address: ChunkAddress
  readonly chunk: PendingChunk
}

/**
 * Packs the newest version of every chunk, array by array, in C order of their grids, with one block in
 * memory at a time. Copies a block as stored if it contains exactly the next chunks. Computes unknown
 * statistics of chunks along the way.
 */
export async function compactInto(
  packer: BlockPacker,
  states: readonly ArrayState[],
  blocks: BlockReader,
  { recode, onProgress, signal }: CompactOptions,
): Promise<LayerArray[]> {
  const work = states.map((state) => ({ state, numbers: Float64Array.from(state.numbers()).sort() }))
  const total = work.reduce((sum, { numbers }) => sum + numbers.length, 0)
  let done = 0
  const pace = new Pace(signal)
  const arrays: LayerArray[] = []
  for (const { state, numbers } of work) {
    // Damaged statistics are computed anew from the chunks.
    await unlessDamaged(() => loadStats(state, signal))
    const chunks = new Map<number, PendingChunk>()
    for (const run of groupRuns(state, numbers)) {
      signal?.throwIfAborted()
      if (pace.due()) await pace.turn()
      for (const { chunkIndex, chunk } of run) chunks.set(chunkIndex, chunk)
      const { block } = run[0]!.address
      const takes = !recode && isWhole(block, run) && packer.takes(block, run.length)
      // If the segment table is damaged, the block is encoded anew.
      const segments = takes ? await unlessDamaged(async () => (await block.origin.segmentsOf?.(block))?.refs ?? []) : undefined
      if (segments !== undefined) {
        await look(state, block, run, blocks)
        await packer.adopt(block, run, segments)
      } else await repack(state, block, run, blocks, packer)
      done += run.length
      onProgress?.({ done, total })
    }
    arrays.push({ state, chunks })
  }
  return arrays
}

/** Yields runs of consecutive chunks in one block. */
function* groupRuns(state: ArrayState, numbers: Float64Array): Generator<Moved[]> {
  let run: Moved[] = []
  for (const chunkIndex of numbers) {
    const address = state.find(chunkIndex)!
    if (run.length > 0 && run[0]!.address.block !== address.block) {
      yield run
      run = []
    }
    run.push({ chunkIndex, address, chunk: new PendingChunk() })
  }
  if (run.length > 0) yield run
}

/** Whether a block contains exactly these chunks in this order. */
function isWhole({ uncompressedBytes }: BlockRef, run: readonly Moved[]): boolean {
  let end = 0
  for (const { address } of run) {
    if (address.offset !== end) return false
    end += address.size
  }
  return end === uncompressedBytes
}

/** Whether statistics of a chunk are missing. Chunks of nested types have none. */
const lacksStats = ({ chunkStats, definition }: ArrayState, chunkIndex: number): boolean =>
  !chunkStats.has(chunkIndex) && !isNested(definition)

/**
 * Decodes a block that is copied if its chunks lack statistics, or if it has no checksum that proves it
 * intact.
 */
async function look(state: ArrayState, block: BlockRef, run: readonly Moved[], blocks: BlockReader): Promise<void> {
  const unknown = (chunkIndex: number): boolean => lacksStats(state, chunkIndex)
  if (block.crc !== undefined && !run.some(({ chunkIndex }) => unknown(chunkIndex))) return
  await visitBlocks(blocks, [[block, run]], (arena, { chunkIndex }, bytes) => {
    if (unknown(chunkIndex)) measure(arena, state, chunkIndex, bytes)
  })
}

async function repack(
  state: ArrayState,
  block: BlockRef,
  run: readonly Moved[],
  blocks: BlockReader,
  packer: BlockPacker,
): Promise<void> {
  const copies = new Map<number, Uint8Array>()
  await visitBlocks(blocks, [[block, run]], (arena, { chunkIndex }, bytes) => {
    copies.set(chunkIndex, new Uint8Array(chunkView(arena, bytes)))
    if (lacksStats(state, chunkIndex)) withArena((inner) => measure(inner, state, chunkIndex, bytes))
  })
  for (const { chunkIndex, chunk } of run) await packer.put(chunk, copies.get(chunkIndex)!)
}
