import { RegularChunks } from './chunks.ts'

/** Chunks of one length. The last one is stored in full, even if it extends beyond the axis. */
export class FullChunks extends RegularChunks {
  override storedLength(): number {
    return this.chunkLength
  }
}
