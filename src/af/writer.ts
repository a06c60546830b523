import type { Progress } from '../array/transfers.js'
import { HyperslabError, isHyperslabError } from '../core/errors.js'
import type { Store, StoreOptions } from '../store/store.js'
import type { ArrayState } from './array-state.js'
import { publishLayer } from './commit.js'
import { compactInto } from './compact.js'
import { publishCovered } from './cover.js'
import { Dictionary } from './dictionary.js'
import type { Layer } from './layer.js'
import { BlockPacker } from './packer.js'
import type { Paths } from './paths.js'
import { attributeChanges, changeAttributes, checkUnmoved, rebase } from './rebase.js'
import { measuredChunk, resize } from './resize.js'
import { Stack } from './stack.js'
import type { WorkingCopy, WorkingCopyOptions } from './working-copy.js'

/** Packs the changes of a working copy and publishes them as layers. */
export class Writer {
  readonly #copy: WorkingCopy
  /** Arrays whose stored statistics are not up to date. */
  readonly #stale = new Set<ArrayState>()
  /** The file of statistics has to be written: it was removed before a layer was added. */
  #statsDue = false
  #packer: BlockPacker

  /** @throws CodecError when the codec is unknown or cannot write */
  constructor(copy: WorkingCopy) {
    this.#copy = copy
    this.#packer = this.#newPacker()
  }

  /** Gives a chunk new contents, `whole` when every element of it was given. */
  async put(state: ArrayState, number: number, bytes: Uint8Array, { whole }: { readonly whole: boolean }): Promise<void> {
    state.chunkStats.delete(number)
    let chunk = state.written.get(number)
    if (chunk === undefined) {
      chunk = measuredChunk(number, () => state)
      chunk.partial = !whole
      state.written.set(number, chunk)
    }
    if (whole) chunk.partial = false
    state.changed = true
    await this.#packer.put(chunk, bytes)
  }

