import type { Progress } from '../../array/transfers.ts'
import { messageOf } from '../../core/errors.ts'
import type { Signal } from '../../core/signal.ts'
import type { BlockReader } from '../../engine/block-reader.ts'
import type { ArrayStats } from '../format/array-stats.ts'
import { randomId } from '../format/encode.ts'
import type { ArrayState } from '../layers/array-state.ts'
import { Dictionary } from '../layers/dictionary.ts'
import type { Layer } from '../layers/layer.ts'
import { Stack } from '../layers/stack.ts'
import { publishLayer } from './commit.ts'
import { compactInto } from './compact.ts'
import { type ContainerFiles, newPacker } from './container-files.ts'
import { publishNew, type Replaced } from './create.ts'
import { footerStats } from './footer-stats.ts'
import { checkAlone, publishImmutable } from './immutable.ts'
import { StatsKeeper } from './stats-keeper.ts'

/** Arrays of a container, and the reader of their blocks. */
export interface StoredArrays {
  readonly states: readonly ArrayState[]
  readonly blocks: BlockReader
}

/** Options for copying arrays as they are stored. */
export interface StoredCopyOptions {
  /** Whether to write a file of footer version 6. */
  readonly immutable: boolean
  /** Receives the progress after each step. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
  /** Cancels the call when it is aborted. A published copy stays. */
  readonly signal?: Signal | undefined
}

/** A copy: the size of the file, and failures after its publication. */
export interface StoredCopy {
  readonly bytes: number
  readonly warnings: readonly string[]
}

/**
 * Copies arrays as they are stored into a container of a single file, with one block in memory at a time.
 * Readers see the whole file or the one before it.
 * @param replaced the container that may be replaced; undefined if none may exist
 * @throws AlreadyExistsError if a container or a sidecar exists that must not be replaced; ConflictError if
 *   its version is not that of `replaced`; UnsupportedError for arrays that footer version 6 cannot hold
 */
export async function copyStored(
  files: ContainerFiles,
  { states, blocks }: StoredArrays,
  replaced: Replaced | undefined,
  { immutable, onProgress, signal }: StoredCopyOptions,
): Promise<StoredCopy> {
  const { store, paths, options } = files
  const packer = newPacker(files)
  try {
    const arrays = await compactInto(packer, states, blocks, { recode: options.recode, onProgress, signal })
    const id = randomId()
    if (immutable) {
      const stats: (ArrayStats | null)[] = []
      for (const { state, chunks } of arrays) stats.push(await footerStats(state, [...chunks.keys()], blocks))
      await checkAlone(files)
      signal?.throwIfAborted()
      const built = await publishNew(files, replaced, (condition) =>
        publishImmutable(files, { arrays, stats, id }, packer, condition),
      )
      return { bytes: built.info.size, warnings: [] }
    }
    const identity = { id, kind: 'base' } as const
    const contents = { number: 0, base: paths.base, arrays, deleted: [], dictionary: new Dictionary(), identity }
    signal?.throwIfAborted()
    const layer = await publishNew(files, replaced, (condition) =>
      publishLayer(store, paths.base, contents, packer, { ...options, condition }),
    )
    return { bytes: layer.info.size, warnings: await storeStatistics(files, { states, blocks }, layer) }
  } finally {
    await packer.discard()
  }
}

/** Stores the statistics of a new container. It is complete without them. */
async function storeStatistics(
  { store, paths, options }: ContainerFiles,
  { states, blocks }: StoredArrays,
  layer: Layer,
): Promise<string[]> {
  try {
    const { described } = new Stack([layer])
    const keeper = new StatsKeeper(store, paths.stats, blocks, () => described, options.limits.footerBytes)
    await keeper.write(states, new Map(states.map((state) => [state.definition.name, state])))
    return []
  } catch (error) {
    return [`statistics could not be stored, and are computed on request: ${messageOf(error)}`]
  }
}
