import { withArena } from './arena.ts'

/** Numbers in one record of {@link project}. */
export const RECORD_LENGTH = 4

/**
 * Projects the ascending slice `start, start + step, ...` of `count` positions onto a regular chunk grid.
 * Chunk k covers [k * chunkLength - gridOffset, (k + 1) * chunkLength - gridOffset), clipped at 0. All
 * arguments are whole numbers up to 2^53.
 * @returns one record per touched chunk, in ascending order: chunk, first position within the chunk
 *   (counted from its clipped start), number of positions, position of the first in the result
 * @throws OutOfMemoryError if the records do not fit in kernel memory
 */
export function project(start: number, step: number, count: number, chunkLength: number, gridOffset: number): Float64Array {
  if (count === 0) return new Float64Array(0)
  const touched = Math.min(count, Math.ceil(((count - 1) * step) / chunkLength) + 1)
  return withArena((arena) => {
    const pointer = arena.alloc(8 * RECORD_LENGTH * touched)
    const records = arena.kernels.project(start, step, count, chunkLength, gridOffset, pointer)
    return arena.view('float64', pointer, RECORD_LENGTH * records).slice()
  })
}
