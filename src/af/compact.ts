import type { Progress } from '../array/disk-array.js'
import type { ArrayState } from './array-state.js'
import type { BlockReader } from './block-reader.js'
import { readChunk } from './chunk-bytes.js'
import { measure } from './chunk-stats.js'
import type { LayerArray } from './commit.js'
import { type BlockPacker, PendingChunk } from './packer.js'

/**
 * Packs the newest version of every chunk anew, array by array in C order of their grids, a block in memory at a time. Statistics of
 * chunks that were not known are taken on the way.
 */
export async function compactInto(
  packer: BlockPacker,
  states: readonly ArrayState[],
  blocks: BlockReader,
  onProgress?: (progress: Progress) => void,
): Promise<LayerArray[]> {
  const work = states.map((state) => ({ state, numbers: [...state.numbers()].sort((a, b) => a - b) }))
  const total = work.reduce((sum, { numbers }) => sum + numbers.length, 0)
  let done = 0
  const arrays: LayerArray[] = []
  for (const { state, numbers } of work) {
    const chunks = new Map<number, PendingChunk>()
    for (const number of numbers) {
      const bytes = await readChunk(state.find(number)!, blocks)
      const known = state.chunkStats.has(number)
      const chunk = new PendingChunk(known ? undefined : (arena, packed) => measure(arena, state, number, packed))
      chunks.set(number, chunk)
      await packer.put(chunk, bytes)
      onProgress?.({ done: ++done, total })
    }
    arrays.push({ state, chunks })
  }
  return arrays
}
