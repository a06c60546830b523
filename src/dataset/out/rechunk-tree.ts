import type { Progress } from '../../array/transfers.ts'
import { copy } from '../../copy/copy.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import type { Signal } from '../../core/signal.ts'
import type { Location } from '../../tree/location.ts'
import { FOLDER_TO_WRITE } from '../../tree/written-formats.ts'
import type { LabelledTree } from '../tree/labelled-tree.ts'
import { chosenContents, contentsAsStored } from './stored-tree.ts'

/** Options of `rechunkTree`. */
export interface RechunkTreeOptions {
  /** Lengths of chunks along dimensions, by name. Default: those of the source. */
  readonly chunks?: Readonly<Record<string, number>>
  /** Lengths of shards along dimensions, multiples of those of chunks. Default: one chunk. */
  readonly shards?: Readonly<Record<string, number>>
  /** Codec of chunks: `zstd` (default), `gzip`, `zlib`, `lz4`, `blosc` or `none`. */
  readonly codec?: string
  /** Compression level of the codec. */
  readonly level?: number
  /** Names of the arrays. Default: all. */
  readonly variables?: readonly string[]
  /** Whether to replace an existing store, after the new one was written beside it. Default: false. */
  readonly overwrite?: boolean
  /** Bytes of elements held in memory at a time, unless a shard is larger. */
  readonly maxBytes?: number
  /** Other places that are read meanwhile, which the target must not contain. */
  readonly sources?: readonly Location[]
  /** Command that completes an interrupted write, for errors. */
  readonly command?: string
  /** Function that is called with a message about each array that is left out. */
  readonly onWarning?: (text: string) => void
  /** Cancels the call when it is aborted. */
  readonly signal?: Signal
  /** Receives the progress after each step. */
  readonly onProgress?: (progress: Progress) => void
}

const CHECKS: Checks<RechunkTreeOptions> = {
  chunks: 'plain object',
  shards: 'plain object',
  codec: 'string',
  level: 'integer',
  variables: 'list of strings',
  overwrite: 'boolean',
  maxBytes: 'integer from 1',
  sources: 'list',
  command: 'string',
  onWarning: 'function',
  signal: 'AbortSignal',
  onProgress: 'function',
}

/** Result of `rechunkTree`. */
export interface RechunkedTree {
  /** Names of the arrays. */
  readonly arrays: readonly string[]
  /** Whether the target was complete already. */
  readonly unchanged: boolean
}

/**
 * Copies arrays of a tree into a Zarr store as they are stored, with other chunks, in bounded memory. After
 * an error the written objects stay, and the same call resumes the copy.
 * @throws AlreadyExistsError unless `overwrite` is set; UnknownArrayError for unknown variables;
 *   InvalidArgumentError for other invalid options; ReadOnlyError; ConflictError if the source is replaced
 *   meanwhile
 * @example
 * await using labelled = new LabelledTree(await openTree('climate.af'))
 * const place = { store: new MemoryStore(), path: 'series.zarr' }
 * const { arrays } = await rechunkTree(labelled, place, { chunks: { time: 12, lat: 1 } })
 * console.log(arrays) // [ 'tas' ]
 */
export async function rechunkTree(tree: LabelledTree, target: Location, options: RechunkTreeOptions): Promise<RechunkedTree> {
  checkOptions('rechunkTree', options, CHECKS)
  const { variables, onWarning, ...writing } = options
  const contents = await chosenContents(tree, variables, onWarning)
  const resume = await tree.version(contents)
  const format = FOLDER_TO_WRITE
  const { unchanged = false } = await copy('rechunkTree', contentsAsStored(contents), target, { ...writing, resume, format })
  return { arrays: contents.arrays.map(({ name }) => name), unchanged }
}
