import { parseJson, writeJson } from '../../../core/json.ts'
import { member } from '../../../core/member.ts'
import type { Store } from '../../../store/store.ts'
import { asObject, isObject, type JsonObject } from '../document.ts'
import { encodeDocument } from './document.ts'
import type { ObjectWriter } from './object-writer.ts'

/**
 * Reads the members that replace others: documents by their names below the node, such as `zarr.json` or
 * `x/.zarray`. It is called after the consolidated metadata were read, which are replaced on condition of
 * their version. The last writer therefore stores the newest ones.
 */
export type DocumentsReader = () => Promise<ReadonlyMap<string, JsonObject>>

/** Names of the documents of a node that consolidated metadata of version 2 repeat. */
export const NODE_DOCUMENTS_V2 = ['.zgroup', '.zarray', '.zattrs']

const V3 = 'zarr.json'
const V2 = '.zmetadata'

/** Consolidated metadata of one group, of both versions. */
export class Consolidated {
  readonly #objects: ObjectWriter
  readonly #prefix: string
  readonly #maxBytes: number

  /** @param prefix of the keys in the group */
  constructor(objects: ObjectWriter, prefix: string, maxBytes: number) {
    this.#objects = objects
    this.#prefix = prefix
    this.#maxBytes = maxBytes
  }

  /** Returns the name of the group for messages. */
  file(store: Store): string {
    return store.describe(this.#prefix.replace(/(?<=.)\/$/, ''))
  }

  /** Version of the group, if it has consolidated metadata of this version. */
  async version(): Promise<2 | 3 | undefined> {
    const group = await this.#read(V3)
    if (group !== undefined) return membersIn(group) === undefined ? undefined : 3
    return (await this.#read(V2)) === undefined ? undefined : 2
  }

  /**
   * Replaces members in the consolidated metadata that the group has.
   * @param versions of the consolidated metadata that are looked for
   * @param path of a node, relative to the group
   * @param isTree whether all members at and below the node are replaced, and not only those of the same name
   */
  async replace(versions: readonly (2 | 3)[], path: string, members: DocumentsReader, isTree: boolean): Promise<void> {
    for (const version of versions)
      await (version === 3 ? this.#replaceInline(path, members, isTree) : this.#replaceTogether(path, members, isTree))
  }

  #replaceInline(path: string, members: DocumentsReader, isTree: boolean): Promise<void> {
    return this.#change(V3, async (group) => {
      const inline = membersIn(group)
      if (inline === undefined) return undefined
      const content = new Map<string, JsonObject>()
      for (const [name, own] of await members())
        if (lastSegment(name) === V3) content.set(joined(path, name).slice(0, -V3.length - 1), withoutInner(own))
      const known = asObject(member(inline, 'metadata') ?? {}, 'metadata of consolidated_metadata')
      const metadata = replaced(known, content, (name) => isTree && isAt(name, path))
      return metadata && { ...group, consolidated_metadata: { ...inline, metadata } }
    })
  }

  #replaceTogether(path: string, members: DocumentsReader, isTree: boolean): Promise<void> {
    return this.#change(V2, async (together) => {
      const content = new Map<string, JsonObject>()
      for (const [name, own] of await members())
        if (NODE_DOCUMENTS_V2.includes(lastSegment(name))) content.set(joined(path, name), own)
      const known = asObject(member(together, 'metadata'), `metadata of ${V2}`)
      const metadata = replaced(known, content, (name) => isTree && isAt(name, path))
      return metadata && { ...together, metadata }
    })
  }

  /** @param change returns the new content; undefined to leave it */
  #change(name: string, change: (content: JsonObject) => Promise<JsonObject | undefined>): Promise<void> {
    const key = this.#prefix + name
    return this.#objects.change(key, {}, async (old) => {
      const content = old && this.#parse(old, key)
      const changed = isObject(content) ? await change(content) : undefined
      return changed === undefined ? old : encodeDocument(changed)
    })
  }

  async #read(name: string): Promise<JsonObject | undefined> {
    const key = this.#prefix + name
    const found = await this.#objects.read(key, { maxBytes: this.#maxBytes, onUnproved: () => undefined })
    const content = found && this.#parse(found.bytes, key)
    return isObject(content) ? content : undefined
  }

  #parse(bytes: Uint8Array, key: string): unknown {
    return parseJson(bytes, key, { maxBytes: this.#maxBytes, limit: 'limits.metadataBytes' })
  }
}

function membersIn(group: JsonObject): JsonObject | undefined {
  const inline = member(group, 'consolidated_metadata')
  return isObject(inline) ? inline : undefined
}

/** Returns members of which some are replaced; undefined if that changes nothing. */
function replaced(
  known: JsonObject,
  content: ReadonlyMap<string, JsonObject>,
  isRemoved: (name: string) => boolean,
): JsonObject | undefined {
  const all = Object.entries(known)
  const others = all.filter(([name]) => !content.has(name) && !isRemoved(name))
  const isSame =
    others.length + content.size === all.length &&
    [...content].every(([name, own]) => {
      const old = member(known, name)
      return old !== undefined && writeJson(old) === writeJson(own)
    })
  return isSame ? undefined : Object.fromEntries([...others, ...content])
}

/** Whether a name is that of a node, or lies below it. */
const isAt = (name: string, path: string): boolean => path === '' || name === path || name.startsWith(`${path}/`)

const joined = (path: string, name: string): string => (path === '' ? name : `${path}/${name}`)

const lastSegment = (name: string): string => name.slice(name.lastIndexOf('/') + 1)

/** Returns the metadata of a node without the consolidated metadata of an inner group. */
function withoutInner(metadata: JsonObject): JsonObject {
  const { consolidated_metadata: inner, ...content } = metadata
  return inner === undefined ? metadata : content
}