  /** Gives an array the shape that `shapeOf` makes of the one it has then. */
  resize(state: ArrayState, shapeOf: (shape: readonly number[]) => readonly number[]): Promise<void> {
    return this.#copy.exclusive(async () => {
      if (state.deleted) throw new HyperslabError('UnknownArrayError', 'this array was deleted')
      await this.#resize(state, shapeOf(state.grid.shape), this.#copy.layers)
    })
  }

  #resize(state: ArrayState, shape: readonly number[], layers: readonly Layer[]): Promise<void> {
    return resize(state, shape, { packer: this.#packer, blocks: this.#copy.blocks, layers })
  }

  /** Forgets the pending chunks of an array. */
  drop(state: ArrayState): void {
    for (const chunk of state.written.values()) this.#packer.drop(chunk)
  }

  flush(): Promise<void> {
    this.#copy.checkOpen()
    return this.#copy.exclusive(() => this.#flush())
  }

  compact(onProgress?: (progress: Progress) => void): Promise<void> {
    this.#copy.checkWritable()
    return this.#copy.exclusive(async () => {
      await this.#flush()
      await this.#compact(onProgress)
    })
  }

  refresh(options: StoreOptions): Promise<void> {
    const { states, deleted, blocks, store, paths, options: settings } = this.#copy
    this.#copy.checkOpen()
    return this.#copy.exclusive(async () => {
      const stack = await Stack.open(store, paths, settings.limits, { ...options, layer: settings.layer }, this.#copy.stack)
      const live = stack.arrays()
      for (const state of states.values()) {
        const { name } = state.definition
        checkUnmoved(state, live.get(name), deleted.get(name))
      }
      // Where another writer has resized an array, chunks that are pending here get the shapes they have there.
      for (const state of states.values()) {
        const theirs = live.get(state.definition.name)?.definition
        if (theirs && state.layer >= 0 && state.written.size > 0 && !state.resized) await this.#resize(state, theirs.shape, [])
      }
      for (const { state, number, bytes } of await rebase(states.values(), live, blocks)) {
        await this.put(state, number, bytes, { whole: false })
      }
      await this.#forgetStats()
      const changed = [...states.values()].filter((state) => state.attributesChanged)
      const changes = changed.map(attributeChanges)
      this.#copy.takeOver(stack)
      for (const [i, state] of changed.entries()) changeAttributes(state, changes[i]!)
    })
  }

  discard(): Promise<void> {
    return this.#packer.discard()
  }

  async #flush(): Promise<void> {
    const { changed, deleted, states } = this.#copy
    if (changed) {
      this.#copy.checkWritable()
      const redefined = [...deleted.keys()].some((name) => states.has(name))
      // Within one layer an array cannot be both deleted and defined: what it held below would show through the new one.
      if (redefined) await this.#withPacker((packer) => this.#addLayer([], packer))
      const packed = this.#packer
      await this.#addLayer(this.#changedStates(), packed)
      this.#packer = this.#newPacker()
      // It is committed: what cannot be cleaned up now is no reason to say that it is not.
      await packed.discard().catch(() => undefined)
    }
    if (this.#statsDue) await this.#writeStats()
  }

  async #writeStats(): Promise<void> {
    const { stack, states, store, paths } = this.#copy
    const stats = await this.#copy.stats()
    try {
      await stats.write([...this.#stale], states)
    } catch (error) {
      // Chunks lie in layers that another writer has compacted away. What was flushed stands; no statistics are stored until the next flush.
      if (isHyperslabError(error, 'NotFoundError', 'ConflictError')) return
      throw error
    }
    // Another writer may have added a layer meanwhile, whose statistics these have replaced.
    const overtaken = await store.stat(paths.sidecar(stack.top + 1))
    if (overtaken !== undefined) await stats.invalidate()
    this.#stale.clear()
    this.#statsDue = false
  }

  /** The arrays that must go into the next layer. */
  #changedStates(): ArrayState[] {
    // Contradicting dictionaries of other writers are settled by stating all attributes anew.
    const restate = this.#dictionary() === undefined
    return [...this.#copy.states.values()].filter(({ changed, attributes }) => changed || (restate && attributes.size > 0))
  }

  async #addLayer(states: readonly ArrayState[], packer: BlockPacker): Promise<void> {
    const { stack, store, paths, deleted, options } = this.#copy
    const number = stack.top + 1
    const layer = await publishCovered(states, stack.layers, packer, async (arrays) => {
      const dictionary = this.#dictionary() ?? new Dictionary()
      const contents = { number, base: paths.base, arrays, deleted: [...deleted.values()], dictionary }
      await (await this.#copy.stats()).invalidate()
      return publishLayer(store, paths.sidecar(number), contents, packer, { ifAbsent: true, extras: options.extras })
    })
    // From here on it is committed: nothing below may fail.
    for (const state of states) {
      state.flushed()
      this.#stale.add(state)
    }
    this.#statsDue = true
    deleted.clear()
    this.#copy.takeOver(new Stack([...stack.layers, layer]))
  }

  async #compact(onProgress: ((progress: Progress) => void) | undefined): Promise<void> {
    const { states, store, paths, blocks, options } = this.#copy
    let sidecars = this.#copy.layers.slice(1)
    await this.#withPacker(async (packer) => {
      const arrays = await compactInto(packer, [...states.values()], blocks, { recode: options.recode, onProgress })
      const dictionary = this.#dictionary() ?? new Dictionary()
      const contents = { number: 0, base: paths.base, arrays, deleted: [], dictionary }
      const base = await publishLayer(store, paths.base, contents, packer, { ifAbsent: false, extras: options.extras })
      this.#copy.takeOver(new Stack([base, ...sidecars]))
      for (const state of states.values()) this.#stale.add(state)
      this.#statsDue = true
    })
    // Ascending: should this stop half way, the sidecars left are the newest, and they say nothing that the new base does not.
    for (const { key } of sidecars) {
      await store.delete!(key)
      sidecars = sidecars.slice(1)
      this.#copy.takeOver(new Stack([this.#copy.layers[0]!, ...sidecars]))
    }
    const stack = await Stack.open(store, paths, options.limits)
    // Sidecars that are there now are another writer's, added meanwhile.
    if (stack.layers.length > 1) await this.#forgetStats()
    this.#copy.takeOver(stack)
    blocks.clear()
    await this.#writeStats()
  }

  /** What is known of committed chunks may have been overtaken by another writer. */
  async #forgetStats(): Promise<void> {
    for (const state of this.#copy.states.values()) state.forgetStats()
    ;(await this.#copy.stats()).forget()
  }

  #dictionary(): Dictionary | undefined {
    return Dictionary.extending(this.#copy.layers.map(({ footer }) => footer))
  }

  #newPacker(): BlockPacker {
    const { store, paths, options } = this.#copy
    return newPacker(store, paths, options)
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

/** Little enough to fetch for one point, yet four times what a match reaches back: the first bytes of a segment have nothing to match. */
const SEGMENT_BYTES = 256 * 1024

/** @throws CodecError when the codec is unknown or cannot write */
export function newPacker(
  store: Store,
  paths: Paths,
  { codecs, codec, verifyWrites, blockBytes, extras, segmentBytes = SEGMENT_BYTES }: WorkingCopyOptions,
): BlockPacker {
  return new BlockPacker({
    file: store.describe(paths.base),
    codecs,
    codec,
    verifyWrites,
    targetBytes: blockBytes,
    // Without the extras nobody would know of them.
    ...(extras && { segmentBytes }),
    openStage: () => store.stage!(paths.base),
  })
}
