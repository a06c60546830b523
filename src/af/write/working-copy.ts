import type { Origins } from '../../array/source.ts'
import { HyperslabError, messageOf } from '../../core/errors.ts'
import { LazyMap } from '../../core/lazy-map.ts'
import { Lock } from '../../core/limiter.ts'
import { BlockReader } from '../../engine/block-reader.ts'
import type { Store } from '../../store/store.ts'
import { isWritable } from '../../store/writable.ts'
import { type ArrayOptions, type Definition, define, sameButShape } from '../format/definition.ts'
import { ArrayState } from '../layers/array-state.ts'
import type { Container } from '../layers/container.ts'
import type { Layer } from '../layers/layer.ts'
import type { Paths } from '../layers/paths.ts'
import type { Stack } from '../layers/stack.ts'
import type { WorkingCopyOptions } from './container-files.ts'
import type { StatsKeeper } from './stats-keeper.ts'
import type { Writer, WriteSession } from './writer.ts'

/**
 * Layers of a container together with the changes since the last flush. Changes stay pending until a layer
 * with them is published, so a failed flush loses nothing. Code for writing is loaded with the first write.
 */
export class WorkingCopy implements Container, WriteSession {
  readonly label: string
  readonly origins: Origins
  readonly store: Store
  readonly paths: Paths
  readonly options: WorkingCopyOptions
  readonly blocks: BlockReader
  /** The arrays that exist, in the order of their definition. */
  readonly states: LazyMap<ArrayState>
  /** Arrays of committed layers that were deleted since the last flush. */
  readonly deleted = new Map<string, Definition>()
  readonly #lock = new Lock()
  #stack: Stack
  #stats: Promise<StatsKeeper> | undefined
  #loading: Promise<Writer> | undefined
  #writer: Writer | undefined
  #closed = false
  /** Failures after a commit, which remains valid. */
  readonly warnings = new Set<string>()

  constructor(store: Store, paths: Paths, stack: Stack, options: WorkingCopyOptions) {
    this.label = store.describe(paths.base)
    this.origins = { place: { store, path: paths.base } }
    this.store = store
    this.paths = paths
    this.options = options
    this.#stack = stack
    const live = stack.arrays()
    this.states = new LazyMap(live, (name) => ArrayState.of(live.get(name)!))
    this.blocks = new BlockReader(
      options.cache ?? options.cacheBytes,
      options.limits.blockBytes,
      options.codecs,
      options.pool,
      options.budget,
    )
  }

  get stack(): Stack {
    return this.#stack
  }

  get layers(): readonly Layer[] {
    return this.#stack.layers
  }

  get readOnly(): string | undefined {
    if (this.options.layer !== undefined) return `layer ${this.options.layer} is a state of the past`
    return canWrite(this.store) ? this.#stack.readOnly : 'this store cannot be written'
  }

  get changed(): boolean {
    if (this.deleted.size > 0) return true
    for (const { changed } of this.states.made()) if (changed) return true
    return false
  }

  checkOpen(): void {
    if (this.#closed) throw new HyperslabError('ClosedError', 'the file was closed', { file: this.label })
  }

  checkWritable(): void {
    this.checkOpen()
    if (this.readOnly !== undefined) throw new HyperslabError('ReadOnlyError', this.readOnly, { file: this.label })
  }

  exclusive<T>(work: () => Promise<T>): Promise<T> {
    return this.#lock.run(work)
  }

  define(name: string, options: ArrayOptions): ArrayState {
    this.checkWritable()
    if (this.states.has(name)) throw new HyperslabError('AlreadyExistsError', 'the array exists already', { actual: name })
    const state = new ArrayState(define(name, options))
    state.touched()
    this.states.set(name, state)
    return state
  }

  delete(state: ArrayState): void {
    this.checkWritable()
    const { name } = state.definition
    this.#writer?.drop(state)
    this.#drop(state)
    if (state.committed !== undefined) this.deleted.set(name, state.committed)
  }

  async writeChunk(
    state: ArrayState,
    chunkIndex: number,
    bytes: Uint8Array,
    options: { readonly whole: boolean },
  ): Promise<void> {
    this.checkOpen()
    await (await this.writer()).put(state, chunkIndex, bytes, options)
  }

  async resize(state: ArrayState, shapeOf: (shape: readonly number[]) => readonly number[]): Promise<void> {
    this.checkWritable()
    await (await this.writer()).resize(state, shapeOf)
  }

  /** Returns the writer, which turns changes into layers. */
  async writer(): Promise<Writer> {
    this.#loading ??= import('./writer.ts').then(({ Writer }) => new Writer(this))
    this.#writer = await this.#loading
    return this.#writer
  }

  stats(): Promise<StatsKeeper> {
    this.#stats ??= import('./stats-keeper.ts').then(
      // Stored statistics describe the newest layer.
      ({ StatsKeeper }) => {
        const { store, paths, blocks, options } = this
        const isNewest = () => options.layer === undefined && !this.#stack.base.immutable
        const stateOf = () => (isNewest() ? this.#stack.described : undefined)
        return new StatsKeeper(store, paths.stats, blocks, stateOf, options.limits.footerBytes)
      },
    )
    return this.#stats
  }

  /** Runs work after a commit. If it fails, the commit remains valid, and `warnings` reports the failure. */
  async afterCommit(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.warnings.add(`${what}: ${messageOf(error)}`)
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.blocks.clear()
    await this.exclusive(async () => this.#writer?.discard())
    await this.store.close?.()
  }

  /** Replaces the arrays by those in the layers of `stack`. Pending changes stay. */
  takeOver(stack: Stack): void {
    this.#stack = stack
    const live = stack.arrays()
    for (const [name, array] of live) {
      // Deleted here and perhaps defined anew, so the array in the layers is another one.
      if (this.deleted.has(name)) continue
      const state = this.states.get(name)
      if (state !== undefined && sameButShape(state.definition, array.definition)) {
        state.load(array)
        continue
      }
      if (state !== undefined) this.#drop(state)
      this.states.set(name, ArrayState.of(array))
    }
    for (const [name, state] of this.states) if (!live.has(name) && state.layer >= 0) this.#drop(state)
  }

  #drop(state: ArrayState): void {
    state.dropped()
    this.states.delete(state.definition.name)
  }
}

/**
 * Whether a store can hold containers. Writing requires all of these methods: without a listing, sidecars of
 * an earlier container would be overlooked, and their contents would show.
 */
export const canWrite = (store: Store): boolean => isWritable(store) && store.list !== undefined
