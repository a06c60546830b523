import type { Progress } from '../../array/transfers.ts'
import { Pace } from '../../core/pace.ts'
import { type BlockRef, type ChunkAddress, chunkView } from '../../engine/block.ts'
import type { BlockReader } from '../../engine/block-reader.ts'
import { unlessDamaged } from '../../engine/segment-reads.ts'
import { withArena } from '../../kernels/arena.ts'
import { isNested } from '../format/definition.ts'
import { type ArrayState, PendingChunk } from '../layers/array-state.ts'
import { measure, visitBlocks } from '../layers/chunk-stats.ts'
import { loadStats } from '../layers/load-stats.ts'
import type { LayerArray } from './commit.ts'
import type { BlockPacker } from './packer.ts'

export interface CompactOptions {
  /** Encode every block anew, also those that could be taken over. */
  readonly recode: boolean
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

/** A chunk on its way from where it is now. */
interface Moved {
  readonly number: number
  readonly address: ChunkAddress
  readonly chunk: PendingChunk
}

/**
 * Packs the newest version of every chunk, array by array in C order of their grids, a block in memory at a
 * time. Blocks that hold just what comes next are taken over as they are stored. Statistics of chunks that
 * were not known are taken on the way.
 */
export async function compactInto(
  packer: BlockPacker,
  states: readonly ArrayState[],
  blocks: BlockReader,
  { recode, onProgress }: CompactOptions,
): Promise<LayerArray[]> {
  const work = states.map((state) => ({ state, numbers: Float64Array.from(state.numbers()).sort() }))
  const total = work.reduce((sum, { numbers }) => sum + numbers.length, 0)
  let done = 0
  const pace = new Pace()
  const arrays: LayerArray[] = []
  for (const { state, numbers } of work) {
    // Damaged statistics are made anew from the chunks.
    await unlessDamaged(() => loadStats(state))
    const chunks = new Map<number, PendingChunk>()
    for (const run of runsOf(state, numbers)) {
      if (pace.due()) await pace.turn()
      for (const { number, chunk } of run) chunks.set(number, chunk)
      const { block } = run[0]!.address
      const takes = !recode && isWhole(block, run) && packer.takes(block, run.length)
      // Where the table of them is damaged, the block is encoded anew.
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

/** Chunks one after another that lie in one block. */
function* runsOf(state: ArrayState, numbers: Float64Array): Generator<Moved[]> {
  let run: Moved[] = []
  for (const number of numbers) {
    const address = state.find(number)!
    if (run.length > 0 && run[0]!.address.block !== address.block) {
      yield run
      run = []
    }
    run.push({ number, address, chunk: new PendingChunk() })
  }
  if (run.length > 0) yield run
}

/** Whether a block holds these chunks in this order and nothing else. */
function isWhole({ uncompressedBytes }: BlockRef, run: readonly Moved[]): boolean {
  let end = 0
  for (const { address } of run) {
    if (address.offset !== end) return false
    end += address.size
  }
  return end === uncompressedBytes
}

/** Chunks of nested types have no statistics. */
const lacksStats = ({ chunkStats, definition }: ArrayState, number: number): boolean =>
  !chunkStats.has(number) && !isNested(definition)

/**
 * Decodes a block that is taken over where something is not known of it: statistics of its chunks, or whether
 * it is damaged.
 */
async function look(state: ArrayState, block: BlockRef, run: readonly Moved[], blocks: BlockReader): Promise<void> {
  const unknown = (number: number): boolean => lacksStats(state, number)
  if (block.crc !== undefined && !run.some(({ number }) => unknown(number))) return
  await visitBlocks(blocks, [[block, run]], (arena, { number }, bytes) => {
    if (unknown(number)) measure(arena, state, number, bytes)
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
  await visitBlocks(blocks, [[block, run]], (arena, { number }, bytes) => {
    copies.set(number, new Uint8Array(chunkView(arena, bytes)))
    if (lacksStats(state, number)) withArena((inner) => measure(inner, state, number, bytes))
  })
  for (const { number, chunk } of run) await packer.put(chunk, copies.get(number)!)
}
