import { type AxisChunks, ChunkGrid, RegularChunks } from '../../grid/chunks.ts'
import { axisChunks, IrregularChunks } from '../../grid/irregular-chunks.ts'

/** Chunks of one length. The last one is stored in full, even if it extends beyond the axis. */
class FullChunks extends RegularChunks {
  override storedLength(): number {
    return this.chunkLength
  }
}

/** Chunks of given lengths. The last one may extend beyond the end of the axis. */
class RectilinearChunks extends IrregularChunks {
  readonly #lengths: readonly number[]

  constructor(length: number, lengths: readonly number[]) {
    const boundaries = [0]
    for (const each of lengths) if (boundaries.at(-1)! < length) boundaries.push(Math.min(length, boundaries.at(-1)! + each))
    super(boundaries)
    this.#lengths = lengths
  }

  override storedLength(k: number): number {
    return this.#lengths[k]!
  }
}

/** Chunk lengths along each axis: one for all chunks, or one for each. */
export type ChunkLengths = readonly (number | readonly number[])[]

/** Returns the grid of an array as its chunks are stored. */
export const storedGrid = (shape: readonly number[], chunks: ChunkLengths): ChunkGrid =>
  new ChunkGrid(
    shape.map((length, axis): AxisChunks => {
      const lengths = chunks[axis]!
      return typeof lengths === 'number' ? new FullChunks(lengths, length) : new RectilinearChunks(length, lengths)
    }),
  )

/** Returns the grid that readers see, in which chunks end with the array. */
export const clippedGrid = (stored: ChunkGrid): ChunkGrid =>
  new ChunkGrid(
    stored.axes.map((axis) => {
      if (axis instanceof RegularChunks) return new RegularChunks(axis.chunkLength, axis.length)
      return axisChunks(Array.from({ length: axis.count }, (_, k) => axis.stop(k) - axis.start(k)))
    }),
  )
