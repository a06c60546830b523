import type { Missing } from '../array/missing.ts'
import type { NamedValues, Origins, ScalarMode } from '../array/source.ts'
import type { DataOf, DType, ScalarOf } from '../core/dtype.ts'
import type { MemoryBudget } from '../core/memory-budget.ts'
import type { Signal } from '../core/signal.ts'
import type { Tensor } from '../core/tensor.ts'
import type { ChunkGrid } from '../grid/chunks.ts'
import type { Box } from '../grid/range.ts'
import type { BlockRef, PinnedChunks } from './block.ts'
import type { BlockReader } from './block-reader.ts'
import type { ChunkStats } from './chunk-stats.ts'
import type { StridedReader } from './strided-reader.ts'

/**
 * Contract between a format and the engine: describes one array and locates its chunks. A new format
 * implements this and its metadata. `ChunkedSource` turns it into an array with all reads, reductions, caches
 * and workers.
 */
export interface ChunkIndex<D extends DType = DType> {
  readonly dtype: D
  readonly dimensionNames?: readonly string[] | undefined
  /** Value of unwritten elements. */
  readonly fillValue?: ScalarOf<D> | undefined
  /** Rule for missing elements; by default those equal to the fill value are missing. */
  readonly missing?: Missing<D> | undefined
  readonly attrs?: NamedValues | undefined
  /** File and array, for error messages. */
  readonly label: { readonly file: string; readonly array: string }
  /** Place of the file or store. Optional: formats that no writer of this package replaces omit it. */
  readonly origins?: Origins | undefined
  /**
   * Fetches and decodes the blocks of the chunks; may serve many arrays. Optional: formats without blocks
   * omit it.
   */
  readonly blocks?: BlockReader | undefined
  /** Reads uncompressed chunks in place. Optional: formats without them omit it. */
  readonly strided?: StridedReader | undefined
  /** Memory budget shared by all results of the array. */
  readonly budget?: MemoryBudget | undefined
  /** Rule for reads of single elements. */
  readonly scalar?: ScalarMode | undefined
  /** Largest number of elements that one operation may process. */
  readonly maxElements?: number | undefined
  /** The current chunk grid. */
  readonly grid: ChunkGrid
  /**
   * Begins a run of reads. Before the engine returns a result of the run, it calls the returned function,
   * which confirms all unproved absences or throws. Optional: formats whose absences are certain omit it.
   */
  begin?(): (signal?: Signal) => Promise<void>
  /**
   * Returns the current locations of the chunks.
   * @throws ClosedError if the file was closed; UnknownArrayError if the array was deleted
   */
  snapshot(): ChunkSnapshot
  /**
   * Loads what is needed to locate some chunks, and returns a snapshot that locates them. Optional: formats
   * whose snapshots locate every chunk omit it.
   * @param chunks indices in the grid, possibly repeated
   */
  load?(chunks: Iterable<number>, signal: Signal | undefined): Promise<ChunkSnapshot>
  /**
   * Describes the stored bytes of a chunk in the terms of Zarr version 2, for references. Optional: formats
   * whose blocks have the names of codecs omit it.
   * @param block block of the chunk; undefined for chunks that are read in place
   * @throws UnsupportedError with the reason if readers of Zarr would not decode it to the full chunk
   */
  encodingOf?(block: BlockRef | undefined): Promise<ChunkEncoding>
  /** Optional: read-only arrays, and formats with `writeBox`, omit it. */
  readonly writer?: ChunkWriter | undefined
  /**
   * Writes a box of the array, and reads what it needs itself. For formats that store several chunks in one
   * object.
   * @param mask elements whose mask is 0 stay unchanged
   */
  writeBox?(box: Box, source: Tensor<D>, signal: Signal | undefined, mask?: Tensor<'bool'>): Promise<void>
  /** Grid of the stored objects, if they are larger than chunks. */
  readonly writeGrid?: ChunkGrid | undefined
}

/** Encoding of stored chunks, as metadata of Zarr version 2 describe it. */
export interface ChunkEncoding {
  readonly bigEndian: boolean
  /** Filters of numcodecs, in the order of encoding. */
  readonly filters: readonly Readonly<Record<string, unknown>>[]
  /** Stored order of the axes. Default: that of the array. */
  readonly axes?: readonly number[] | undefined
  /** Type of the stored elements as numpy names it. Default: that of the elements as they are read. */
  readonly dtype?: string | undefined
  /** Order of the elements in a chunk. Default: C, the last axis varies fastest. */
  readonly order?: 'F' | undefined
  /** Fill value in JSON, which readers take for missing. Default: that of the attribute `_FillValue`. */
  readonly fill?: unknown
  /** Folder of the objects. Default: the chunks are parts of files. */
  readonly folder?: string | undefined
  /** Whether the bytes are in memory only, and not at a position of a file. Default: false. */
  readonly isInMemory?: boolean | undefined
  /**
   * Returns the size of a block that is a whole object; undefined if there is no such object. Optional: other
   * blocks know their size.
   */
  sizeOf?(block: BlockRef, signal: Signal | undefined): Promise<number | undefined>
}

/** Stores the chunks of an array. */
export interface ChunkWriter {
  /** Reason why the array cannot be written at the moment; undefined if it can. */
  readonly readOnly: string | undefined
  /** Stores the chunk of an index in the grid. `whole` says that the caller set all its elements. */
  put(chunkIndex: number, bytes: Uint8Array, options: { readonly whole: boolean }): Promise<void>
  /** Runs writes one after another, so that no two of them modify the same old chunk. */
  exclusive<T>(work: () => Promise<T>): Promise<T>
}

/**
 * Locations of the chunks of an array at one moment. A chunk is identified by its index in the grid, in C
 * order.
 */
export interface ChunkSnapshot extends PinnedChunks {
  /** Returns the same chunks, unaffected by writes during their use. */
  pinned(): PinnedChunks
  /**
   * Checks that the array still has this grid.
   * @param done operation that the error message names
   * @throws ConflictError if the array was resized
   */
  checkGrid(done: string): void
  /**
   * Statistics of the stored chunks, computed without the elements equal to the fill value. Optional: formats
   * without statistics omit it.
   */
  readonly statistics?: ChunkStatistics | undefined
}

/** Type and fill of the elements of an array, as stored. */
export interface Elements<D extends DType = DType> {
  readonly dtype: D
  /** Value of all elements of missing chunks. */
  readonly fill: DataOf<D>[number]
  /** Whether `fill` is a fill value. Otherwise missing chunks contain zeros, which are valid elements. */
  readonly hasFill: boolean
}

export interface ChunkStatistics {
  /** Loads the stored statistics. */
  load(signal: Signal | undefined): Promise<void>
  /**
   * Returns the loaded statistics of a chunk; undefined if they are unknown or do not count all its elements.
   */
  of(chunkIndex: number): ChunkStats | undefined
  /**
   * Minimum, maximum and counts of all elements of the array, as far as they are loaded; the sum is
   * undefined. Optional: most formats keep statistics of chunks only.
   */
  readonly whole?: ChunkStats | undefined
}

/** Largest number of chunks that are located in one go, without yielding to the event loop. */
export const FEW_CHUNKS = 4096
