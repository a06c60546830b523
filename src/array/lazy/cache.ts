import type { DType } from '../../core/dtype.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import type { BlockSource } from '../source.ts'
import type { ChunkCache } from './chunk-cache.ts'
import { deriveSource } from './derive.ts'

/** Options of `cache`. */
export interface CacheOptions {
  /**
   * Size of the cache in bytes of elements; default 64 MiB. The most recently used chunks are kept. Strings
   * count two bytes per character.
   */
  readonly maxBytes?: number
}

const CHECKS: Checks<CacheOptions> = { maxBytes: 'number from 0' }

const DEFAULT_MAX_BYTES = 64 * 1024 * 1024

/**
 * Returns an array whose chunks are cached in memory. Whole chunks are read; concurrent readers of a chunk
 * share one read. Chunks that are missing at the same time are read together. Writes pass through and evict
 * the chunks they touch.
 * @throws InvalidArgumentError unless `maxBytes` is a non-negative number
 */
export function cache<D extends DType>(source: BlockSource<D>, options: CacheOptions = {}): BlockSource<D> {
  checkOptions('cache', options, CHECKS)
  const { maxBytes = DEFAULT_MAX_BYTES } = options
  const grid = source.chunks
  let chunks: Promise<ChunkCache<D>> | undefined
  const loaded = (): Promise<ChunkCache<D>> => {
    chunks ??= import('./chunk-cache.ts').then(({ ChunkCache }) => new ChunkCache(source, grid, maxBytes))
    return chunks
  }
  return deriveSource(source, {
    chunks: grid,
    readBlock: async (box, out, options) => (await loaded()).read(box, out, options),
    write: async (...asked) => (await loaded()).write(...asked),
  })
}
