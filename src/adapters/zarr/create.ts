import { within } from '../../core/errors.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import type { Signal } from '../../core/signal.ts'
import { READ_LIMITS } from '../../engine/limits.ts'
import { Absences } from '../../store/absences.ts'
import type { Store } from '../../store/store.ts'
import type { JsonObject } from './document.ts'
import { parseStored } from './elements.ts'
import { type ZarrArray, type ZarrGroup, ZarrStore } from './group.ts'
import { checkOpening, createReader, type OpenZarrOptions, openNode, rootPath, ZARR_CHECKS } from './open.ts'
import { OpenedStore } from './opened.ts'
import { type NewZarrArray, type NewZarrGroup, newArray, newGroup, type ZarrDType } from './write/new-array.ts'
import { NodeWriter } from './write/nodes.ts'
import { ObjectWriter } from './write/object-writer.ts'

/** Options of `createZarr`: the content of the group, and how it is opened. */
export interface CreateZarrOptions extends NewZarrGroup, Omit<OpenZarrOptions, 'mode' | 'kind' | 'names'> {
  /** Whether to replace an existing Zarr array or group with all its content. */
  readonly overwrite?: boolean | undefined
}

const { mode: _mode, kind: _kind, names: _names, ...OPEN } = ZARR_CHECKS
const CHECKS: Checks<CreateZarrOptions> = { ...OPEN, attributes: 'object', overwrite: 'boolean' }

/**
 * Returns a writer of the metadata of nodes, for a store that is not open.
 * @throws ReadOnlyError
 */
export function newNodes(store: Store, root: string, signal?: Signal): NodeWriter {
  const absences = new Absences(store)
  const objects = new ObjectWriter(store, root, absences, () => undefined)
  const reader = createReader({ store, absences }, root, signal)
  return new NodeWriter({ store, objects, reader, root, file: store.describe(root), isRootLast: true })
}

/**
 * Creates a group of version 3, and opens it for writing.
 * @param replace writes the group in place of the existing store
 * @throws AlreadyExistsError; ReadOnlyError; InvalidArgumentError; errors of `replace`
 */
export async function createNode(
  store: Store,
  path: string,
  options: CreateZarrOptions,
  replace: (root: string, write: (root: string) => Promise<void>) => Promise<void>,
): Promise<ZarrGroup> {
  checkOptions('createZarr', options, CHECKS)
  checkOpening(options)
  const { overwrite = false, attributes, ...opening } = options
  const root = rootPath(path)
  const file = store.describe(root)
  await within({ file }, async () => {
    const content = newGroup('createZarr', { attributes })
    const write = (at: string): Promise<void> => newNodes(store, at, options.signal).createRoot(content)
    await (overwrite ? replace(root, write) : write(root))
  })
  return (await openNode(store, path, { ...opening, mode: 'r+', kind: 'group' })) as ZarrGroup
}

/** An array without published metadata, which other readers cannot see. */
export interface UnpublishedArray extends ZarrArray {
  /** Content of its future `zarr.json`. */
  readonly content: JsonObject
}

/** Options of an array that is written before its metadata. */
export interface HiddenOptions {
  /** Separator of the numbers in chunk names. `/` makes folders. Default: `/`. */
  readonly separator?: '.' | '/'
  /** Decoded bytes of objects that are written at the same time. Default: 256 MiB. */
  readonly writeBytes?: number | undefined
}

/**
 * Returns an array whose chunks can be written, without writing its metadata.
 * @param path of the array below the root; '' for the root itself
 */
export async function unpublishedArray(
  store: Store,
  root: string,
  path: string,
  array: NewZarrArray<ZarrDType>,
  { separator = '/', writeBytes }: HiddenOptions,
): Promise<UnpublishedArray> {
  const made = (await newArray(array, [])).content
  const content = { ...made, chunk_key_encoding: { name: 'default', configuration: { separator } } }
  const opened = new OpenedStore(store, { codecs: [], ...READ_LIMITS, writeBytes, isWritable: true, root })
  const zarr = new ZarrStore(opened, root, createReader(opened, root, undefined), { file: store.describe(root) })
  const hidden = await zarr.array({ path, metadata: parseStored({ version: 3, metadata: content }, {}) })
  hidden.index.writeEmptyChunks = array.writeEmptyChunks ?? false
  hidden.index.isHidden = true
  return Object.assign(hidden, { content })
}
