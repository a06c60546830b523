import { HyperslabError, isHyperslabError, within } from '../../../core/errors.ts'
import { joinForeignKey } from '../../../core/foreign-key.ts'
import { METADATA_BYTES, parseJson } from '../../../core/json.ts'
import { forEachLimited, Lock } from '../../../core/limiter.ts'
import type { Signal } from '../../../core/signal.ts'
import { checkUnlinked, type TestedFolders } from '../../../store/links.ts'
import type { Store } from '../../../store/store.ts'
import { statToWrite } from '../../../store/unproved.ts'
import { asObject, type JsonObject } from '../document.ts'
import { groupsAbove, Hierarchy, type MetadataReader } from '../hierarchy.ts'
import { METADATA } from '../metadata-names.ts'
import { GroupsAbove } from './above.ts'
import { CLAIM_NAME, Claim, isMarked, newMark } from './claim.ts'
import { Consolidated, type DocumentsReader, NODE_DOCUMENTS_V2 } from './consolidated.ts'
import { encodeDocument, groupDocument } from './document.ts'
import { isFolderMark, membership, surveyMembers } from './members.ts'
import { checkNodeName, NODE_DOCUMENTS } from './node-names.ts'
import type { ChangeOptions, ObjectWriter } from './object-writer.ts'

/** A place of a store where nodes are written, with its writer and reader. */
export interface NodePlace {
  readonly store: Store
  readonly objects: ObjectWriter
  readonly reader: MetadataReader
  /** The opened location; '' for the root of the store. */
  readonly root: string
  /** Name of the location in errors. */
  readonly file: string
  /** Maximum size of one metadata object in bytes. */
  readonly metadataBytes?: number | undefined
  /** Whether the root is created after the nodes below it. Groups above the root describe it from then on. */
  readonly isRootLast?: boolean
}

/** Number of objects that are removed at the same time. */
const AT_ONCE = 16

/**
 * Writes the metadata of nodes. Keeps the consolidated metadata of all groups above in step, also of those
 * above the opened location. Paths are relative to that location.
 */
export class NodeWriter {
  readonly #place: NodePlace
  readonly #locks = new Map<string, Lock>()
  #above: Promise<GroupsAbove> | undefined

  constructor(place: NodePlace) {
    this.#place = place
  }

  /** Runs work on a node exclusively, among the work of this writer. */
  alone<T>(path: string, work: () => Promise<T>): Promise<T> {
    const lock = this.#locks.get(path) ?? new Lock()
    this.#locks.set(path, lock)
    return lock.run(work)
  }

  /** Returns the node at a path, from its own metadata. */
  node(path: string): ReturnType<Hierarchy['node']> {
    return this.#hierarchy().node(path)
  }

