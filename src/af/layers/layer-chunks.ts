import type { BlockRef, ChunkAddress } from '../../engine/block.ts'
import type { ChunkGrid } from '../../grid/chunks.ts'
import type { ChunkTable } from '../format/footer.ts'

/** A dense table is used unless it is much larger than the list of stored chunks. */
const MAX_SLOTS_PER_CHUNK = 8
const ALWAYS_DENSE_SLOTS = 4096

/**
 * Chunks of one array in one layer. Finds a chunk by its number in the grid in constant time. The index is
 * built on first use, in time linear in the number of stored chunks.
 */
export class LayerChunks {
  readonly #table: ChunkTable
  readonly #grid: ChunkGrid
  readonly #blocks: ReadonlyMap<number, BlockRef>
  /**
   * Row of the table by chunk number. In the dense form rows count from 1, and 0 means that the chunk is not
   * stored.
   */
  #rows: { get(chunkIndex: number): number | undefined } | undefined

  constructor(table: ChunkTable, grid: ChunkGrid, blocks: ReadonlyMap<number, BlockRef>) {
    this.#table = table
    this.#grid = grid
    this.#blocks = blocks
  }

  /** Number of chunks that the layer stores. */
  get length(): number {
    return this.#table.length
  }

  find(chunkIndex: number): ChunkAddress | undefined {
    const row = this.row(chunkIndex)
    return row === undefined ? undefined : this.#address(row)
  }

  /** Returns the row of a chunk in the chunk table. */
  row(chunkIndex: number): number | undefined {
    this.#rows ??= this.#build()
    return this.#rows.get(chunkIndex)
  }

  /** Yields the numbers of all stored chunks in the grid, in stored order. */
  *numbers(): Generator<number> {
    for (let row = 0; row < this.#table.length; row++) {
      const chunkIndex = this.#number(row)
      if (chunkIndex !== undefined) yield chunkIndex
    }
  }

  #address(row: number): ChunkAddress {
    const { blockIds, offsets, sizes } = this.#table
    return { block: this.#blocks.get(blockIds[row]!)!, offset: offsets[row]!, size: sizes[row]! }
  }

  /**
   * Returns the number of the chunk in a row; undefined outside the grid. A writer that made the array
   * smaller leaves such chunks.
   */
  #number(row: number): number | undefined {
    const { coords, rank } = this.#table
    const { counts } = this.#grid
    let chunkIndex = 0
    for (let axis = 0; axis < rank; axis++) {
      const k = coords[row * rank + axis]!
      if (k >= counts[axis]!) return undefined
      chunkIndex = chunkIndex * counts[axis]! + k
    }
    return chunkIndex
  }

  /** Indexes the rows. Of several rows of one chunk, the first counts. */
  #build(): { get(chunkIndex: number): number | undefined } {
    const { length } = this.#table
    if (this.#grid.count > Math.max(ALWAYS_DENSE_SLOTS, length * MAX_SLOTS_PER_CHUNK)) {
      const rows = new Map<number, number>()
      for (let row = 0; row < length; row++) {
        const chunkIndex = this.#number(row)
        if (chunkIndex !== undefined && !rows.has(chunkIndex)) rows.set(chunkIndex, row)
      }
      return rows
    }
    const slots = new Uint32Array(this.#grid.count)
    for (let row = length; row-- > 0; ) {
      const chunkIndex = this.#number(row)
      if (chunkIndex !== undefined) slots[chunkIndex] = row + 1
    }
    return { get: (chunkIndex) => (slots[chunkIndex] ? slots[chunkIndex] - 1 : undefined) }
  }
}

/** Returns the location of a chunk in the first layer that stores it, newest first. */
export function findIn(layers: readonly LayerChunks[], chunkIndex: number): ChunkAddress | undefined {
  for (const index of layers) {
    const address = index.find(chunkIndex)
    if (address !== undefined) return address
  }
  return undefined
}
