import { HyperslabError, isHyperslabError, within } from '../../core/errors.ts'
import { wrongKey } from '../../core/foreign-key.ts'
import { METADATA_BYTES, parseJson } from '../../core/json.ts'
import { forEachLimited } from '../../core/limiter.ts'
import { member } from '../../core/member.ts'
import { asObject, badMetadata, isObject, type JsonObject, showJson, unsupported } from './document.ts'
import type { ZarrArrayMetadata } from './metadata.ts'
import { type ArrayDocument, hasElements, parseArray } from './parse-array.ts'
import { checkNotReplacing } from './replacing.ts'
import { checkMembers } from './v3.ts'

/** Source of metadata. Keys are relative to the opened location. */
export interface MetadataReader {
  /**
   * Returns a whole object; undefined if it does not exist.
   * @param maxBytes limit of its size: of a larger object, the reader may return only a part
   */
  get(key: string, maxBytes: number): Promise<Uint8Array | undefined>
  /**
   * Returns the keys that start with `prefix`: all of them, or only those in its own folder, with folders as
   * keys. Undefined if the location cannot be listed.
   */
  list?(prefix: string): Promise<readonly string[]>
}

/** Options for reading a hierarchy. */
export interface HierarchyOptions {
  /** Name of the location in errors. */
  readonly file: string
  /** Paths of arrays and groups, for locations that cannot be listed. */
  readonly names?: readonly string[] | undefined
  /** Whether to use consolidated metadata. If false, the metadata of each node are read. Default: true. */
  readonly consolidated?: boolean | undefined
  /** Maximum size of one metadata object in bytes. Default: 16 MiB. */
  readonly metadataBytes?: number | undefined
}

/** A group of arrays and groups. */
export interface DescribedGroup {
  readonly kind: 'group'
  readonly path: string
  readonly version: 2 | 3
  readonly attrs: JsonObject
  /** Array of structures whose fields are the nodes of the group. Groups of nodes omit it. */
  readonly structure?: UnparsedArray
}

export interface DescribedArray {
  readonly kind: 'array'
  readonly path: string
  readonly metadata: ZarrArrayMetadata
  /** Path of the structured array that stores it. Undefined unless it is a field. */
  readonly storedAt?: string
}

/** An array of complex numbers or structures. `structures.ts` parses it. */
export interface UnparsedArray {
  readonly kind: 'unparsed'
  readonly path: string
  readonly version: 2 | 3
  readonly stored: ArrayDocument
}

/** A node that exists but cannot be read, with the reason. */
export interface UnreadableNode {
  readonly kind: 'unreadable'
  readonly path: string
  /** Name, if it contains slashes. */
  readonly name?: string
  readonly error: HyperslabError
}

export type ZarrNode = DescribedGroup | DescribedArray

/** The existing metadata objects of one node, as JSON. */
interface NodeDocuments {
  v3?: unknown
  array?: unknown
  group?: unknown
  attributes?: unknown
}

const MAX_PATH_LENGTH = 4096
const MAX_BARE_GROUPS = 100_000
/** Number of nodes that are read at once. The store may allow fewer. */
const NODES_AT_ONCE = 64

const V2_OBJECTS = { '.zarray': 'array', '.zgroup': 'group', '.zattrs': 'attributes' } as const

/** Groups and arrays at and below a location, by path: `''` is the location itself. */
export class Hierarchy {
  readonly #reader: MetadataReader
  readonly #options: HierarchyOptions
  /** Metadata that were read from one object, such as consolidated metadata. */
  readonly #known = new Folder()
  /** Folder of the paths that the option `names` lists. Created on first use. */
  #named: Folder | undefined
  /** Version of the location, once it is known. */
  #version: 2 | 3 | undefined

  constructor(reader: MetadataReader, options: HierarchyOptions) {
    this.#reader = reader
    this.#options = options
  }

  /**
   * Returns the group or array at a path; undefined if there is none. At the location itself, both versions
   * are requested at the same time, and version 3 takes precedence.
   * @throws FormatError for names that lead out of the hierarchy and for invalid metadata; UnsupportedError
   *   for metadata that cannot be read here
   */
  async node(path: string): Promise<ZarrNode | UnparsedArray | undefined> {
    return within(this.#label(path), async () => {
      checkPath(path)
      const { documents: kept, isComplete } = this.#known.find(path)
      const documents = kept ?? (isComplete ? undefined : await this.#read(path))
      return documents && this.#parse(path, documents)
    })
  }

