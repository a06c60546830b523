import { sizeOf } from '../../core/shape.ts'
import { ChunkGrid, READ_BYTES, RegularChunks } from '../../grid/chunks.ts'
import { commonChunks, refineChunks } from '../../grid/derived-chunks.ts'
import { type BlockSource, bytesOf } from '../source.ts'

/**
 * Chunks for going through several arrays that are broadcast to one shape: made of whole chunks of each where
 * that stays small, cut at the borders of all along as many axes, from the first on, as it takes otherwise.
 * Axes that no array really has are cut into some MiB.
 */
export function commonGrid(sources: readonly BlockSource[], shape: readonly number[]): ChunkGrid {
  const bytes = Math.max(...sources.map(({ dtype }) => bytesOf(dtype)))
  const room = Math.max(READ_BYTES / bytes, ...sources.map(({ chunks }) => sizeOf(chunks.chunkShape)))
  const estimated = ChunkGrid.estimate(shape, bytes)
  const given = shape.map((length, axis) =>
    sources.flatMap(({ chunks }) => {
      const own = chunks.axes[axis - shape.length + chunks.axes.length]
      return own !== undefined && own.length === length ? [own] : []
    }),
  )
  const axes = given.map((all, axis) => (all.length === 0 ? estimated.axes[axis]! : commonChunks(all)))
  for (let axis = 0; axis < shape.length; axis++) {
    if (sizeOf(axes.map(({ chunkLength, length }) => Math.min(chunkLength, length))) <= room) break
    const pieces = given[axis]!.map((chunks) => ({ origin: 0, chunks }))
    axes[axis] = pieces.length === 0 ? new RegularChunks(1, shape[axis]!) : refineChunks(shape[axis]!, pieces)
  }
  return new ChunkGrid(axes)
}
