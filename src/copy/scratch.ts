import { type HiddenArray, hiddenArray } from '../adapters/zarr/create.ts'
import type { ScratchArray } from '../array/lazy/rechunk-to.ts'
import { HyperslabError } from '../core/errors.ts'
import { forEachLimited } from '../core/limiter.ts'
import type { FirstPass } from '../grid/rechunk-plan.ts'
import {
  type ObjectInfo,
  type PutOptions,
  type RangeOptions,
  readWhole,
  type Stage,
  type Store,
  type StoreOptions,
  type Tail,
  type WholeOptions,
} from '../store/store.ts'

/** Name of the folder of intermediate arrays in the target. */
export const SCRATCH = '.hyperslab-scratch/'

/** Number of objects that are removed at once. */
const AT_ONCE = 16

/**
 * An intermediate array of a copy, beside the target. Its chunks are uncompressed objects, which are not
 * synced to the disk unless they must be durable.
 */
export class Scratch {
  readonly #store: Store
  readonly #folder: string
  readonly #objects: ScratchStore

  /**
   * @param folder prefix of its keys, with a trailing slash
   * @param options `isDurable`: whether it must survive a failure of the machine
   */
  constructor(store: Store, folder: string, { isDurable = false }: { readonly isDurable?: boolean } = {}) {
    this.#store = store
    this.#folder = folder
    this.#objects = new ScratchStore(store, isDurable)
  }

  /** @param writeBytes bytes of chunks that are written at the same time */
  array(array: ScratchArray, writeBytes?: number): Promise<HiddenArray> {
    const options = { ...array, codec: 'none', writeEmptyChunks: true }
    return hiddenArray(this.#objects, this.#folder.slice(0, -1), '', options, { separator: '.', writeBytes })
  }

  /** Whether the output of the first `count` regions of a pass exists. */
  async has({ read, chunks }: FirstPass, count: number): Promise<boolean> {
    const keys = new Set(await this.#store.list!(this.#folder))
    let isThere = true
    chunks.each((index) => {
      const region = read.number(read.find(index.map((k, axis) => chunks.axes[axis]!.start(k))))
      isThere &&= region >= count || keys.has(`${this.#folder}c.${index.join('.')}`) || index.length === 0
    })
    return isThere
  }

  /** Treats a missing chunk as an error from now on, because all chunks have been written. */
  seal(): void {
    this.#objects.isSealed = true
  }

  /** Removes all objects, including those of killed processes. */
  async remove(): Promise<void> {
    const store = this.#store
    this.#objects.isSealed = false
    const keys = new Set(await store.list!(this.#folder, { deep: true }))
    for (const { key } of (await store.leftovers?.(this.#folder, { deep: true })) ?? []) keys.add(key)
    await forEachLimited(keys, AT_ONCE, (key) => store.delete!(key))
    await store.removeFolder?.(this.#folder)
  }
}

/** A store of objects that need not survive a power failure, unless it is durable. */
class ScratchStore implements Store {
  readonly #store: Store
  readonly #isDurable: boolean
  isSealed = false

  constructor(store: Store, isDurable: boolean) {
    this.#store = store
    this.#isDurable = isDurable
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

  async get(key: string, options?: WholeOptions): Promise<Tail | undefined> {
    const found = await readWhole(this.#store, key, options)
    if (found !== undefined || !this.isSealed) return found
    const text = 'a part of the intermediate array is gone: does another process write to the same target?'
    throw new HyperslabError('ConflictError', text, { file: this.describe(key) })
  }

  put(key: string, bytes: Uint8Array, options?: PutOptions): Promise<void> {
    return this.#store.put!(key, bytes, { ...options, scratch: !this.#isDurable })
  }

  list(prefix: string): Promise<string[]> {
    return this.#store.list!(prefix)
  }

  delete(key: string): Promise<void> {
    return this.#store.delete!(key)
  }

  async makeFolder(near: string): Promise<void> {
    await this.#store.makeFolder?.(near)
  }

  stage(near: string): Promise<Stage> {
    return this.#store.stage!(near)
  }
}
