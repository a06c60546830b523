import { type UnpublishedArray, unpublishedArray } from '../adapters/zarr/create.ts'
import type { ScratchArray } from '../array/lazy/rechunk-to.ts'
import { HyperslabError, isHyperslabError } from '../core/errors.ts'
import { forEachLimited } from '../core/limiter.ts'
import { withMembers } from '../core/overlay.ts'
import type { FirstPass } from '../grid/rechunk-plan.ts'
import { publishBytes } from '../store/publish-bytes.ts'
import type {
  LocalFiles,
  ObjectInfo,
  ObjectTail,
  PutOptions,
  RangeOptions,
  Stage,
  StoredAt,
  StoreOptions,
  WholeOptions,
  WritableStore,
} from '../store/store.ts'
import { readWhole } from '../store/whole.ts'
import { isWritable } from '../store/writable.ts'
import { asWritable } from '../store/writer.ts'

/** Number of objects that are removed at once. */
const AT_ONCE = 16

/** Options of a scratch folder. */
export interface ScratchOptions {
  /** Whether intermediate arrays must survive a failure of the machine. */
  readonly isDurable?: boolean
  /** Whether to remove the folder above with it, if that is empty then. */
  readonly isOnly?: boolean
}

/**
 * A folder of objects that are of no use after the work: results and packed blocks that workers share, and
 * the chunks of an intermediate array, which are uncompressed.
 */
export class Scratch {
  readonly #resolve: () => Promise<StoredAt>
  readonly #options: ScratchOptions
  readonly #chunks: { isSealed: boolean } = { isSealed: false }
  #place: Promise<StoredAt> | undefined

  /** @param resolve resolves the folder on first use; its path ends with a slash */
  constructor(resolve: () => Promise<StoredAt>, options: ScratchOptions = {}) {
    this.#resolve = resolve
    this.#options = options
  }

  /**
   * Returns the intermediate array.
   * @param writeBytes bytes of chunks that are written at the same time
   */
  async array(array: ScratchArray, writeBytes?: number): Promise<UnpublishedArray> {
    const { store, path } = await this.#opened()
    const options = { ...array, codec: 'none', writeEmptyChunks: true }
    const chunks = new ChunkStore(asWritable(store), this.#options.isDurable ?? false, this.#chunks)
    return unpublishedArray(chunks, path.slice(0, -1), '', options, { separator: '.', writeBytes })
  }

  /** Whether the output of the first `count` regions of a pass exists. */
  async has({ read, chunks }: FirstPass, count: number): Promise<boolean> {
    const { store, path } = await this.#opened()
    const keys = new Set(await store.list!(path))
    let isThere = true
    chunks.each((index) => {
      const region = read.chunkIndex(read.find(index.map((k, axis) => chunks.axes[axis]!.start(k))))
      isThere &&= region >= count || keys.has(`${path}c.${index.join('.')}`) || index.length === 0
    })
    return isThere
  }

  /** Treats a missing chunk as an error from now on, because all chunks have been written. */
  seal(): void {
    this.#chunks.isSealed = true
  }

  /** Returns the key of an object from its name. */
  async key(name: string): Promise<string> {
    return `${(await this.#opened()).path}${name}`
  }

  /** Returns the size of an object; undefined if it does not exist. */
  async size(key: string, { signal }: StoreOptions): Promise<number | undefined> {
    const { store } = await this.#opened()
    return (await store.stat(key, { signal }))?.size
  }

  /**
   * Stores an object, unless it exists.
   * @returns false if it exists
   * @throws ReadOnlyError
   */
  async put(key: string, bytes: Uint8Array, { signal }: StoreOptions): Promise<boolean> {
    signal?.throwIfAborted()
    const { store } = await this.#opened()
    if (!isWritable(store))
      throw new HyperslabError('ReadOnlyError', 'nothing can be written to the scratch folder', { file: store.describe(key) })
    await store.files?.makeFolder(key)
    try {
      await publishBytes(store, key, bytes, { ifAbsent: true, durable: false })
      return true
    } catch (error) {
      if (isHyperslabError(error, 'ConflictError')) return false
      throw error
    }
  }

  async find(key: string, { signal }: StoreOptions = {}): Promise<Uint8Array | undefined> {
    const { store } = await this.#opened()
    return (await readWhole(store, key, { signal }))?.bytes
  }

  /** @throws NotFoundError */
  async read(key: string, options: StoreOptions): Promise<Uint8Array> {
    const bytes = await this.find(key, options)
    if (bytes !== undefined) return bytes
    const { store } = await this.#opened()
    throw new HyperslabError('NotFoundError', 'a partial result no longer exists', { file: store.describe(key) })
  }

  /**
   * Removes the objects in the folder, including those of killed processes.
   * @param isKept whether to keep the object of a name
   */
  async clean({ signal }: StoreOptions = {}, isKept: (name: string) => boolean = () => false): Promise<void> {
    const { store, path } = await this.#opened()
    this.#chunks.isSealed = false
    const keys = new Set(await store.list?.(path, { deep: true, signal }))
    for (const { key } of (await store.files?.leftovers(path, { deep: true })) ?? []) keys.add(key)
    const removed = [...keys].filter((key) => !isKept(key.slice(path.length)))
    await forEachLimited(removed, AT_ONCE, async (key) => asWritable(store).delete(key, { signal }))
    if (removed.length < keys.size) return
    await store.files?.removeFolder(path)
    if (this.#options.isOnly) await store.files?.removeFolder(path.slice(0, path.lastIndexOf('/', path.length - 2) + 1))
  }

  async close(): Promise<void> {
    await (await this.#place)?.store.close?.()
  }

  #opened(): Promise<StoredAt> {
    this.#place ??= this.#resolve()
    return this.#place
  }
}

/** A store of objects that need not survive a power failure, unless it is durable. */
class ChunkStore implements WritableStore {
  /** Without local paths, because workers would read past this store. */
  readonly files?: LocalFiles
  readonly #store: WritableStore
  readonly #isDurable: boolean
  readonly #chunks: { readonly isSealed: boolean }

  constructor(store: WritableStore, isDurable: boolean, chunks: { readonly isSealed: boolean }) {
    this.#store = store
    this.#isDurable = isDurable
    this.#chunks = chunks
    if (store.files) this.files = withMembers(store.files, { localPath: undefined })
  }

  describe(key: string): string {
    return this.#store.describe(key)
  }

  stat(key: string, options?: StoreOptions): Promise<ObjectInfo | undefined> {
    return this.#store.stat(key, options)
  }

  getRange(key: string, offset: number, length: number, options?: RangeOptions): Promise<Uint8Array | undefined> {
    return this.#store.getRange(key, offset, length, options)
  }

  async get(key: string, options?: WholeOptions): Promise<ObjectTail | undefined> {
    const found = await readWhole(this.#store, key, options)
    if (found !== undefined || !this.#chunks.isSealed) return found
    const text = 'a part of the intermediate array is gone: does another process write to the same target?'
    throw new HyperslabError('ConflictError', text, { file: this.describe(key) })
  }

  put(key: string, bytes: Uint8Array, options?: PutOptions): Promise<void> {
    return this.#store.put(key, bytes, { ...options, scratch: !this.#isDurable })
  }

  list(prefix: string): Promise<string[]> {
    return this.#store.list!(prefix)
  }

  delete(key: string): Promise<void> {
    return this.#store.delete(key)
  }

  stage(near: string): Promise<Stage> {
    return this.#store.stage(near)
  }
}
