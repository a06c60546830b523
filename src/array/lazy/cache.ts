import type { DType } from '../../core/dtype.js'
import { HyperslabError } from '../../core/errors.js'
import type { BlockSource } from '../source.js'
import type { ChunkCache } from './chunk-cache.js'
import { over } from './layer.js'

export interface CacheOptions {
  /** Bytes of elements that are kept, of the chunks that were used last; 64 MiB when left out. Strings count two bytes a character. */
  readonly maxBytes?: number
}

const DEFAULT_MAX_BYTES = 64 * 1024 * 1024

/**
 * An array whose chunks are kept in memory. Whole chunks are read, each by one however many want it at a time; chunks that are missing
 * together are read together. Writing goes through and drops the chunks it touches.
 * @throws InvalidArgumentError unless `maxBytes` is a non-negative number
 */
export function cache<D extends DType>(
  source: BlockSource<D>,
  { maxBytes = DEFAULT_MAX_BYTES }: CacheOptions = {},
): BlockSource<D> {
  if (!(maxBytes >= 0))
    throw new HyperslabError('InvalidArgumentError', `maxBytes must be a non-negative number, got ${maxBytes}`, {
      actual: maxBytes,
    })
  const grid = source.chunks
  let chunks: Promise<ChunkCache<D>> | undefined
  const loaded = (): Promise<ChunkCache<D>> => {
    chunks ??= import('./chunk-cache.js').then(({ ChunkCache }) => new ChunkCache(source, grid, maxBytes))
    return chunks
  }
  return over(source, {
    chunks: grid,
    readBlock: async (box, out, options) => (await loaded()).read(box, out, options),
    ...(source.writeBlock && { writeBlock: async (box, values, options) => (await loaded()).write(box, values, options) }),
  })
}
