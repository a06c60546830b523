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
import type { ObjectTail, StoredAt } from '../../store/store.ts'
import type { TypeOptions } from './elements/plan.ts'
import { Hdf5Group } from './group.ts'
import { OpenFile } from './open-file.ts'

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

/** Options of `openHdf5`. Aborting `signal` cancels the opening. */
export interface OpenHdf5Options extends ScalarOptions, TypeOptions {
  /** Codecs of your own, by the registered names or numbers of filters. They take precedence. */
  readonly codecs?: readonly Codec[] | undefined
  /** Workers that decode and reduce, from `createPool`. Default: the calling thread does all work. */
  readonly pool?: WorkerPool | undefined
  /** Limit of the memory that reads take at once, shared by all that have this budget. */
  readonly budget?: MemoryBudget | undefined
  /** Cache of fetched and decoded blocks, shared with other files. */
  readonly cache?: BlockCache | undefined
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
  limits: 'object',
  signal: 'AbortSignal',
  references: ['paths'],
  opaque: ['bytes'],
}

/** Opens a file of a store, which it closes with the file, and after an error. */
export async function openHdf5File(
  { store, path }: StoredAt,
  options: OpenHdf5Options,
  start?: ObjectTail,
): Promise<{ root: Hdf5Group; file: OpenFile }> {
  try {
    const { limits = {}, cache: memory, codecs = [], ...shared } = options
    checkOptions('limits', limits, READ_LIMIT_CHECKS)
    codecsByName(codecs)
    return await within({ file: store.describe(path) }, async () => {
      const file = await OpenFile.open(store, path, { ...shared, memory, codecs }, { ...READ_LIMITS, ...limits }, start)
      const header = await file.objects.header(file.superblock.root)
      return { file, root: await Hdf5Group.open(file, '', { header, chain: [header.address], fields: [] }) }
    })
  } catch (error) {
    await store.close?.()
    throw error
  }
}