  /**
   * Returns the nodes in a group, in the order of their names. An unreadable node states the reason.
   * @throws UnsupportedError if the location cannot be listed and no names are known
   */
  async children(path: string): Promise<(ZarrNode | UnparsedArray | UnreadableNode)[]> {
    const nodes: (ZarrNode | UnparsedArray | UnreadableNode)[] = []
    const { names, isSure } = await within(this.#label(path), () => this.#names(path))
    await forEachLimited(names, NODES_AT_ONCE, async (name) => {
      const child = path === '' ? name : `${path}/${name}`
      const { documents } = this.#known.find(child)
      if (documents !== undefined) {
        nodes.push(this.#parseKnown(child, documents))
        return
      }
      try {
        const node = await this.node(child)
        if (node !== undefined) nodes.push(node)
        else if (isSure)
          throw new HyperslabError('UnknownArrayError', 'there is neither an array nor a group', this.#label(child))
      } catch (error) {
        if (!isHyperslabError(error) || error.tag === 'ClosedError') throw error
        // A file among the folders, with nothing below it.
        if (!isSure && error.tag === 'NotFoundError') return
        nodes.push({ kind: 'unreadable', path: child, error })
      }
    })
    return nodes.sort((a, b) => (a.path < b.path ? -1 : 1))
  }

  /** Stores no labelled errors, because there may be as many errors as entries. */
  #parseKnown(path: string, documents: NodeDocuments): ZarrNode | UnparsedArray | UnreadableNode {
    try {
      checkPath(path)
      return this.#parse(path, documents)
    } catch (error) {
      if (!isHyperslabError(error)) throw error
      return new KnownFailure(this, path)
    }
  }

  /** Parses the known metadata of a node again, and returns the resulting error. */
  failureOf(path: string): HyperslabError {
    try {
      checkPath(path)
      this.#parse(path, this.#known.find(path).documents ?? {})
    } catch (error) {
      if (!isHyperslabError(error)) throw error
      const failure = error.within(this.#label(path))
      // There may be as many errors as entries, and stacks take most of their memory.
      failure.stack = `${failure.name}: ${failure.message}`
      return failure
    }
    return new HyperslabError('FormatError', 'its metadata could not be read before', this.#label(path))
  }

  /** Whether the metadata of all nodes below a group are known. */
  isComplete(path: string): boolean {
    return this.#known.find(path).isComplete
  }

  /** Returns the names in a group. `isSure`: whether each name is certainly a node. */
  async #names(path: string): Promise<{ names: Set<string>; isSure: boolean }> {
    if (this.#options.names !== undefined) {
      this.#named ??= folderOf(this.#options.names)
      return { names: nodesAmong(this.#named.find(path).names), isSure: true }
    }
    const known = this.#known.find(path)
    if (known.isComplete) return { names: nodesAmong(known.names), isSure: true }
    if (this.#reader.list !== undefined) {
      const prefix = path === '' ? '' : `${path}/`
      const keys = await this.#reader.list(prefix)
      const below = keys.filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length).split('/', 1)[0]!)
      return { names: nodesAmong(below), isSure: false }
    }
    const text = 'the place cannot be listed, and the group has no consolidated metadata; `names` gives the paths of its arrays'
    throw new HyperslabError('UnsupportedError', text, { expected: 'names' })
  }

  async #read(path: string): Promise<NodeDocuments | undefined> {
    const isRoot = path === ''
    const get = (name: string): Promise<unknown> => this.#get(isRoot ? name : `${path}/${name}`)
    const mayBe = (version: 2 | 3): boolean => (this.#version ?? version) === version
    const isTogether = this.#options.consolidated !== false
    // Behind a server that lists nothing, each absent object is an error in the console of a page. There the
    // version is found first. Elsewhere all are requested at once, because a round trip costs more.
    const isInSteps = this.#version === undefined && this.#reader.list === undefined
    // There, a root and a path above the given names are usually groups, so `.zarray` is requested last.
    const isGroupFirst = this.#reader.list === undefined && (isRoot ? isInSteps : this.#isAboveNames(path))
    let group: Promise<unknown> | undefined
    const arrayAfterGroup = async (consolidated: Promise<unknown> | undefined): Promise<unknown> => {
      if ((await consolidated) !== undefined) return undefined
      group = get('.zgroup')
      return (await group) === undefined ? get('.zarray') : undefined
    }
    const askOlder = (): Promise<unknown>[] => {
      if (!mayBe(2)) return []
      const consolidated = isRoot && isTogether ? get('.zmetadata') : undefined
      return [isGroupFirst ? arrayAfterGroup(consolidated) : get('.zarray'), consolidated ?? get('.zattrs')]
    }
    let older = isInSteps ? [] : askOlder()
    // If version 3 exists, failures of the others do not matter.
    for (const request of older) request.catch(() => undefined)
    const v3 = mayBe(3) ? await get('zarr.json') : undefined
    checkNotReplacing(v3)
    if (v3 !== undefined) {
      if (isRoot) this.#version = 3
      if (isTogether) this.#keepInline(path, v3)
      return { v3 }
    }
    if (isInSteps) older = askOlder()
    // Version 2 compresses by Blosc by default. Loading it during these requests saves a round trip.
    if (older.length > 0) import('../../codec/blosc.ts').catch(() => undefined)
    const [array, second] = await Promise.all(older)
    if (isRoot && isTogether && second !== undefined && array === undefined) {
      this.#version = 2
      this.#keepConsolidated(second)
      return this.#known.documents
    }
    if (!mayBe(2)) return undefined
    const [attributes, found] = await Promise.all([
      isRoot && isTogether ? get('.zattrs') : second,
      array === undefined ? (group ?? get('.zgroup')) : undefined,
    ])
    if (array === undefined && found === undefined) return undefined
    if (isRoot) this.#version = 2
    return { array, group: found, attributes }
  }

  /** Whether the option `names` lists a path below this one. */
  #isAboveNames(path: string): boolean {
    if (this.#options.names === undefined) return false
    this.#named ??= folderOf(this.#options.names)
    const [name] = this.#named.find(path).names
    return name !== undefined
  }

  async #get(key: string): Promise<unknown> {
    const { metadataBytes = METADATA_BYTES } = this.#options
    const bytes = await this.#reader.get(key, metadataBytes)
    if (bytes === undefined) return undefined
    if (bytes.length > metadataBytes) throw metadataTooLarge(key, bytes.length, metadataBytes)
    return parseJson(bytes, key, { maxBytes: metadataBytes, limit: 'limits.metadataBytes' })
  }

  /** Stores the content of `.zmetadata`: the objects of all nodes by their keys. */
  #keepConsolidated(value: unknown): void {
    const members = asObject(value, '.zmetadata')
    if (member(members, 'record_size') !== undefined)
      unsupported('references in Parquet files cannot be read; write them as JSON')
    const objects = asObject(member(members, 'metadata'), 'metadata of .zmetadata')
    const byPath = new Map<string, NodeDocuments>()
    for (const [key, content] of Object.entries(objects)) {
      const name = key.slice(key.lastIndexOf('/') + 1)
      if (!Object.hasOwn(V2_OBJECTS, name)) continue
      const path = parentPath(key)
      const documents = byPath.get(path) ?? {}
      documents[V2_OBJECTS[name as keyof typeof V2_OBJECTS]] = content
      byPath.set(path, documents)
    }
    // Groups that contain others may have no object of their own.
    this.#keep('', byPath, '.zmetadata', (folder) => {
      folder.documents ??= {}
    })
    this.#known.documents ??= {}
    this.#known.isComplete = true
  }

  /**
   * Stores the documents of nodes below a path.
   * @param bare called for each group without a document of its own
   */
  #keep(path: string, byPath: ReadonlyMap<string, NodeDocuments>, what: string, bare: (folder: Folder) => void): void {
    let most = byPath.size + MAX_BARE_GROUPS
    const grow = (folder: Folder): void => {
      if (most-- === 0) badMetadata(`${what} has more than ${MAX_BARE_GROUPS} groups without metadata`)
      bare(folder)
    }
    const root = this.#known.at(path)
    // A path that is too long is stored under its first name. Opening that name throws the error.
    for (const [name, documents] of byPath)
      if (name.length > MAX_PATH_LENGTH) root.at(name.split('/', 1)[0]!)
      else root.at(name, grow).documents = documents
  }

  /** Stores the metadata of all nodes below that the `zarr.json` of a group contains. */
  #keepInline(path: string, value: unknown): void {
    const inline = isObject(value) ? member(value, 'consolidated_metadata') : undefined
    if (!isObject(inline) || member(inline, 'kind') !== 'inline' || member(value as JsonObject, 'node_type') !== 'group') return
    const nodes = asObject(member(inline, 'metadata'), 'metadata of consolidated_metadata')
    const byPath = new Map(Object.entries(nodes).map(([name, v3]) => [name, { v3 }]))
    this.#keep(path, byPath, 'consolidated_metadata', () => undefined)
    const folder = this.#known.at(path)
    folder.documents = { v3: value }
    folder.isComplete = true
  }

  #parse(path: string, { v3, array, group, attributes }: NodeDocuments): ZarrNode | UnparsedArray {
    if (v3 !== undefined) {
      const members = asObject(v3, 'the metadata')
      if (member(members, 'node_type') !== 'group') return this.#array(path, { version: 3, metadata: v3 })
      const format = member(members, 'zarr_format')
      if (format !== 3) badMetadata(`zarr_format must be 3, got ${showJson(format)}`, format)
      checkMembers(members, ['zarr_format', 'node_type', 'attributes', 'consolidated_metadata'])
      return { kind: 'group', path, version: 3, attrs: asObject(member(members, 'attributes') ?? {}, 'attributes') }
    }
    if (array !== undefined) return this.#array(path, { version: 2, metadata: array, attributes })
    const format = group === undefined ? 2 : member(asObject(group, '.zgroup'), 'zarr_format')
    if (format !== 2) badMetadata(`zarr_format must be 2, got ${showJson(format)}`, format)
    return { kind: 'group', path, version: 2, attrs: asObject(attributes ?? {}, 'the attributes') }
  }

  #array(path: string, stored: ArrayDocument): DescribedArray | UnparsedArray {
    if (hasElements(stored)) return { kind: 'unparsed', path, version: stored.version, stored }
    return { kind: 'array', path, metadata: parseArray(stored, this.#label(path)) }
  }

  #label(path: string): { file: string; array?: string } {
    const { file } = this.#options
    return path === '' ? { file } : { file, array: path }
  }
}

