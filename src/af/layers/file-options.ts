import { SCALAR_CHECKS, type ScalarOptions } from '../../array/source.ts'
import type { Codec } from '../../codec/codec.ts'
import type { DType } from '../../core/dtype.ts'
import type { MemoryBudget } from '../../core/memory-budget.ts'
import type { Checks } from '../../core/options.ts'
import type { BlockCache } from '../../engine/block-cache.ts'
import type { WorkerPool } from '../../pool/task.ts'
import { STORE_CHECKS, type StoreOptions } from '../../store/store.ts'
import type { Limits } from '../format/limits.ts'

/** Options that `create` and `open` share. */
export interface FileOptions extends StoreOptions, ScalarOptions {
  /** Codec of new blocks: `'lz4'`, `'zstd'`, `'none'` or one of `codecs`. Default: `'lz4'`. */
  readonly codec?: string
  /**
   * Effort of `'zstd'`, from 1 to 22. Default: 3. If given, `compact` encodes all blocks anew, even those
   * that it could copy. Platforms without a library for Zstandard (browsers, workerd, Node before 22.15) use
   * a kernel. It ignores the level and compresses about as well as level 1.
   */
  readonly level?: number
  /**
   * Blocks that are decoded and compared with their input before they are written. `'foreign'`: blocks of
   * codecs other than this package's own kernels, which are `'zstd'` and those of `codecs`; `true`: all;
   * `false`: none. Default: `'foreign'`. A difference is a `CodecError` that names file, block and codec.
   * Nothing is published then, and the changes are kept.
   */
  readonly verifyWrites?: boolean | 'foreign'
  /** Codecs in addition to those of this package. They replace codecs of the same name. */
  readonly codecs?: readonly Codec[]
  /** Size of blocks before compression, in bytes: a block is closed once it has this size. Default: 8 MiB. */
  readonly blockBytes?: number
  /** @internal Size of the segments of LZ4 blocks before compression, in bytes. Default: 256 KiB. */
  readonly segmentBytes?: number
  /**
   * Bytes of memory for decoded blocks that are likely to be read again. Default: 64 MiB; 0 disables the
   * cache.
   */
  readonly cacheBytes?: number
  /** Cache shared with other files, instead of `cacheBytes`. Blocks stay in it after the file was closed. */
  readonly cache?: BlockCache
  /** Limit of the memory that reads take at once, shared by all that have this budget. */
  readonly budget?: MemoryBudget
  /** Limits of the resources that a file can request. For files of unknown origin. */
  readonly limits?: Limits
  /** Workers that decode and reduce, from `createPool`. Default: the calling thread does all work. */
  readonly pool?: WorkerPool
  /**
   * Write CRC-32C checksums and the statistics of each chunk into the file. Default: true. Other programs
   * ignore them, and discard them when they compact the container.
   */
  readonly extensionBlocks?: boolean
}

/** Data types and ranks of arrays, by name: `{ tas: ['float32', 3] }`. */
export type ArrayTypes = { readonly [name: string]: readonly [dtype: DType, rank: number] }

/** Types of the arrays if none were given when the file was opened. */
export type Untyped = { readonly [name in never]: never }

/** Options of `open`. */
export interface OpenOptions<A extends ArrayTypes = ArrayTypes> extends FileOptions {
  /** Open the state as of this layer (0 for the base), read-only. */
  readonly layer?: number
  /**
   * Types and ranks of some arrays: `{ tas: ['float32', 3] }`. They are checked when the file is opened, and
   * `array` returns these types.
   */
  readonly arrays?: A
  /**
   * HTTP statuses that mean "not found" for a URL. Default: 404 and 410. If the list has another one, such as
   * 403, and the server sends it, the read also requests an object that is known to exist. The absence counts
   * only if the server returns that object. For a store of your own, pass the option to the store.
   */
  readonly notFound?: readonly number[] | undefined
}

/** Options of `create`. */
export interface CreateOptions extends FileOptions {
  /** Replace an existing container and its sidecars, instead of throwing. */
  readonly overwrite?: boolean
}

export const FILE_CHECKS: Checks<FileOptions> = {
  ...STORE_CHECKS,
  ...SCALAR_CHECKS,
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
  extensionBlocks: 'boolean',
  verifyWrites: ['foreign', true, false],
}
export const OPEN_CHECKS: Checks<OpenOptions> = {
  ...FILE_CHECKS,
  layer: 'integer from 0',
  arrays: 'plain object',
  notFound: 'list of integers',
}
