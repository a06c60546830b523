import { Codecs } from '../codec/registry.ts'
import { HyperslabError } from '../core/errors.ts'
import { withDefaultLimits } from './format/limits.ts'
import type { OpenOptions } from './layers/file-options.ts'
import type { WorkingCopyOptions } from './write/container-files.ts'

const DEFAULT_BLOCK_BYTES = 8 * 1024 * 1024
const DEFAULT_CACHE_BYTES = 64 * 1024 * 1024

/** @throws InvalidArgumentError; CodecError or UnsupportedError if the codec cannot encode here */
export async function withDefaults(options: OpenOptions): Promise<WorkingCopyOptions> {
  const {
    codec = 'lz4',
    level,
    blockBytes = DEFAULT_BLOCK_BYTES,
    cacheBytes = DEFAULT_CACHE_BYTES,
    extensionBlocks = true,
    verifyWrites = 'foreign',
  } = options
  if (level !== undefined && codec !== 'zstd')
    throw new HyperslabError('InvalidArgumentError', `a level is for the codec 'zstd', not '${codec}'`, { actual: level })
  const codecs = new Codecs(options.codecs, level)
  const encoder = codecs.encoder(codec)
  if ('ready' in encoder) await encoder.ready?.()
  const limits = withDefaultLimits(options.limits)
  const recode = level !== undefined
  return { ...options, codecs, codec, verifyWrites, blockBytes, cacheBytes, recode, extensionBlocks: extensionBlocks, limits }
}
