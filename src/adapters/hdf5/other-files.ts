import { HyperslabError } from '../../core/errors.ts'
import { joinForeignKey, wrongKey } from '../../core/foreign-key.ts'
import type { Signal } from '../../core/signal.ts'
import type { ObjectInfo, Store, StoredAt } from '../../store/store.ts'
import { refuse } from './cursor.ts'
import { LIMITS } from './limits.ts'
import { type FollowedFolder, OpenFile, type OtherFiles } from './open-file.ts'

/**
 * Files that links, external raw data and virtual arrays of a file lead to. All are in one folder or below
 * it. Their names count from the folder of the file that has the name. Each file is opened once while it is
 * kept, and an absent one is remembered.
 */
export class FilesInFolder implements OtherFiles {
  readonly #first: StoredAt
  readonly #root: FollowedFolder
  readonly #store: Store
  readonly #known = new Map<string, Promise<OpenFile | undefined>>()

  /**
   * @param first file that is opened
   * @param root folder of the others
   */
  constructor(first: StoredAt, root: FollowedFolder) {
    this.#first = first
    this.#root = root
    this.#store = root.store
  }

  find(name: string, from: OpenFile, what: string): StoredAt {
    const { seesOneFile, followsReferences, files, urlNames } = this.#store
    if (followsReferences === false) refuse(`${what}, and this worker follows no links to other files`, name)
    if (seesOneFile === true)
      refuse(`${what}, and nothing beside this file can be read; name the folder of the others by \`external: { root }\``, name)
    const key = name.replace(/^(\.\/+)+/, '').replace(/\/+/g, '/')
    const wrong = /^(\/|[a-z]:[\\/])/i.test(name)
      ? 'its path is absolute'
      : /^[a-z][\w+.-]*:/i.test(name)
        ? 'it is a URL'
        : wrongKey(key, files?.windowsNames)
    if (wrong !== undefined)
      refuse(`${what}, which is not followed, because only files in the folder of the file are: ${wrong}`, name)
    const folder = from === from.first ? this.#root.path : findFolder({ store: this.#store, path: from.stored.path })
    return { store: this.#store, path: joinForeignKey(folder, key, { windowsNames: files?.windowsNames, urlNames }) }
  }

  open(name: string, from: OpenFile, what: string): Promise<OpenFile | undefined> {
    const place = this.find(name, from, what)
    let found = this.#known.get(place.path)
    if (found === undefined) {
      found = this.#open(place, from)
      found.catch(() => this.#known.delete(place.path))
    }
    // Least recently used first.
    this.#known.delete(place.path)
    this.#known.set(place.path, found)
    if (this.#known.size > LIMITS.otherFiles) this.#known.delete(this.#known.keys().next().value!)
    return found
  }

  async #open(place: StoredAt, from: OpenFile): Promise<OpenFile | undefined> {
    if (this.#root.isOwn && place.path === this.#first.path) return from.first
    const info = await statProved(place, from.stored.ended)
    if (info === undefined) return undefined
    return OpenFile.openBeside(from, place, { ...info, bytes: new Uint8Array(0) })
  }

  async close(): Promise<void> {
    if (!this.#root.isOwn) await this.#root.store.close?.()
  }
}

/** Returns the folder of a file, without the separator at its end. */
export function findFolder({ store, path }: StoredAt): string {
  const end = Math.max(path.lastIndexOf('/'), store.files?.windowsNames ? path.lastIndexOf('\\') : -1)
  return end === 0 ? '/' : path.slice(0, Math.max(0, end))
}

/**
 * Returns size and version of a file; undefined if the store proves that there is none.
 * @throws StoreError for an HTML page, such as one for a login, and for other answers that prove nothing
 */
export async function statProved({ store, path }: StoredAt, signal: Signal): Promise<ObjectInfo | undefined> {
  const info = await store.stat(path, {
    signal,
    onUnproved: ({ file, answer }) => {
      const text = `the answer ${answer} does not prove that the file is absent, so its elements are not taken as unwritten`
      throw new HyperslabError('StoreError', text, { file })
    },
  })
  if (!info?.isHtml) return info
  const text = 'the server sends an HTML page in place of the file, perhaps to ask for a login; pass `headers` that it accepts'
  throw new HyperslabError('StoreError', text, { file: store.describe(path), actual: 'text/html' })
}
