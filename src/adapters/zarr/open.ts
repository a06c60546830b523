import { SCALAR_CHECKS, type ScalarOptions } from '../../array/source.ts'
import type { Codec } from '../../codec/codec.ts'
import { codecsByName } from '../../codec/registry.ts'
import { HyperslabError, within } from '../../core/errors.ts'
import { joinForeignKey } from '../../core/foreign-key.ts'
import type { MemoryBudget } from '../../core/memory-budget.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import type { Signal } from '../../core/signal.ts'
import { withoutEndings } from '../../core/text.ts'
import type { BlockCache } from '../../engine/block-cache.ts'
import { READ_LIMIT_CHECKS, READ_LIMITS } from '../../engine/limits.ts'
import type { WorkerPool } from '../../pool/task.ts'
import type { Store } from '../../store/store.ts'
import { readWhole } from '../../store/whole.ts'
import { type ZarrArray, ZarrGroup, ZarrStore } from './group.ts'
import type { MetadataReader } from './hierarchy.ts'
import { OpenedStore } from './opened.ts'

/**
 * Limits of the resources that a store can request. Larger requests are rejected before anything is
 * allocated.
 */
export interface ZarrLimits {
  /** Bytes of one metadata object. Default: 64 MiB. Parsed metadata take about ten times as much. */
  readonly metadataBytes?: number
  /**
   * Bytes of a chunk (stored, decoded, and between two codecs) and of the index of a shard. Default: 1 GiB.
   */
  readonly blockBytes?: number
  /** Elements that one operation may visit. Default: 2^40. */
  readonly elements?: number
}

/** Options of `openZarr`. Aborting `signal` cancels the opening. */
export interface OpenZarrOptions extends ScalarOptions {
  /**
   * `'r'` to read, `'r+'` to change arrays and groups. Default: `'r'`. Several writers may change elements of
   * one array if the store replaces objects on condition of their version; otherwise only one writer is safe.
   */
  readonly mode?: 'r' | 'r+' | undefined
  /** Required kind of the node. Default: either. */
  readonly kind?: 'array' | 'group' | undefined
  /** Paths of arrays and groups, for stores that cannot list and have no consolidated metadata. */
  readonly names?: readonly string[] | undefined
  /** Whether to use consolidated metadata. If false, the metadata of each node are read. Default: true. */
  readonly consolidated?: boolean | undefined
  /** Codecs of your own, by their names in the metadata. They take precedence over those of the package. */
  readonly codecs?: readonly Codec[] | undefined
  /** Workers that decode and reduce, from `createPool`. Default: the calling thread does all work. */
  readonly pool?: WorkerPool | undefined
  /** Limit of the memory that reads take at once, shared by all that have this budget. */
  readonly budget?: MemoryBudget | undefined
  /** Cache of fetched and decoded blocks, shared with other files. */
  readonly cache?: BlockCache | undefined
  /** Limits of the resources that the store can request. */
  readonly limits?: ZarrLimits | undefined
  /** Cancels the call when it is aborted. */
  readonly signal?: Signal | undefined
}

export const ZARR_CHECKS: Checks<OpenZarrOptions> = {
  ...SCALAR_CHECKS,
  mode: ['r', 'r+'],
  kind: ['array', 'group'],
  names: 'list of strings',
  consolidated: 'boolean',
  codecs: 'list',
  pool: 'WorkerPool',
  budget: 'MemoryBudget',
  cache: 'BlockCache',
  limits: 'object',
  signal: 'AbortSignal',
}

export const ZARR_LIMIT_CHECKS: Checks<ZarrLimits> = { ...READ_LIMIT_CHECKS, metadataBytes: 'integer from 0' }

/**
 * Opens the node at a path in a store: a group or an array.
 * @param path '' for the root of the store
 */
export async function openNode(store: Store, path: string, options: OpenZarrOptions = {}): Promise<ZarrGroup | ZarrArray> {
  const { mode = 'r', limits = {}, codecs = [], cache: memory, kind, names, consolidated, signal } = options
  checkOpening(options)
  signal?.throwIfAborted()
  const { metadataBytes, blockBytes = READ_LIMITS.blockBytes, elements = READ_LIMITS.elements } = limits
  const isWritable = mode === 'r+'
  const root = rootPath(path)
  const own = { ...options, codecs, memory, blockBytes, elements, metadataBytes, isWritable, root }
  const opened = new OpenedStore(store, own)
  const file = store.describe(root)
  const reader = createReader(opened, root, signal)
  const hierarchy = new ZarrStore(opened, root, reader, { file, names, consolidated, metadataBytes })
  return within({ file }, async () => {
    if (mode === 'r+') await opened.objects()
    const node = await hierarchy.node('')
    if (kind !== undefined && node.kind !== kind) {
      const text = `the place holds ${node.kind === 'array' ? 'an array' : 'a group'}`
      throw new HyperslabError('InvalidArgumentError', text, { actual: node.kind, expected: kind })
    }
    return node.kind === 'array' ? hierarchy.array(node) : new ZarrGroup(hierarchy, node)
  })
}

/** @throws InvalidArgumentError for invalid limits and codecs */
export function checkOpening({ limits, codecs = [] }: Pick<OpenZarrOptions, 'limits' | 'codecs'>): void {
  checkOptions('limits', limits, ZARR_LIMIT_CHECKS)
  codecsByName(codecs)
}

/** Returns the prefix of all keys of a location, without trailing slashes. */
export const rootPath = (path: string): string => withoutEndings(path, '/')

/**
 * Reads metadata below a root. The first object that is read becomes the known object, which confirms
 * absences.
 */
export function createReader(
  { store, absences }: Pick<OpenedStore, 'store' | 'absences'>,
  root: string,
  signal: Signal | undefined,
): MetadataReader {
  const prefix = root === '' ? '' : `${root}/`
  return {
    get: async (name, maxBytes) => {
      const key = joinForeignKey(root, name, store)
      const found = await readWhole(store, key, { maxBytes, signal, onUnproved: absences.onUnproved })
      if (found !== undefined) absences.known(key, found)
      return found?.bytes
    },
    ...(store.list && {
      list: async (keys) => (await store.list!(prefix + keys, { signal, shallow: true })).map((key) => key.slice(prefix.length)),
    }),
  }
}
