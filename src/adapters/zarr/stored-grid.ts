import { type AxisChunks, ChunkGrid, RegularChunks } from '../../grid/chunks.ts'
import { chunksOf, IrregularChunks } from '../../grid/irregular-chunks.ts'

/** Chunks of one length, of which the last is stored in full, however little of it the axis has. */
class FullChunks extends RegularChunks {
  override storedLength(): number {
    return this.chunkLength
  }
}

/** Chunks of given lengths, of which the last may reach beyond the end of the axis. */
class RectilinearChunks extends IrregularChunks {
  readonly #lengths: readonly number[]

  constructor(length: number, lengths: readonly number[]) {
    const borders = [0]
    for (const each of lengths) if (borders.at(-1)! < length) borders.push(Math.min(length, borders.at(-1)! + each))
    super(borders)
    this.#lengths = lengths
  }

  override storedLength(k: number): number {
    return this.#lengths[k]!
  }
}

/** Along each axis the length of all chunks, or of each. */
export type ChunkLengths = readonly (number | readonly number[])[]

/** The grid of an array as its chunks are stored. */
export const storedGrid = (shape: readonly number[], chunks: ChunkLengths): ChunkGrid =>
  new ChunkGrid(
    shape.map((length, axis): AxisChunks => {
      const lengths = chunks[axis]!
      return typeof lengths === 'number' ? new FullChunks(lengths, length) : new RectilinearChunks(length, lengths)
    }),
  )

/** The same grid as users see it, in which chunks end with the array. */
export const clippedGrid = (stored: ChunkGrid): ChunkGrid =>
  new ChunkGrid(
    stored.axes.map((axis) => {
      if (axis instanceof RegularChunks) return new RegularChunks(axis.chunkLength, axis.length)
      return chunksOf(Array.from({ length: axis.count }, (_, k) => axis.stop(k) - axis.start(k)))
    }),
  )
