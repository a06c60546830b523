import { HyperslabError, isHyperslabError } from '../../../core/errors.ts'
import { wrongKey } from '../../../core/foreign-key.ts'
import { METADATA_BYTES, parseJson } from '../../../core/json.ts'
import { forEachLimited } from '../../../core/limiter.ts'
import { member } from '../../../core/member.ts'
import { Absences } from '../../../store/absences.ts'
import type { Store } from '../../../store/store.ts'
import { unconfined } from '../../../store/unconfined.ts'
import { readWhole } from '../../../store/whole.ts'
import { isObject } from '../document.ts'
import { Consolidated, type DocumentsReader } from './consolidated.ts'
import { isOwnName } from './node-names.ts'
import { ObjectWriter } from './object-writer.ts'

/** Maximum number of folders above a place that are looked at. */
const MOST_FOLDERS = 256
/** Number of folders looked at concurrently. */
const AT_ONCE = 8

/** A folder above a place. */
interface FolderAbove {
  /** Prefix of the keys in the folder. */
  readonly prefix: string
  /** Path of the place relative to the folder. */
  readonly name: string
}

/** A group above a place. */
interface GroupAbove {
  readonly consolidated: Consolidated
  /** Path of the place relative to the group. */
  readonly name: string
  /** Versions of the metadata that the group has. */
  readonly versions: readonly (2 | 3)[]
}

/** Place whose folders above are looked at. */
export interface PlaceBelow {
  readonly store: Store
  /** Key of the place, without a trailing slash; '' for the root of the store. */
  readonly root: string
  /** Maximum size of one metadata object in bytes. */
  readonly metadataBytes?: number | undefined
}

/**
 * Zarr groups above a place. A node at the place is also a node of these groups, so their consolidated
 * metadata describe it. They are found once, from the key of the place and, in stores that have links, from
 * the path that the key leads to. Folders that the credentials may not read do not count, because no reader
 * with these credentials opens them.
 */
export class GroupsAbove {
  readonly #store: Store
  readonly #groups: readonly GroupAbove[]
  readonly #array: string | undefined

  private constructor(store: Store, groups: readonly GroupAbove[], array: string | undefined) {
    this.#store = store
    this.#groups = groups
    this.#array = array
  }

  /** @throws errors of the store */
  static async find({ store: given, root, metadataBytes = METADATA_BYTES }: PlaceBelow): Promise<GroupsAbove> {
    const store = unconfined(given)
    const objects = new ObjectWriter(store, '', new Absences(store), () => undefined)
    const groups: GroupAbove[] = []
    const arrays: string[] = []
    await forEachLimited(await foldersAbove(store, root), AT_ONCE, async ({ prefix, name }) => {
      const { isArray, versions } = await nodeAt(store, prefix, metadataBytes)
      if (isArray) arrays.push(prefix)
      else if (versions.length > 0)
        groups.push({ consolidated: new Consolidated(objects, prefix, metadataBytes), name, versions })
    })
    return new GroupsAbove(store, groups, arrays[0])
  }

  /**
   * Checks that a node of a version can lie at the place.
   * @throws InvalidArgumentError for a place in an array; UnsupportedError if a group above has consolidated
   *   metadata of the other version, which cannot describe the node
   */
  async check(version: 2 | 3, file: string): Promise<void> {
    const array = this.#arrayFile
    if (array !== undefined) {
      const text = `the place lies in '${array}', which is an array, and an array contains no other nodes: write to another place`
      throw new HyperslabError('InvalidArgumentError', text, { file, actual: array })
    }
    for (const { consolidated } of this.#groups) {
      const found = await consolidated.version()
      if (found === undefined || found === version) continue
      const text = `the group '${consolidated.file(this.#store)}' has consolidated metadata of Zarr version ${found}, which cannot describe a node of version ${version}: write to a place outside of it`
      throw new HyperslabError('UnsupportedError', text, { file, actual: version, expected: found })
    }
  }

  /**
   * Checks that a file that is no part of a store can lie at the place.
   * @throws InvalidArgumentError for a place in an array or a group
   */
  checkFile(file: string): void {
    const node = this.#arrayFile ?? this.#groups[0]?.consolidated.file(this.#store)
    if (node === undefined) return
    const text = `the place lies in '${node}', which is a Zarr store or a part of one, and holds no other files: write to a place outside of it`
    throw new HyperslabError('InvalidArgumentError', text, { file, actual: node })
  }