/**
 * A node whose known metadata cannot be read. Its error is made when a caller asks for it, because errors
 * take many times the memory of the metadata.
 */
class KnownFailure implements UnreadableNode {
  readonly path: string
  readonly #hierarchy: Hierarchy

  constructor(hierarchy: Hierarchy, path: string) {
    this.#hierarchy = hierarchy
    this.path = path
  }

  get kind(): 'unreadable' {
    return 'unreadable'
  }

  get error(): HyperslabError {
    return this.#hierarchy.failureOf(this.path)
  }
}

/** Known metadata of a path and of the paths below it. */
class Folder {
  documents: NodeDocuments | undefined
  /** Whether the documents of all nodes below are known. */
  isComplete = false
  #folders: Map<string, Folder> | undefined

  get names(): Iterable<string> {
    return this.#folders?.keys() ?? []
  }

  /** Returns the folder at a path below, and creates it if it does not exist. */
  at(path: string, grow?: (folder: Folder) => void): Folder {
    let folder: Folder = this
    for (const name of splitPath(path)) {
      folder.#folders ??= new Map()
      let next = folder.#folders.get(name)
      if (next === undefined) {
        next = new Folder()
        folder.#folders.set(name, next)
        grow?.(next)
      }
      folder = next
    }
    return folder
  }

