import type { ChunkAddress, ChunkBytes } from '../../engine/block.ts'
import type { Arena } from '../../kernels/arena.ts'

/** A chunk on its way into a layer: loose at first, then packed into a block that has been written. */
export class PendingChunk {
  /**
   * Called when the chunk is packed, with its contents in kernel memory: the cheapest moment to look at them.
   */
  readonly onPack: ((arena: Arena, bytes: ChunkBytes) => void) | undefined
  /** The chunk while it is loose. */
  bytes: Uint8Array | undefined
  /** Where it is once it is packed. */
  address: ChunkAddress | undefined
  /** In the grid of its array, for `onPack`: another one once the array was resized. */
  number = -1
  /** Elements that were not written are those of the committed chunk, as it was then. */
  partial = false

  constructor(onPack?: (arena: Arena, bytes: ChunkBytes) => void) {
    this.onPack = onPack
  }
}
