import type { DType } from '../../core/dtype.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import type { BlockSource } from '../source.ts'
import type { ChunkCache } from './chunk-cache.ts'
import { deriveSource } from './derive.ts'

/** Options of `cache`. */
export interface CacheOptions {
  /**
   * Bytes of elements that are kept, of the chunks that were used last; 64 MiB when left out. Strings count
   * two bytes a character.
   */
  readonly maxBytes?: number
}

const CHECKS: Checks<CacheOptions> = { maxBytes: 'number from 0' }

const DEFAULT_MAX_BYTES = 64 * 1024 * 1024

/**
 * An array whose chunks are kept in memory. Whole chunks are read, each by one however many want it at a
 * time; chunks that are missing together are read together. Writing goes through and drops the chunks it
 * touches.
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
