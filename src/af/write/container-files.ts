import type { Codecs } from '../../codec/registry.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { MemoryBudget } from '../../core/memory-budget.ts'
import type { BlockMemory } from '../../engine/block-cache.ts'
import type { WorkerPool } from '../../pool/task.ts'
import type { ConditionalWrites, Store } from '../../store/store.ts'
import type { Limits } from '../format/limits.ts'
import type { Paths } from '../layers/paths.ts'
import type { Stack } from '../layers/stack.ts'
import { BlockPacker, type VerifyWrites } from './packer.ts'

/** Where the files of a container are, and how new ones are written. */
export interface ContainerFiles {
  readonly store: Store
  readonly paths: Paths
  readonly options: WorkingCopyOptions
}

/** Whether the base is still that of a state. */
export const isBase = async ({ store }: ContainerFiles, { base }: Stack): Promise<boolean> =>
  (await store.stat(base.key))?.etag === base.info.etag

/** Which conditions the store honours. */
export const conditionsOf = async ({ store, paths }: ContainerFiles): Promise<ConditionalWrites> =>
  (await store.conditionalWrites?.(paths.base)) ?? {
    replace: false,
    remove: false,
    reason: 'the store offers no conditional writes',
  }

/** @throws UnsupportedError where files cannot be replaced on condition of their version */
export async function checkReplaces(files: ContainerFiles, what: string): Promise<void> {
  const { replace, reason } = await conditionsOf(files)
  if (replace) return
  const text = `${what} takes a store that replaces a file only while it has a given version, or other writers could lose data: ${reason}`
  throw new HyperslabError('UnsupportedError', text, { file: files.store.describe(files.paths.base) })
}

/**
 * Little enough to fetch for one point, yet four times what a match reaches back: the first bytes of a
 * segment have nothing to match.
 */
const SEGMENT_BYTES = 256 * 1024

/** @throws CodecError when the codec is unknown or cannot write */
export function newPacker({ store, paths, options }: ContainerFiles): BlockPacker {
  const { codecs, codec, verifyWrites, blockBytes, extras, segmentBytes = SEGMENT_BYTES } = options
  return new BlockPacker({
    file: store.describe(paths.base),
    codecs,
    codec,
    verifyWrites,
    targetBytes: blockBytes,
    // Without the extras nobody would know of them.
    ...(extras && { segmentBytes }),
    openStage: () => store.stage!(paths.base),
  })
}

export interface WorkingCopyOptions {
  readonly codecs: Codecs
  /** Of the blocks that are written. */
  readonly codec: string
  readonly verifyWrites: VerifyWrites
  readonly blockBytes: number
  /** As of `FileOptions`. */
  readonly segmentBytes: number | undefined
  readonly cacheBytes: number
  /** Shared with other files, instead of an own one of `cacheBytes`. */
  readonly cache: BlockMemory | undefined
  readonly limits: Required<Limits>
  readonly budget: MemoryBudget | undefined
  /** Blocks are encoded anew when the container is compacted, though they have the right codec. */
  readonly recode: boolean
  /** Write checksums and statistics of chunks. */
  readonly extras: boolean
  /** The newest layer that is looked at; undefined for all there are. */
  readonly layer: number | undefined
  readonly pool?: WorkerPool | undefined
}
