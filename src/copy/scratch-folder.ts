import { HyperslabError, isHyperslabError } from '../core/errors.ts'
import { readWhole, type Store } from '../store/store.ts'
import type { SignalOptions } from './target.ts'

/** Folder of a job at a location that its workers share. All workers see its objects. */
export class ScratchFolder {
  readonly #resolve: () => Promise<{ readonly store: Store; readonly path: string }>
  readonly #id: string
  readonly #isOwn: boolean
  #place: Promise<{ readonly store: Store; readonly folder: string }> | undefined

  /**
   * @param resolve resolves the location of the scratch folder, on first use
   * @param id id of the job
   * @param isOwn whether this job alone created the scratch folder, so that the folder is removed with it
   */
  constructor(resolve: () => Promise<{ readonly store: Store; readonly path: string }>, id: string, isOwn: boolean) {
    this.#resolve = resolve
    this.#id = id
    this.#isOwn = isOwn
  }

  /** Returns the key of an object from its name. */
  async key(name: string): Promise<string> {
    return `${(await this.#opened()).folder}${name}`
  }

  /** Returns the size of an object; undefined if it does not exist. */
  async size(key: string, { signal }: SignalOptions): Promise<number | undefined> {
    const { store } = await this.#opened()
    return (await store.stat(key, { signal }))?.size
  }

  /**
   * Stores an object, unless it exists.
   * @returns false if it exists
   * @throws ReadOnlyError
   */
  async put(key: string, bytes: Uint8Array, { signal }: SignalOptions): Promise<boolean> {
    signal?.throwIfAborted()
    const { store } = await this.#opened()
    if (store.stage === undefined)
      throw new HyperslabError('ReadOnlyError', 'nothing can be written to the scratch folder', { file: store.describe(key) })
    await store.makeFolder?.(key)
    const stage = await store.stage(key)
    try {
      await stage.publish(key, bytes, { ifAbsent: true, durable: false })
      return true
    } catch (error) {
      if (isHyperslabError(error, 'ConflictError')) return false
      throw error
    } finally {
      await stage.discard()
    }
  }

  async find(key: string, { signal }: SignalOptions = {}): Promise<Uint8Array | undefined> {
    const { store } = await this.#opened()
    return (await readWhole(store, key, { signal }))?.bytes
  }

  /** @throws NotFoundError */
  async read(key: string, options: SignalOptions): Promise<Uint8Array> {
    const bytes = await this.find(key, options)
    if (bytes !== undefined) return bytes
    const { store } = await this.#opened()
    throw new HyperslabError('NotFoundError', 'a partial result is gone', { file: store.describe(key) })
  }

  /**
   * Removes the objects in the folder.
   * @param isKept whether to keep the object of a name
   */
  async clean({ signal }: SignalOptions = {}, isKept: (name: string) => boolean = () => false): Promise<void> {
    const { store, folder } = await this.#opened()
    let isEmpty = true
    for (const key of (await store.list?.(folder, { signal })) ?? []) {
      if (isKept(key.slice(folder.length))) isEmpty = false
      else await store.delete?.(key, { signal })
    }
    if (!isEmpty) return
    await store.removeFolder?.(folder)
    if (this.#isOwn) await store.removeFolder?.(folder.slice(0, -this.#id.length - 1))
  }

  async close(): Promise<void> {
    await (await this.#place)?.store.close?.()
  }

  #opened(): Promise<{ readonly store: Store; readonly folder: string }> {
    this.#place ??= this.#resolve().then(({ store, path }) => {
      return { store, folder: `${path.replace(/\/$/, '')}/${this.#id}/` }
    })
    return this.#place
  }
}