  /**
   * Creates the group at the location itself.
   * @throws AlreadyExistsError if a node exists there; InvalidArgumentError for a place in an array;
   *   UnsupportedError for a place in a group whose consolidated metadata cannot describe it
   */
  async createRoot(content: JsonObject): Promise<void> {
    const { store, file } = this.#place
    await this.checkPlace(3)
    const found = await Promise.all(NODE_DOCUMENTS.map((name) => statToWrite(store, this.#at(name))))
    if (found.some((info) => info !== undefined))
      throw new HyperslabError('AlreadyExistsError', 'there is a Zarr array or group already', { file })
    // The place may still be described as it was before it was removed.
    await this.follow()
    await this.#create('', content)
    await this.follow()
  }

  /**
   * Checks that the root can lie where it is.
   * @param version of its metadata
   * @throws errors of {@link GroupsAbove.check}
   */
  async checkPlace(version: 2 | 3): Promise<void> {
    await (await this.#groupsAbove()).check(version, this.#place.file)
  }

  /**
   * Makes the consolidated metadata of groups above the location describe all its nodes as they are now.
   * While there is no readable root, they describe none.
   */
  async follow(): Promise<void> {
    const above = await this.#groupsAbove()
    if (await above.isConsolidated()) await above.replace('', () => this.#membersNow(), true)
  }

  async #membersNow(): Promise<ReadonlyMap<string, JsonObject>> {
    try {
      const root = await this.node('')
      if (root === undefined) return new Map()
      const version = root.kind === 'array' ? root.metadata.version : root.version
      return await this.#documents('', version, { self: true, below: root.kind === 'group' })
    } catch (error) {
      // The root is being replaced, or it cannot be read.
      if (isHyperslabError(error, 'ConflictError', 'FormatError', 'UnsupportedError')) return new Map()
      throw error
    }
  }

  #groupsAbove(): Promise<GroupsAbove> {
    if (this.#above === undefined) {
      this.#above = GroupsAbove.find(this.#place)
      this.#above.catch(() => {
        this.#above = undefined
      })
    }
    return this.#above
  }

  /**
   * Creates a group or an array, and the missing groups above it.
   * @param leftover selects the objects that would be mistaken for chunks of the array, by names in its
   *   folder
   * @throws AlreadyExistsError if a node exists there or, for an array, below it; InvalidArgumentError for a
   *   path that leads out of the hierarchy or through an array
   */
  async create(
    path: string,
    content: JsonObject,
    leftover?: (names: readonly string[], prefix: string) => string[],
  ): Promise<void> {
    const { store, file } = this.#place
    const label = { file, array: path }
    checkNodeName(path, label)
    await this.checkPlace(3)
    for (const group of groupsAbove(path)) await this.#createAbove(group, label)
    const prefix = this.#at(`${path}/`)
    if (leftover === undefined) {
      // Metadata of version 3 would hide those of version 2.
      const older = await Promise.all(NODE_DOCUMENTS.slice(1).map((name) => statToWrite(store, prefix + name)))
      if (older.some((info) => info !== undefined)) throw alreadyThere(label)
    } else {
      const names = (await store.list!(prefix, { deep: true })).map((key) => key.slice(prefix.length))
      const node = names.find((name) => NODE_DOCUMENTS.includes(name.slice(name.lastIndexOf('/') + 1)))
      if (node?.includes('/')) throw nodesBelow(label, node)
      if (node !== undefined) throw alreadyThere(label)
      const keys = leftover(names, prefix).map((name) => prefix + name)
      // Objects that were listed before the array was found absent belong to one that was removed in part.
      if (keys.length > 0 && (await statToWrite(store, `${prefix}zarr.json`)) === undefined) await this.#remove(keys)
    }
    await within(label, () => this.#create(path, content))
    await this.#keepInStep(path, 3, async () => new Map([['zarr.json', content]]))
  }

  /**
   * Deletes a node with all its content.
   * @throws InvalidArgumentError for a path that no node can have; UnsupportedError, with nothing changed,
   *   for a node behind a link, and if its folder contains an object that does not belong to the hierarchy;
   *   errors of the store. After these, the remaining objects no longer belong to the hierarchy
   */
  async delete(path: string): Promise<void> {
    const { store, file } = this.#place
    checkNodeName(path, { file, array: path })
    await this.checkUnlinked(path)
    const prefix = this.#at(`${path}/`)
    const { arrays, stray } = await surveyMembers({
      names: (await store.list!(prefix, { deep: true })).map((key) => key.slice(prefix.length)),
      read: (name) => this.#place.reader.get(`${path}/${name}`, this.#metadataBytes),
      sizeOf: async (name) => (await store.stat(prefix + name))?.size,
    })
    if (stray !== undefined) {
      // Another process may be deleting the node.
      if ((await this.node(path)) === undefined) this.#removed(path)
      const key = store.describe(prefix + stray.name)
      const isLink = (await store.files?.isLink(prefix + stray.name)) === true
      const text = `its folder contains '${key}'${isLink ? ', a symbolic link' : ''}: ${stray.why}, so nothing was deleted; move it elsewhere, or remove it`
      throw new HyperslabError('UnsupportedError', text, { file, array: path, actual: key })
    }
    const belongs = membership(arrays)
    await this.#removeNode(path, (name) => belongs(name) || isFolderMark(name))
  }

  /**
   * Checks that the objects of a node may be removed.
   * @throws UnsupportedError if its folder, or one above it, is a symbolic link
   */
  checkUnlinked(path: string): Promise<void> {
    const { store, root } = this.#place
    return checkUnlinked(store, root, this.#at(path === '' ? '' : `${path}/`))
  }

  /**
   * Removes objects of the location itself, which was not completed.
   * @param belongs selects them by their names
   */
  clear(belongs: (name: string) => boolean): Promise<void> {
    return this.#removeNode('', belongs)
  }

  /** Removes a node: first from consolidated metadata, then its own metadata, then the rest. */
  async #removeNode(path: string, belongs: (name: string) => boolean): Promise<void> {
    const { store, objects } = this.#place
    await this.#keepInStep(path, undefined, async () => new Map())
    const prefix = this.#at(path === '' ? '' : `${path}/`)
    await this.#remove(METADATA.map((name) => prefix + name))
    const keys = (await store.list!(prefix, { deep: true })).filter((key) => belongs(key.slice(prefix.length)))
    const isDocument = (key: string): boolean => METADATA.includes(key.slice(key.lastIndexOf('/') + 1))
    await this.#remove(keys.filter(isDocument))
    await this.#remove(keys.filter((key) => !isDocument(key)))
    await store.files?.removeFolder(prefix)
    objects.forgetFolders()
  }

  /** Removes objects, a few at a time. */
  async #remove(keys: readonly string[]): Promise<void> {
    const tested: TestedFolders = new Map()
    await forEachLimited(keys, AT_ONCE, (key) => this.#place.objects.remove(key, { tested }))
  }

  /**
   * Returns the current content of a metadata object of a node.
   * @throws UnknownArrayError if it was removed
   */
  async read(path: string, name: string): Promise<JsonObject> {
    const key = path === '' ? name : `${path}/${name}`
    const bytes = await this.#place.reader.get(key, this.#metadataBytes)
    return bytes === undefined ? this.#removed(path) : asObject(this.#parse(bytes, key), key)
  }

  /**
   * Changes the `zarr.json` of a node, or an object of version 2, and its copy in consolidated metadata.
   * @param name of the object
   * @param change returns the new content. Receives the stored one; `{}` for missing attributes of version 2
   */
  async change(
    path: string,
    name: string,
    change: (stored: JsonObject) => JsonObject,
    { signal, holds }: Pick<ChangeOptions, 'signal' | 'holds'> = {},
  ): Promise<void> {
    const key = path === '' ? name : `${path}/${name}`
    await this.#place.objects.change(this.#at(key), { signal, holds }, async (old) => {
      if (old === undefined && name !== '.zattrs') this.#removed(path)
      const content = change(old === undefined ? {} : asObject(this.#parse(old, key), key))
      // After a claim was held, no version may have the bytes of an earlier one. Otherwise a late holder
      // could replace it.
      const isNew = holds !== undefined || (old !== undefined && isMarked(old))
      return encodeDocument(content, isNew ? newMark() : '')
    })
    const members = async (): Promise<ReadonlyMap<string, JsonObject>> => new Map([[name, await this.read(path, name)]])
    await this.#keepInStep(path, name === 'zarr.json' ? 3 : 2, members)
  }

  /** Holds the claim on the shape of an array while the work runs. */
  async claimed<T>(path: string, signal: Signal | undefined, work: (claim: Claim) => Promise<T>): Promise<T> {
    const key = this.#at(path === '' ? CLAIM_NAME : `${path}/${CLAIM_NAME}`)
    const claim = await Claim.take(this.#place.objects, key, signal)
    let isDone = false
    try {
      const result = await work(claim)
      isDone = true
      return result
    } finally {
      await claim.release(isDone)
    }
  }

  /** Writes consolidated metadata of all nodes below a group, as they are now. */
  async consolidate(path: string, version: 2 | 3): Promise<void> {
    const members = await this.#documents(path, version, { self: version === 2, below: true })
    if (version === 3) {
      const nodes = Array.from(members, ([name, { consolidated_metadata: _, ...content }]) => [
        name.slice(0, -'/zarr.json'.length),
        content,
      ])
      const inline = groupDocument({}, Object.fromEntries(nodes))
      await this.change(path, 'zarr.json', (stored) => ({ ...stored, consolidated_metadata: inline['consolidated_metadata'] }))
    } else {
      const content = { metadata: Object.fromEntries(members), zarr_consolidated_format: 1 }
      await this.#place.objects.replace(this.#at(path === '' ? '.zmetadata' : `${path}/.zmetadata`), encodeDocument(content))
    }
  }

  /**
   * Reads the metadata documents of nodes, by their names relative to a node.
   * @param included whether to include those of the node itself, and those of all nodes below it
   */
  async #documents(
    path: string,
    version: 2 | 3,
    included: { readonly self: boolean; readonly below: boolean },
  ): Promise<Map<string, JsonObject>> {
    const names = version === 3 ? ['zarr.json'] : NODE_DOCUMENTS_V2
    const members = new Map<string, JsonObject>()
    const hierarchy = this.#hierarchy()
    const take = async (at: string): Promise<void> => {
      for (const name of names) {
        const key = at === '' ? name : `${at}/${name}`
        const bytes = await this.#place.reader.get(key, this.#metadataBytes)
        if (bytes === undefined) continue
        members.set(key.slice(path === '' ? 0 : path.length + 1), asObject(this.#parse(bytes, key), key))
      }
    }
    const visit = async (at: string): Promise<void> => {
      for (const child of await hierarchy.children(at)) {
        await take(child.path)
        if (child.kind === 'group') await visit(child.path)
      }
    }
    if (included.self) await take(path)
    if (included.below) await visit(path)
    return members
  }

  async #createAbove(path: string, label: { readonly file: string; readonly array: string }): Promise<void> {
    const node = await this.node(path)
    if (node?.kind === 'group' && node.version === 3) return
    if (node !== undefined)
      throw new HyperslabError(
        'InvalidArgumentError',
        `'${path}' is no group of version 3, in which there could be others`,
        label,
      )
    try {
      await this.create(path, groupDocument({}))
    } catch (error) {
      // Another writer may have created it.
      if ((await this.node(path))?.kind !== 'group') throw error
    }
  }

  async #create(path: string, content: JsonObject): Promise<void> {
    await this.#place.objects.change(this.#at(path === '' ? 'zarr.json' : `${path}/zarr.json`), {}, async (old) => {
      if (old !== undefined) throw alreadyThere({})
      return encodeDocument(content)
    })
  }

