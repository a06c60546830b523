import { Codecs } from '../codec/registry.ts'
import { HyperslabError } from '../core/errors.ts'
import { withDefaultLimits } from './format/limits.ts'
import type { OpenOptions } from './layers/file-options.ts'
import type { WorkingCopyOptions } from './write/container-files.ts'

const DEFAULT_BLOCK_BYTES = 8 * 1024 * 1024
const DEFAULT_CACHE_BYTES = 64 * 1024 * 1024

/**
 * @throws InvalidArgumentError; CodecError, MissingDependencyError or UnsupportedError when the codec is not
 *   one to write with here
 */
export async function withDefaults(options: OpenOptions): Promise<WorkingCopyOptions> {
  const {
    codec = 'lz4',
    level,
    blockBytes = DEFAULT_BLOCK_BYTES,
    segmentBytes,
    cacheBytes = DEFAULT_CACHE_BYTES,
    extras = true,
    verifyWrites = 'foreign',
    layer,
  } = options
  for (const [name, bytes, least] of [['blockBytes', blockBytes, 1] as const, ['cacheBytes', cacheBytes, 0] as const]) {
    if (Number.isSafeInteger(bytes) && bytes >= least && bytes <= 2 ** 30) continue
    const text = `${name} must be an integer from ${least} to 2^30, got ${bytes}`
    throw new HyperslabError('InvalidArgumentError', text, { actual: bytes })
  }
  if (options.cache !== undefined && !('slabs' in Object(options.cache)))
    throw new HyperslabError('InvalidArgumentError', 'cache must be a BlockCache', { actual: options.cache })
  if (layer !== undefined && !(Number.isSafeInteger(layer) && layer >= 0))
    throw new HyperslabError('InvalidArgumentError', `layer must be a number from 0, got ${layer}`, { actual: layer })
  if (level !== undefined && codec !== 'zstd')
    throw new HyperslabError('InvalidArgumentError', `a level is for the codec 'zstd', not '${codec}'`, { actual: level })
  const codecs = new Codecs(options.codecs, level)
  const encoder = codecs.encoder(codec)
  if ('ready' in encoder) await encoder.ready?.()
  const limits = withDefaultLimits(options.limits)
  const { cache, pool, budget } = options
  if (budget !== undefined && !('result' in Object(budget)))
    throw new HyperslabError('InvalidArgumentError', 'budget must be a MemoryBudget', { actual: budget })
  const recode = level !== undefined
  return { codecs, codec, verifyWrites, blockBytes, segmentBytes, cacheBytes, cache, recode, extras, layer, limits, budget, pool }
}
