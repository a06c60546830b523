import { type Checks, checkOptions } from '../../core/options.ts'
import { copyGrid } from '../../grid/rechunk-plan.ts'
import { copyWhole, PROGRESS_CHECKS, type ProgressOptions } from '../iteration.ts'
import { type BlockSource, bytesOf } from '../source.ts'

/** Options of `rechunkTo`. */
export interface RechunkOptions extends ProgressOptions {
  /**
   * Bytes of elements held at a time; 64 MiB when left out. One chunk of the target is held even where it is
   * larger.
   */
  readonly maxBytes?: number
}

const CHECKS: Checks<RechunkOptions> = { ...PROGRESS_CHECKS, maxBytes: 'number from 0' }

const DEFAULT_MAX_BYTES = 64 * 1024 * 1024

/**
 * Copies an array into one with other chunks. Each chunk of the target is written once and whole; a chunk of
 * the source is read once if the chunks of both that overlap it fit in `maxBytes`, otherwise in as few parts
 * as fit.
 * @throws InvalidArgumentError when shapes or types differ; ReadOnlyError
 */
export async function rechunkTo(source: BlockSource, target: BlockSource, options: RechunkOptions = {}): Promise<void> {
  checkOptions('rechunkTo', options, CHECKS)
  const room = (options.maxBytes ?? DEFAULT_MAX_BYTES) / bytesOf(source.dtype)
  // Nothing is read while something is held.
  await copyWhole(source, target, { ...options, prefetch: 0 }, () =>
    copyGrid(source.chunks, target.writeGrid ?? target.chunks, room),
  )
}
