import type { BlockRef, ChunkAddress } from '../../engine/block.ts'
import type { ChunkGrid } from '../../grid/chunks.ts'
import type { ChunkTable } from '../format/footer.ts'

/** A dense table is worth it while it is not much larger than the list of stored chunks. */
const MAX_SLOTS_PER_CHUNK = 8
const ALWAYS_DENSE_SLOTS = 4096

/**
 * The chunks one layer stores of one array, found by their number in the grid in constant time. Built on
 * first use, in time linear in the stored chunks.
 */
export class LayerChunks {
  readonly #table: ChunkTable
  readonly #grid: ChunkGrid
  readonly #blocks: ReadonlyMap<number, BlockRef>
  /** Chunk number to row of the table; rows count from 1 in the dense form, where 0 means none. */
  #rows: { get(number: number): number | undefined } | undefined

  constructor(table: ChunkTable, grid: ChunkGrid, blocks: ReadonlyMap<number, BlockRef>) {
    this.#table = table
    this.#grid = grid
    this.#blocks = blocks
  }

  /** How many chunks the layer stores. */
  get length(): number {
    return this.#table.length
  }

  find(number: number): ChunkAddress | undefined {
    const row = this.row(number)
    return row === undefined ? undefined : this.#address(row)
  }

  /** The row of the chunk table that a chunk is in. */
  row(number: number): number | undefined {
    this.#rows ??= this.#build()
    return this.#rows.get(number)
  }

  /** The numbers of all stored chunks that lie in the grid, in stored order. */
  *numbers(): Generator<number> {
    for (let row = 0; row < this.#table.length; row++) {
      const number = this.#number(row)
      if (number !== undefined) yield number
    }
  }

  #address(row: number): ChunkAddress {
    const { blockIds, offsets, sizes } = this.#table
    return { block: this.#blocks.get(blockIds[row]!)!, offset: offsets[row]!, size: sizes[row]! }
  }

  /** Chunks outside the grid, left by a writer that shrank the array, belong to nothing. */
  #number(row: number): number | undefined {
    const { coords, rank } = this.#table
    const { counts } = this.#grid
    let number = 0
    for (let axis = 0; axis < rank; axis++) {
      const k = coords[row * rank + axis]!
      if (k >= counts[axis]!) return undefined
      number = number * counts[axis]! + k
    }
    return number
  }

  /** Of several entries for one chunk the first counts. */
  #build(): { get(number: number): number | undefined } {
    const { length } = this.#table
    if (this.#grid.count > Math.max(ALWAYS_DENSE_SLOTS, length * MAX_SLOTS_PER_CHUNK)) {
      const rows = new Map<number, number>()
      for (let row = 0; row < length; row++) {
        const number = this.#number(row)
        if (number !== undefined && !rows.has(number)) rows.set(number, row)
      }
      return rows
    }
    const slots = new Uint32Array(this.#grid.count)
    for (let row = length; row-- > 0; ) {
      const number = this.#number(row)
      if (number !== undefined) slots[number] = row + 1
    }
    return { get: (number) => (slots[number] ? slots[number] - 1 : undefined) }
  }
}

/** Where a chunk is in the first of some layers, newest first, that has it. */
export function findIn(layers: readonly LayerChunks[], number: number): ChunkAddress | undefined {
  for (const index of layers) {
    const address = index.find(number)
    if (address !== undefined) return address
  }
  return undefined
}
