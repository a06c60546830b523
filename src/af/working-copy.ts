import type { Progress } from '../array/disk-array.js'
import { HyperslabError, isHyperslabError } from '../core/errors.js'
import { Lock } from '../core/lock.js'
import type { Store, StoreOptions } from '../store/store.js'
import { ArrayState } from './array-state.js'
import { BlockReader } from './block-reader.js'
import { publishLayer } from './commit.js'
import { compactInto } from './compact.js'
import { type ArrayOptions, type Definition, define, sameDefinition } from './definition.js'
import { Dictionary } from './dictionary.js'
import type { Layer } from './layer.js'
import { BlockPacker, PendingChunk } from './packer.js'
import type { Paths } from './paths.js'
import { rebase } from './rebase.js'
import type { Container } from './source.js'
import { type LiveArray, Stack } from './stack.js'
import { StatsKeeper } from './stats-keeper.js'

export interface WorkingCopyOptions {
  readonly codec: string
  readonly blockBytes: number
  readonly cacheBytes: number
}

/**
 * The layers of a container together with the changes that were made since the last flush, and how those become a layer. Changes stay
 * pending until a layer with them is published; a failed flush loses nothing.
 */
export class WorkingCopy implements Container {
  readonly label: string
  readonly blocks: BlockReader
  readonly stats: StatsKeeper
  /** The arrays that exist, in the order they were defined. */
  readonly states: Map<string, ArrayState>
  readonly #store: Store
  readonly #paths: Paths
  readonly #options: WorkingCopyOptions
  readonly #lock = new Lock()
  /** Arrays of committed layers that were deleted since the last flush. */
  readonly #deleted = new Map<string, Definition>()
  /** Arrays whose stored statistics are not up to date. */
  readonly #stale = new Set<ArrayState>()
  #stack: Stack
  #packer: BlockPacker
  #closed = false

  constructor(store: Store, paths: Paths, stack: Stack, options: WorkingCopyOptions) {
    this.label = store.describe(paths.base)
    this.#store = store
    this.#paths = paths
    this.#stack = stack
    this.#options = options
    this.states = new Map([...stack.arrays()].map(([name, live]) => [name, ArrayState.of(live)]))
    this.blocks = new BlockReader(options.cacheBytes)
    this.stats = new StatsKeeper(store, paths.stats, this.blocks)
    this.#packer = this.#newPacker()
  }

  get layers(): readonly Layer[] {
    return this.#stack.layers
  }

