import { type ChunkGrid, RegularChunks } from './chunks.ts'

/** Chunks of one length. The last one is stored in full, even if it extends beyond the axis. */
export class FullChunks extends RegularChunks {
  override storedLength(): number {
    return this.chunkLength
  }
}

/** Returns the shape of a chunk as it is stored, which may extend beyond the array; `shapeOf` is clipped. */
export const storedShape = ({ axes }: ChunkGrid, index: readonly number[]): number[] =>
  axes.map((axis, at) => axis.storedLength(index[at]!))