  /** Returns the known metadata of a path below. Below a complete folder, all metadata are known. */
  find(path: string): Pick<Folder, 'documents' | 'isComplete' | 'names'> {
    let folder: Folder = this
    let { isComplete } = folder
    for (const name of splitPath(path)) {
      const next = folder.#folders?.get(name)
      if (next === undefined) return { documents: undefined, isComplete, names: [] }
      folder = next
      isComplete ||= folder.isComplete
    }
    return { documents: folder.documents, isComplete, names: folder.names }
  }
}

const splitPath = (path: string): string[] => (path === '' ? [] : path.split('/'))

function folderOf(paths: Iterable<string>): Folder {
  const root = new Folder()
  for (const path of paths) root.at(path.length > MAX_PATH_LENGTH ? path.split('/', 1)[0]! : path)
  return root
}

/** Returns the names that can be nodes: not empty, and not the name of a metadata object. */
const nodesAmong = (names: Iterable<string>): Set<string> =>
  new Set([...names].filter((name) => name !== '' && name !== 'zarr.json' && !/^\.z(array|group|attrs|metadata)$/.test(name)))

/** Returns the groups that contain a path, the outermost first, without the root. */
export const groupsAbove = (path: string): string[] =>
  path
    .split('/')
    .slice(0, -1)
    .map((_, i, names) => names.slice(0, i + 1).join('/'))

export const parentPath = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')))

/** Returns a TooLargeError, which names the option that allows more. */
function metadataTooLarge(key: string, actual: number, expected: number): HyperslabError {
  const text = `${key} has ${actual} bytes; metadata of up to ${expected} are read`
  return new HyperslabError('TooLargeError', text, { actual, expected, limit: 'limits.metadataBytes' })
}

/**
 * Checks that a path consists of names between slashes, because others could lead out of the hierarchy.
 * @throws FormatError, unless `refuse` throws another error
 */
export function checkPath(path: string, refuse: (text: string, actual: unknown) => never = badMetadata): void {
  if (path === '') return
  if (path.length > MAX_PATH_LENGTH) refuse(`a path of ${path.length} characters is longer than ${MAX_PATH_LENGTH}`, path.length)
  const wrong = wrongKey(path)
  if (wrong !== undefined) refuse(`${showJson(path)} is not a path of names: ${wrong}`, path)
}
