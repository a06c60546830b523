import type { Progress } from '../array/disk-array.js'
import type { ArrayState } from './array-state.js'
import { type BlockCache, viewOf } from './block.js'
import type { LayerArray } from './commit.js'
import { type BlockPacker, PendingChunk } from './packer.js'

/**
 * Packs the newest version of every chunk anew, array by array in C order of their grids, a block in memory at a time. Statistics of
 * chunks that were not known are taken on the way.
 */
export async function compactInto(
  packer: BlockPacker,
  states: readonly ArrayState[],
  cache: BlockCache,
  onProgress?: (progress: Progress) => void,
): Promise<LayerArray[]> {
  const work = states.map((state) => ({ state, numbers: [...state.numbers()].sort((a, b) => a - b) }))
  const total = work.reduce((sum, { numbers }) => sum + numbers.length, 0)
  let done = 0
  const arrays: LayerArray[] = []
  for (const { state, numbers } of work) {
    const chunks = new Map<number, PendingChunk>()
    for (const number of numbers) {
      const bytes = await readChunk(state, number, cache)
      const known = state.chunkStats.has(number)
      const chunk = new PendingChunk(known ? undefined : (arena, packed) => state.measure(arena, number, packed))
      chunks.set(number, chunk)
      await packer.put(chunk, bytes)
      onProgress?.({ done: ++done, total })
    }
    arrays.push({ state, chunks })
  }
  return arrays
}

/** The payload of a committed chunk, as a copy. */
async function readChunk(state: ArrayState, number: number, cache: BlockCache): Promise<Uint8Array> {
  const address = state.find(number)!
  let bytes: Uint8Array | undefined
  await cache.visit(address.block, [{ address }], (arena, _, chunk) => {
    bytes = viewOf(arena, chunk).slice()
  })
  return bytes!
}
