import type { Codecs } from '../../codec/registry.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { BlockMemory } from '../../engine/block-cache.ts'
import type { WorkerPool } from '../../pool/task.ts'
import type { ConditionalWrites, Store } from '../../store/store.ts'
import { asWritable, findConditionalWrites } from '../../store/writer.ts'
import type { ContainerOptions } from '../layers/container.ts'
import type { Paths } from '../layers/paths.ts'
import type { Stack } from '../layers/stack.ts'
import { BlockPacker, type VerifyWrites } from './packer.ts'

/** Location of the files of a container, and the options for writing new ones. */
export interface ContainerFiles {
  readonly store: Store
  readonly paths: Paths
  readonly options: WorkingCopyOptions
}

/** Whether the store still has the base of a state. */
export const isBase = async ({ store }: ContainerFiles, { base }: Stack): Promise<boolean> =>
  (await store.stat(base.key))?.etag === base.info.etag

/** Returns the conditions that the store honours. */
export const requireConditions = async ({ store, paths }: ContainerFiles): Promise<ConditionalWrites> =>
  (await findConditionalWrites(store, paths.base)) ?? {
    replace: false,
    remove: false,
    reason: 'the store offers no conditional writes',
  }

/** @throws UnsupportedError if files cannot be replaced on condition of their version */
export async function checkReplaces(files: ContainerFiles, what: string): Promise<void> {
  const { replace, reason } = await requireConditions(files)
  if (replace) return
  const text = `${what} takes a store that replaces a file only while it has a given version, or other writers could lose data: ${reason}`
  throw new HyperslabError('UnsupportedError', text, { file: files.store.describe(files.paths.base) })
}

/**
 * Small enough to fetch for one point, but four times the reach of an LZ4 match: the first bytes of a segment
 * have nothing to match.
 */
const SEGMENT_BYTES = 256 * 1024

/** @throws CodecError if the codec is unknown or cannot encode */
export function newPacker({ store, paths, options }: ContainerFiles): BlockPacker {
  const { codecs, codec, verifyWrites, blockBytes, extensionBlocks, segmentBytes = SEGMENT_BYTES } = options
  return new BlockPacker({
    file: store.describe(paths.base),
    codecs,
    codec,
    verifyWrites,
    targetBytes: blockBytes,
    // Without extension blocks, readers would not find the segments.
    ...(extensionBlocks && { segmentBytes }),
    openStage: () => asWritable(store).stage(paths.base),
  })
}

export interface WorkingCopyOptions extends ContainerOptions {
  readonly codecs: Codecs
  /** Codec of new blocks. */
  readonly codec: string
  readonly verifyWrites: VerifyWrites
  readonly blockBytes: number
  /** See `FileOptions`. */
  readonly segmentBytes?: number
  readonly cacheBytes: number
  /** Cache shared with other files, instead of an own one of `cacheBytes`. */
  readonly cache?: BlockMemory
  /** Whether compaction encodes blocks anew even if they have the right codec. */
  readonly recode: boolean
  /** Whether to write checksums and statistics of chunks. */
  readonly extensionBlocks: boolean
  /** Number of the newest layer to read; undefined for all layers. */
  readonly layer?: number | undefined
  /** Workers that decode and reduce, from `createPool`. Default: the calling thread does all work. */
  readonly pool?: WorkerPool | undefined
}
