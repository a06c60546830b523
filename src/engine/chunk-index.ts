import type { Missing } from '../array/missing.ts'
import type { NamedValues } from '../array/source.ts'
import type { DataOf, DType, ScalarOf } from '../core/dtype.ts'
import type { MemoryBudget } from '../core/memory-budget.ts'
import type { Signal } from '../core/signal.ts'
import type { Tensor } from '../core/tensor.ts'
import type { ChunkGrid } from '../grid/chunks.ts'
import type { Box } from '../grid/range.ts'
import type { PinnedChunks } from './block.ts'
import type { BlockReader } from './block-reader.ts'
import type { ChunkStats } from './chunk-stats.ts'
import type { StridedReader } from './strided-reader.ts'

/**
 * What a format tells the engine of one array: what its elements are, and where its chunks lie. This is all
 * that a new format writes beside its metadata; `ChunkedSource` makes an array of it, with every kind of
 * reading, reduction, cache and worker.
 */
export interface ChunkIndex<D extends DType = DType> {
  readonly dtype: D
  readonly dimensionNames?: readonly string[] | undefined
  /** What elements nobody wrote read as. */
  readonly fillValue?: ScalarOf<D> | undefined
  /** Which elements are missing; those that equal the fill value when left out. */
  readonly missing?: Missing<D> | undefined
  readonly attrs?: NamedValues | undefined
  /** For error messages: file and array. */
  readonly label: { readonly file: string; readonly array: string }
  /**
   * Fetches and decodes the blocks that the chunks lie in; may serve many arrays. Left out where no chunk
   * lies in a block.
   */
  readonly blocks?: BlockReader | undefined
  /** Reads the chunks that lie in place in a file. Left out where none does. */
  readonly strided?: StridedReader | undefined
  /** Memory that results of reading the array share. */
  readonly budget?: MemoryBudget | undefined
  /** Elements that one operation may go through. */
  readonly maxElements?: number | undefined
  /** The grid that the array has now. */
  readonly grid: ChunkGrid
  /**
   * Begins a run of reads. Before the engine returns a result of the run, it calls the returned function,
   * which confirms all unproved absences or throws. Optional: formats whose absences are certain omit it.
   */
  begin?(): (signal?: Signal) => Promise<void>
  /**
   * Where the chunks are now.
   * @throws ClosedError when the file was closed; UnknownArrayError when the array was deleted
   */
  snapshot(): ChunkSnapshot
  /**
   * Reads what has to be known to locate some chunks, and gives a snapshot that does. Left out where every
   * snapshot locates every chunk.
   * @param chunks indices in the grid, some of them more than once
   */
  load?(chunks: Iterable<number>, signal: Signal | undefined): Promise<ChunkSnapshot>
  /** Left out where the array cannot be written to, or is written by `writeBox`. */
  readonly writer?: ChunkWriter | undefined
  /**
   * Writes a box of the array, for formats that store several chunks as one object; reads what it takes to do
   * so itself.
   * @param mask leaves out the elements where it is 0
   */
  writeBox?(box: Box, source: Tensor<D>, signal: Signal | undefined, mask?: Tensor<'bool'>): Promise<void>
  /** What is stored as one, where that is more than a chunk. */
  readonly writeGrid?: ChunkGrid | undefined
}

/** How chunks are stored. */
export interface ChunkWriter {
  /** Why nothing can be written at the moment; undefined when it can. */
  readonly readOnly: string | undefined
  /** Stores a chunk, given its index in the grid; `whole` when every element of it was given. */
  put(chunkIndex: number, bytes: Uint8Array, options: { readonly whole: boolean }): Promise<void>
  /** Runs writes one after another, so that two of them never build on the same old chunk. */
  exclusive<T>(work: () => Promise<T>): Promise<T>
}

/**
 * Where the chunks of an array are. Chunks are known by their index in the grid, counted in C order.
 */
export interface ChunkSnapshot extends PinnedChunks {
  /** The same chunks, whatever is written while it is used. */
  pinned(): PinnedChunks
  /**
   * Whether the array still has this grid.
   * @throws ConflictError when it was resized, which is told after what was `done` to it
   */
  checkGrid(done: string): void
  /**
   * Statistics of stored chunks that leave out exactly the elements equal to the fill value; left out where
   * there are none such.
   */
  readonly statistics?: ChunkStatistics | undefined
}

/** What the elements of an array are, as they are stored. */
export interface Elements<D extends DType = DType> {
  readonly dtype: D
  /** What missing chunks are full of. */
  readonly fill: DataOf<D>[number]
  /** Whether that is a fill value; without one, they are full of zeros like any. */
  readonly hasFill: boolean
}

export interface ChunkStatistics {
  /** Reads what is stored of them. */
  load(signal: Signal | undefined): Promise<void>
  /**
   * Those of a chunk, as far as they are loaded; undefined where they are not known, or not of as many
   * elements as the chunk has.
   */
  of(chunkIndex: number): ChunkStats | undefined
  /**
   * Minimum, maximum and counts of all elements of the array, as far as they are loaded; the sum is
   * undefined. Optional: most formats keep statistics of chunks only.
   */
  readonly whole?: ChunkStats | undefined
}

/** Up to so many chunks are looked up one by one, without giving way to others of the thread. */
export const FEW_CHUNKS = 4096