  /** Name in messages of an array above the place. */
  get #arrayFile(): string | undefined {
    return this.#array && this.#store.describe(this.#array.replace(/(?<=.)\/$/, ''))
  }

  /** Whether any group has consolidated metadata. */
  async isConsolidated(): Promise<boolean> {
    for (const { consolidated } of this.#groups) if ((await consolidated.version()) !== undefined) return true
    return false
  }

  /**
   * Replaces members of all consolidated metadata.
   * @param path of the node, relative to the place
   * @param isTree whether the members below the node are replaced, too
   */
  async replace(path: string, members: DocumentsReader, isTree: boolean): Promise<void> {
    for (const { consolidated, name, versions } of this.#groups)
      await consolidated.replace(versions, path === '' ? name : `${name}/${path}`, members, isTree)
  }
}

/** Returns the node at a folder: the versions that it has as a group. */
async function nodeAt(store: Store, prefix: string, maxBytes: number): Promise<{ isArray: boolean; versions: (2 | 3)[] }> {
  const isThere = async (name: string): Promise<boolean> => (await seen(store.stat(prefix + name, UNPROVED))) !== undefined
  const [v3, array, group, consolidated] = await Promise.all([
    seen(readWhole(store, `${prefix}zarr.json`, { maxBytes, ...UNPROVED })),
    ...['.zarray', '.zgroup', '.zmetadata'].map(isThere),
  ])
  const type = v3 && nodeTypeIn(v3.bytes, maxBytes)
  const isOlder = type === undefined ? group || consolidated : consolidated
  return {
    isArray: type === 'array' || (type === undefined && array!),
    versions: [...(type === undefined ? [] : [3 as const]), ...(isOlder ? [2 as const] : [])],
  }
}

/** Reads that accept absences that are not proved, because the folder may belong to another user. */
const UNPROVED = { onUnproved: () => undefined }

function nodeTypeIn(bytes: Uint8Array, maxBytes: number): unknown {
  try {
    const metadata = parseJson(bytes, 'zarr.json', { maxBytes, exact: false })
    return isObject(metadata) ? member(metadata, 'node_type') : undefined
  } catch {
    // A file of this name that is no metadata.
    return undefined
  }
}

/** Treats objects that may not be read as absent. */
async function seen<T>(looking: Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await looking
  } catch (error) {
    if (isRefused(error)) return undefined
    throw error
  }
}

/** Whether a store refused to read a key: by its rights, or because it is no key of the store. */
function isRefused(error: unknown): boolean {
  if (isHyperslabError(error, 'NotFoundError', 'FormatError', 'InvalidArgumentError', 'UnsupportedError')) return true
  if (!isHyperslabError(error, 'StoreError')) return false
  const { actual, cause } = error.details
  return actual === 401 || actual === 403 || ['EACCES', 'EPERM'].includes(String((Object(cause) as { code?: unknown }).code))
}

/**
 * Returns the folders above a place, without the place itself. In stores that have links, all links on the
 * path are followed, and folders above the working directory are included.
 */
async function foldersAbove(store: Store, root: string): Promise<FolderAbove[]> {
  const found = new Map<string, FolderAbove>()
  const visited = new Set<string>()
  const queue: { readonly path: string; readonly name: string }[] = [{ path: root, name: '' }]
  for (let next = queue.pop(); next !== undefined && visited.size < MOST_FOLDERS; next = queue.pop()) {
    const { path, name } = next
    if (visited.has(`${path}\0${name}`)) continue
    visited.add(`${path}\0${name}`)
    const real = await resolvePath(store, path)
    if (real !== path) queue.push({ path: real, name })
    else if (name !== '') found.set(`${path}\0${name}`, { prefix: path === '' || path.endsWith('/') ? path : `${path}/`, name })
    const above = parentPath(path)
    if (above === undefined) continue
    const own = path.slice(path.lastIndexOf('/') + 1)
    queue.push({ path: above, name: name === '' ? own : `${own}/${name}` })
  }
  return [...found.values()].filter(({ name }) => !isOwnName(name) && wrongKey(name) === undefined)
}

async function resolvePath(store: Store, path: string): Promise<string> {
  if (store.files === undefined) return path
  const real = await seen(store.files.realPath(path || '.'))
  return real === undefined ? path : store.files.windowsNames ? real.replaceAll('\\', '/') : real
}

/** Returns the folder that contains a path by its name; undefined for roots and names that lead elsewhere. */
function parentPath(path: string): string | undefined {
  const end = path.lastIndexOf('/')
  const own = path.slice(end + 1)
  if (own === '' || own === '.' || own === '..' || /^[a-z]:$/i.test(own)) return undefined
  return end === 0 ? '/' : path.slice(0, Math.max(0, end))
}
