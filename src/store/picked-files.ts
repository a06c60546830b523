import { HyperslabError } from '../core/errors.ts'
import { KeyIndex } from '../core/keys.ts'
import { BlobStore, keyFor } from './blob.ts'
import { type FileHandleLike, isAsyncBuffer, isBlob, isFileHandle } from './handles.ts'
import { Snapshots } from './snapshots.ts'
import type { ObjectInfo, RangeOptions, Store } from './store.ts'

/** A single file, with the store that reads it. */
export interface PickedFile {
  readonly name: string
  readonly store: Store & { readonly key: string }
}

/** Returns a store of the file or files that a user picked; undefined for any other value. */
export function storeOfFiles(given: object): PickedFile['store'] | undefined {
  if (!Array.isArray(given)) return storeOfFile(given)
  const picked: PickedFile[] = []
  for (const file of given) {
    const store = storeOfFile(Object(file))
    const name = (Object(file) as { readonly name?: unknown }).name
    if (store === undefined || typeof name !== 'string') return undefined
    picked.push({ name, store })
  }
  return new PickedFiles(picked)
}

function storeOfFile(file: object): PickedFile['store'] | undefined {
  if (isBlob(file) || isAsyncBuffer(file)) return new BlobStore(file)
  return isFileHandle(file) ? new FileHandleStore(file) : undefined
}

const SIDECAR = /\.[1-9]\d*\.af$/

/**
 * Read-only store of the files of one container that a user has picked or dropped together. It finds the
 * base, sidecars and statistics by their names.
 */
class PickedFiles implements Store {
  /** Name of the base. */
  readonly key: string
  readonly #files: ReadonlyMap<string, PickedFile['store']>
  #keys: KeyIndex | undefined

  /** @throws InvalidArgumentError unless exactly one file is a base and the others belong to it */
  constructor(files: readonly PickedFile[]) {
    this.#files = new Map(files.map(({ name, store }) => [name, store]))
    const names = files.map(({ name }) => name)
    const bases = names.filter((name) => name.endsWith('.af') && !SIDECAR.test(name))
    const [base = ''] = bases
    const stem = base.slice(0, -'.af'.length)
    const strangers = names.filter((name) => name !== base && name !== `${stem}.stats` && name.replace(SIDECAR, '') !== stem)
    if (bases.length !== 1 || strangers.length > 0 || this.#files.size < names.length) {
      const text = `files that are opened together are the base (x.af) and the sidecars (x.1.af, …) of one container, got ${names.join(', ') || 'none'}`
      throw new HyperslabError('InvalidArgumentError', text, { actual: names })
    }
    this.key = base
  }

  describe(key: string): string {
    return key
  }

  async stat(key: string): Promise<ObjectInfo | undefined> {
    const file = this.#files.get(key)
    return file?.stat(file.key)
  }

  async getRange(key: string, offset: number, length: number, options?: RangeOptions): Promise<Uint8Array | undefined> {
    const file = this.#files.get(key)
    return file?.getRange(file.key, offset, length, options)
  }

  async list(prefix: string): Promise<string[]> {
    this.#keys ??= new KeyIndex(this.#files.keys())
    return this.#keys.below(prefix)
  }
}

/** Read-only store of one object, the file of a `FileSystemFileHandle`. Its sidecars are not visible. */
class FileHandleStore implements Store {
  /** Key of the object: the name of the file, with `.af` appended unless it ends so. */
  readonly key: string
  readonly seesOneFile = true
  readonly #name: string
  readonly #snapshots: Snapshots

  constructor(handle: FileHandleLike) {
    this.#name = handle.name
    this.key = keyFor(handle.name)
    this.#snapshots = new Snapshots(
      async (key) => (key === this.key ? handle.getFile() : undefined),
      (key) => this.describe(key),
    )
  }

  describe(key: string): string {
    return key === this.key ? this.#name : key
  }

  stat(key: string): Promise<ObjectInfo | undefined> {
    return this.#snapshots.stat(key)
  }

  getRange(key: string, offset: number, length: number, options?: RangeOptions): Promise<Uint8Array | undefined> {
    return this.#snapshots.getRange(key, offset, length, options)
  }
}