  /**
   * Replaces a node in the consolidated metadata of all groups above it.
   * @param version of the changed metadata; undefined for a removed node, of which all members are removed
   */
  async #keepInStep(path: string, version: 2 | 3 | undefined, members: DocumentsReader): Promise<void> {
    const { objects, isRootLast } = this.#place
    const isTree = version === undefined
    const versions = isTree ? ([3, 2] as const) : [version]
    // Consolidated metadata of version 2 describe their own group, too.
    const groups = ['', ...groupsAbove(path), path].filter((group, i, all) => all.indexOf(group) === i)
    for (const group of groups.reverse()) {
      if (group === path && (version !== 2 || isTree)) continue
      const consolidated = new Consolidated(objects, this.#at(group === '' ? '' : `${group}/`), this.#metadataBytes)
      await consolidated.replace(versions, path.slice(group === '' ? 0 : group.length + 1), members, isTree)
    }
    if (!isRootLast || path === '') await (await this.#groupsAbove()).replace(path, members, isTree)
  }

  get #metadataBytes(): number {
    return this.#place.metadataBytes ?? METADATA_BYTES
  }

  #parse(bytes: Uint8Array, key: string): unknown {
    return parseJson(bytes, key, { maxBytes: this.#metadataBytes, limit: 'limits.metadataBytes' })
  }

  #removed(path: string): never {
    throw new HyperslabError('UnknownArrayError', 'its metadata were removed', { file: this.#place.file, array: path })
  }

  /** Returns the hierarchy without consolidated metadata, which may be older than those of the nodes. */
  #hierarchy(): Hierarchy {
    return new Hierarchy(this.#place.reader, { file: this.#place.file, consolidated: false })
  }

  #at(key: string): string {
    const { store, root, file } = this.#place
    // A prefix of the objects below a node ends with a slash.
    const path = key.endsWith('/') ? key.slice(0, -1) : key
    if (path === '') return root === '' ? '' : `${root}/`
    return (
      joinForeignKey(root, path, { windowsNames: store.files?.windowsNames, urlNames: store.urlNames, file }) +
      key.slice(path.length)
    )
  }
}

const alreadyThere = (label: { readonly file?: string; readonly array?: string }): HyperslabError =>
  new HyperslabError('AlreadyExistsError', 'there is an array or group of this name already', label)

function nodesBelow(label: { readonly file: string; readonly array: string }, name: string): HyperslabError {
  const node = `${label.array}/${name.slice(0, name.lastIndexOf('/'))}`
  return new HyperslabError(
    'AlreadyExistsError',
    `'${node}' lies there, which an array cannot contain: give the array another name`,
    label,
  )
}