  get readOnly(): string | undefined {
    return canWrite(this.#store) ? undefined : 'this store cannot be written'
  }

  get changed(): boolean {
    return this.#deleted.size > 0 || [...this.states.values()].some(({ changed }) => changed)
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
    state.changed = true
    this.states.set(name, state)
    return state
  }

  delete(state: ArrayState): void {
    this.checkWritable()
    const { name } = state.definition
    for (const chunk of state.written.values()) this.#packer.drop(chunk)
    state.deleted = true
    this.states.delete(name)
    if (state.layer >= 0) this.#deleted.set(name, state.definition)
  }

  async writeChunk(state: ArrayState, number: number, bytes: Uint8Array, { whole }: { readonly whole: boolean }): Promise<void> {
    this.checkOpen()
    state.chunkStats.delete(number)
    let chunk = state.written.get(number)
    if (chunk === undefined) {
      chunk = new PendingChunk((arena, packed) => state.measure(arena, number, packed))
      chunk.partial = !whole
      state.written.set(number, chunk)
    }
    if (whole) chunk.partial = false
    state.changed = true
    await this.#packer.put(chunk, bytes)
  }

  flush(): Promise<void> {
    this.checkOpen()
    return this.exclusive(() => this.#flush())
  }

  compact(onProgress?: (progress: Progress) => void): Promise<void> {
    this.checkWritable()
    return this.exclusive(async () => {
      await this.#flush()
      await this.#compact(onProgress)
    })
  }

  refresh(options: StoreOptions): Promise<void> {
    this.checkOpen()
    return this.exclusive(async () => {
      const stack = await Stack.open(this.#store, this.#paths, options)
      const live = stack.arrays()
      for (const state of this.states.values()) checkUnmoved(state, live.get(state.definition.name))
      for (const { state, number, bytes } of await rebase(this.states.values(), live, this.blocks)) {
        await this.writeChunk(state, number, bytes, { whole: false })
      }
      this.#forgetStats()
      this.#takeOver(stack)
    })
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.blocks.clear()
    await this.exclusive(() => this.#packer.discard())
    await this.#store.close?.()
  }

  async #flush(): Promise<void> {
    if (this.changed) {
      this.checkWritable()
      const redefined = [...this.#deleted.keys()].some((name) => this.states.has(name))
      // Within one layer an array cannot be both deleted and defined: what it held below would show through the new one.
      if (redefined) await this.#withPacker((packer) => this.#addLayer([], packer))
      await this.#addLayer(this.#changedStates(), this.#packer)
      this.#packer = this.#newPacker()
    }
    if (this.#stale.size > 0) await this.#writeStats()
  }

  async #writeStats(): Promise<void> {
    try {
      await this.stats.write([...this.#stale], this.states)
    } catch (error) {
      // Chunks lie in layers that another writer has compacted away. What was flushed stands; no statistics are stored until the next flush.
      if (isHyperslabError(error, 'NotFoundError', 'ConflictError')) return
      throw error
    }
    // Another writer may have added a layer meanwhile, whose statistics these have replaced.
    const overtaken = await this.#store.stat(this.#paths.sidecar(this.#stack.top + 1))
    if (overtaken !== undefined) await this.stats.invalidate()
    this.#stale.clear()
  }

  /** The arrays that must go into the next layer. */
  #changedStates(): ArrayState[] {
    // Contradicting dictionaries of other writers are settled by stating all attributes anew.
    const restate = this.#dictionary() === undefined
    return [...this.states.values()].filter(({ changed, attributes }) => changed || (restate && attributes.size > 0))
  }

  async #addLayer(states: readonly ArrayState[], packer: BlockPacker): Promise<void> {
    const number = this.#stack.top + 1
    const key = this.#paths.sidecar(number)
    const contents = {
      number,
      base: this.#paths.base,
      arrays: states.map((state) => ({ state, chunks: state.written })),
      deleted: [...this.#deleted.values()],
      dictionary: this.#dictionary() ?? new Dictionary(),
    }
    await this.stats.invalidate()
    const layer = await publishLayer(this.#store, key, contents, packer, { ifAbsent: true })
    // From here on it is committed: nothing below may fail.
    for (const state of states) {
      state.flushed()
      this.#stale.add(state)
    }
    this.#deleted.clear()
    this.#takeOver(new Stack([...this.#stack.layers, layer]))
  }

  async #compact(onProgress: ((progress: Progress) => void) | undefined): Promise<void> {
    let sidecars = this.layers.slice(1)
    await this.#withPacker(async (packer) => {
      const arrays = await compactInto(packer, [...this.states.values()], this.blocks, onProgress)
      const contents = {
        number: 0,
        base: this.#paths.base,
        arrays,
        deleted: [],
        dictionary: this.#dictionary() ?? new Dictionary(),
      }
      const base = await publishLayer(this.#store, this.#paths.base, contents, packer, { ifAbsent: false })
      this.#takeOver(new Stack([base, ...sidecars]))
      for (const state of this.states.values()) this.#stale.add(state)
    })
    // Ascending: should this stop half way, the sidecars left are the newest, and they say nothing that the new base does not.
    for (const { key } of sidecars) {
      await this.#store.delete!(key)
      sidecars = sidecars.slice(1)
      this.#takeOver(new Stack([this.layers[0]!, ...sidecars]))
    }
    const stack = await Stack.open(this.#store, this.#paths)
    // Sidecars that are there now are another writer's, added meanwhile.
    if (stack.layers.length > 1) this.#forgetStats()
    this.#takeOver(stack)
    this.blocks.clear()
    await this.#writeStats()
  }

  /** Makes the arrays what the layers of `stack` say; pending changes stay. */
  #takeOver(stack: Stack): void {
    this.#stack = stack
    const live = stack.arrays()
    for (const [name, array] of live) {
      const state = this.states.get(name)
      if (state !== undefined) state.load(array)
      else if (!this.#deleted.has(name)) this.states.set(name, ArrayState.of(array))
    }
    for (const [name, state] of this.states) {
      if (live.has(name) || state.layer < 0) continue
      state.deleted = true
      this.states.delete(name)
    }
  }

  /** What is known of committed chunks may have been overtaken by another writer. */
  #forgetStats(): void {
    for (const state of this.states.values()) state.forgetStats()
    this.stats.forget()
  }

  #dictionary(): Dictionary | undefined {
    return Dictionary.extending(this.#stack.layers.map(({ footer }) => footer))
  }

  #newPacker(): BlockPacker {
    return newPacker(this.#store, this.#paths, this.#options)
  }

  async #withPacker(work: (packer: BlockPacker) => Promise<void>): Promise<void> {
    const packer = this.#newPacker()
    try {
      await work(packer)
    } finally {
      await packer.discard()
    }
  }
}

/** Writing takes all of these: without a listing, sidecars of an earlier container would be overlooked and shine through. */
export const canWrite = ({ stage, put, delete: remove, list }: Store): boolean =>
  [stage, put, remove, list].every((method) => method !== undefined)

/** @throws CodecError when the codec is unknown or cannot write */
export function newPacker(store: Store, paths: Paths, { codec, blockBytes }: WorkingCopyOptions): BlockPacker {
  return new BlockPacker({
    file: store.describe(paths.base),
    codec,
    targetBytes: blockBytes,
    openStage: () => store.stage!(paths.base),
  })
}

function checkUnmoved(state: ArrayState, live: LiveArray | undefined): void {
  const isNew = state.layer < 0
  if (!state.changed || (isNew ? live === undefined : live !== undefined && sameDefinition(live.definition, state.definition)))
    return
  const what = isNew ? 'defined' : 'deleted or defined anew'
  throw new HyperslabError('ConflictError', `the array was ${what} by another writer; its pending changes cannot be added`, {
    array: state.definition.name,
  })
}
