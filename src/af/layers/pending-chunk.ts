import type { ChunkAddress, ChunkBytes } from '../../engine/block.ts'
import type { Arena } from '../../kernels/arena.ts'

/** A chunk to be written into a layer: first as bytes, then packed into a block in the stage. */
export class PendingChunk {
  /**
   * Called when the chunk is packed. Its contents are in kernel memory at this moment, so they are cheapest
   * to read.
   */
  readonly onPack: ((arena: Arena, bytes: ChunkBytes) => void) | undefined
  /** Contents of the chunk until it is packed. */
  bytes: Uint8Array | undefined
  /** Location of the chunk after it was packed. */
  address: ChunkAddress | undefined
  /** Number of the chunk in the grid of its array, for `onPack`. Changes if the array is resized. */
  number = -1
  /** Whether only a part was written. The other elements are those of the committed chunk at that time. */
  partial = false

  constructor(onPack?: (arena: Arena, bytes: ChunkBytes) => void) {
    this.onPack = onPack
  }
}
