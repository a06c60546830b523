import type { Codec } from '../../codec/codec.ts'
import type { DType } from '../../core/dtype.ts'
import type { MemoryBudget } from '../../core/memory-budget.ts'
import type { Checks } from '../../core/options.ts'
import type { BlockCache } from '../../engine/block-cache.ts'
import type { WorkerPool } from '../../pool/task.ts'
import { STORE_CHECKS, type StoreOptions } from '../../store/store.ts'
import type { Limits } from '../format/limits.ts'

/** Options that `create` and `open` share. */
export interface FileOptions extends StoreOptions {
  /** Codec of the blocks that are written: `'lz4'` (the default), `'zstd'`, `'none'` or one of `codecs`. */
  readonly codec?: string
  /**
   * Effort of `'zstd'`, 1 to 22; 3 by default. When it is given, `compact` encodes anew also blocks that it
   * could copy. Where the platform has no library for it (browsers, workerd, Node before 22.15) a kernel
   * writes, as small as about level 1 whatever this says.
   */
  readonly level?: number
  /**
   * Blocks that are decoded and compared with what was encoded before they are written: `'foreign'` (the
   * default), those of codecs that are not this package's own kernels: `'zstd'` and those of `codecs`;
   * `true`, all; `false`, none. What does not compare is a `CodecError` that names file, block and codec;
   * nothing is published then, and the changes are kept.
   */
  readonly verifyWrites?: boolean | 'foreign'
  /** Codecs beside those of this package, or in the place of those with the same name. */
  readonly codecs?: readonly Codec[]
  /** Blocks are closed once they hold this many bytes before compression; 8 MiB by default. */
  readonly blockBytes?: number
  /**
   * @internal Segments of LZ4 blocks are closed once they hold this many bytes before compression; 256 KiB by
   *   default.
   */
  readonly segmentBytes?: number
  /** Memory for decoded blocks that are likely to be wanted again; 64 MiB by default, none with 0. */
  readonly cacheBytes?: number
  /** Memory shared with other files, in the place of `cacheBytes`; what a file leaves there outlives it. */
  readonly cache?: BlockCache
  /** Memory that reads take at a time, shared with other files. */
  readonly budget?: MemoryBudget
  /** Bounds of what a file may ask for before it is refused; for files of unknown origin. */
  readonly limits?: Limits
  /** Workers that decode and reduce, from `createPool`; without them all is done on the calling thread. */
  readonly pool?: WorkerPool
  /**
   * Write CRC-32C checksums and the statistics of each chunk into the file, true by default. Other programs
   * pass over them; compacting with one of those drops them.
   */
  readonly extras?: boolean
}

/** Data types and ranks of arrays, by name: `{ tas: ['float32', 3] }`. */
export type ArrayTypes = { readonly [name: string]: readonly [dtype: DType, rank: number] }

/** The types of arrays of which nothing was said when the file was opened. */
export type Untyped = { readonly [name in never]: never }

/** Options of `open`. */
export interface OpenOptions<A extends ArrayTypes = ArrayTypes> extends FileOptions {
  /** Open the state that this layer (0 for the base) left, read-only. */
  readonly layer?: number
  /**
   * Types and ranks that some arrays must have, `{ tas: ['float32', 3] }`: checked when the file is opened,
   * and the types of what `array` gives.
   */
  readonly arrays?: A
  /**
   * HTTP statuses that mean "not found" for a URL. Default: 404 and 410. After any other status, the read
   * confirms the absence by a known object. For a store of your own, pass the option to the store.
   */
  readonly notFound?: readonly number[] | undefined
}

/** Options of `create`. */
export interface CreateOptions extends FileOptions {
  /** Replace a container that exists, its sidecars included, instead of refusing. */
  readonly overwrite?: boolean
}

export const FILE_CHECKS: Checks<FileOptions> = {
  ...STORE_CHECKS,
  codec: 'string',
  level: 'number',
  codecs: 'list',
  blockBytes: 'integer from 1 to 1073741824',
  segmentBytes: 'integer from 1',
  cacheBytes: 'integer from 0 to 1073741824',
  cache: 'BlockCache',
  budget: 'MemoryBudget',
  limits: 'object',
  pool: 'WorkerPool',
  extras: 'boolean',
  verifyWrites: ['foreign', true, false],
}
export const OPEN_CHECKS: Checks<OpenOptions> = {
  ...FILE_CHECKS,
  layer: 'integer from 0',
  arrays: 'plain object',
  notFound: 'list of integers',
}
