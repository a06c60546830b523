import { SCALAR_CHECKS, type ScalarOptions } from '../../array/source.ts'
import type { Codec } from '../../codec/codec.ts'
import { codecsByName } from '../../codec/registry.ts'
import { within } from '../../core/errors.ts'
import type { MemoryBudget } from '../../core/memory-budget.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import type { Signal } from '../../core/signal.ts'
import type { BlockCache } from '../../engine/block-cache.ts'
import { READ_LIMIT_CHECKS, READ_LIMITS } from '../../engine/limits.ts'
import type { WorkerPool } from '../../pool/task.ts'
import type { ObjectStart, StoredAt } from '../../store/store.ts'
import type { TypeOptions } from './elements/plan.ts'
import { Hdf5Group } from './group.ts'
import { locateRoot } from './locate.ts'
import { type FollowedFolder, OpenFile, type OtherFiles } from './open-file.ts'

/**
 * Limits of the resources that a file can request. Larger requests are rejected before anything is
 * allocated.
 */
export interface Hdf5Limits {
  /** Bytes of a chunk, stored and decoded. Default: 1 GiB. */
  readonly blockBytes?: number
  /** Elements that one operation may visit. Default: 2^40. */
  readonly elements?: number
}

/** Options of `openHdf5File`. Aborting `signal` cancels the opening. */
export interface OpenHdf5Options extends ScalarOptions, TypeOptions {
  /**
   * Folder of the files to which links, external raw data and virtual arrays are followed. Default: they are
   * not followed.
   */
  readonly external?: FollowedFolder | undefined
  /** Codecs of your own, by the registered names or numbers of filters. They take precedence. */
  readonly codecs?: readonly Codec[] | undefined
  /** Workers that decode and reduce, from `createPool`. Default: the calling thread does all work. */
  readonly pool?: WorkerPool | undefined
  /** Limit of the memory that reads take at once, shared by all that have this budget. */
  readonly budget?: MemoryBudget | undefined
  /** Cache of fetched and decoded blocks, shared with other files. */
  readonly cache?: BlockCache | undefined
  /**
   * Number of first bytes that are requested at once. Files with much metadata at their start open in fewer
   * requests if it is larger. Default: 128 KiB.
   */
  readonly headBytes?: number | undefined
  /** Limits of the resources that the file can request. */
  readonly limits?: Hdf5Limits | undefined
  /** Cancels the call when it is aborted. */
  readonly signal?: Signal | undefined
}

export const HDF5_CHECKS: Checks<OpenHdf5Options> = {
  ...SCALAR_CHECKS,
  codecs: 'list',
  pool: 'WorkerPool',
  budget: 'MemoryBudget',
  cache: 'BlockCache',
  headBytes: 'integer from 1',
  limits: 'object',
  signal: 'AbortSignal',
  external: 'object',
  references: ['paths'],
  opaque: ['bytes'],
}

/** Opens a file of a store, which it closes with the file, and after an error. */
export async function openHdf5File(
  { store, path }: StoredAt,
  options: OpenHdf5Options,
  start?: ObjectStart,
): Promise<{ root: Hdf5Group; file: OpenFile }> {
  try {
    const { limits = {}, cache: memory, codecs = [], external, ...shared } = options
    checkOptions('limits', limits, READ_LIMIT_CHECKS)
    codecsByName(codecs)
    return await within({ file: store.describe(path) }, async () => {
      const others = external && (await followed({ store, path }, external))
      const bounds = { ...READ_LIMITS, ...limits }
      const file = await OpenFile.open({ store, path }, { ...shared, memory, codecs }, bounds, start, others)
      return { file, root: await Hdf5Group.open(file, '', await locateRoot(file)) }
    })
  } catch (error) {
    await Promise.all([store.close?.(), options.external?.store.close?.()])
    throw error
  }
}

async function followed(place: StoredAt, root: FollowedFolder): Promise<OtherFiles> {
  return new (await import('./other-files.ts')).FilesInFolder(place, root)
}
