import type { Progress } from '../../array/transfers.ts'
import { HyperslabError, isHyperslabError } from '../../core/errors.ts'
import { sameShape } from '../../core/shape.ts'
import type { BlockReader } from '../../engine/block-reader.ts'
import type { StoreOptions } from '../../store/store.ts'
import { type Definition, sameButShape } from '../format/definition.ts'
import { randomId } from '../format/encode.ts'
import type { ArrayState } from '../layers/array-state.ts'
import { Dictionary } from '../layers/dictionary.ts'
import type { Layer } from '../layers/layer.ts'
import { checkLayerCount } from '../layers/layer-count.ts'
import { sumFooterBytes } from '../layers/opening.ts'
import { Stack } from '../layers/stack.ts'
import { deadFile, type NextNumber, nextNumber, overtaken, withdraw } from './clean.ts'
import { isConflict, publishEmpty, publishLayer, withLayer } from './commit.ts'
import { cleanUp, compactContainer, finish, listed } from './compaction.ts'
import { type ContainerFiles, checkReplaces, isBase, newPacker } from './container-files.ts'
import { publishCovered } from './cover.ts'
import type { BlockPacker } from './packer.ts'
import { attributeChanges, changeAttributes, checkUnmoved, rebase } from './rebase.ts'
import { measuredChunk, resize } from './resize.ts'
import type { StatsKeeper } from './stats-keeper.ts'

/** An open container as its writer sees it: the changes since the last flush, and the layers below them. */
export interface WriteSession extends ContainerFiles {
  readonly blocks: BlockReader
  readonly stack: Stack
  readonly layers: readonly Layer[]
  /** The arrays that exist, by name. */
  readonly states: ReadonlyMap<string, ArrayState>
  /** Arrays of committed layers that were deleted since the last flush. Cleared once that is committed. */
  readonly deleted: Map<string, Definition>
  /** Whether there is anything to flush. */
  readonly changed: boolean
  checkOpen(): void
  checkWritable(): void
  exclusive<T>(work: () => Promise<T>): Promise<T>
  /** Replaces the arrays by those in the layers of `stack`. Pending changes stay. */
  takeOver(stack: Stack): void
  /** Runs work after a commit. If it fails, the commit remains valid. */
  afterCommit(what: string, work: () => Promise<void>): Promise<void>
  stats(): Promise<StatsKeeper>
}

/** Packs the changes of a session and publishes them as layers. */
export class Writer {
  readonly #session: WriteSession
  /** Arrays whose stored statistics are not up to date. */
  readonly #stale = new Set<ArrayState>()
  /** Whether the statistics file must be written, because it was removed before a layer was added. */
  #statsDue = false
  #packer: BlockPacker
  /**
   * Ids of layers whose publication was reported as failed, since the last success. A request can be carried
   * out late.
   */
  readonly #attempts = new Set<string>()

  /** @throws CodecError if the codec is unknown or cannot encode */
  constructor(session: WriteSession) {
    this.#session = session
    this.#packer = newPacker(session)
  }

  /** Sets new contents of a chunk. `whole`: whether every element of it was given. */
  async put(state: ArrayState, chunkIndex: number, bytes: Uint8Array, { whole }: { readonly whole: boolean }): Promise<void> {
    const before = state.written.get(chunkIndex)
    const chunk = before ?? measuredChunk(chunkIndex, () => state)
    chunk.partial = !whole && (before?.partial ?? true)
    state.chunkWritten(chunkIndex, chunk)
    await this.#packer.put(chunk, bytes)
  }

  /** Resizes an array to the shape that `shapeOf` returns for its shape at that time. */
  resize(state: ArrayState, shapeOf: (shape: readonly number[]) => readonly number[]): Promise<void> {
    return this.#session.exclusive(async () => {
      if (state.deleted) throw new HyperslabError('UnknownArrayError', 'this array was deleted')
      await this.#resize(state, shapeOf(state.grid.shape), this.#session.layers)
    })
  }

  #resize(state: ArrayState, shape: readonly number[], layers: readonly Layer[]): Promise<void> {
    return resize(state, shape, { packer: this.#packer, blocks: this.#session.blocks, layers })
  }

  /** Removes the pending chunks of an array. */
  drop(state: ArrayState): void {
    for (const chunk of state.written.values()) this.#packer.drop(chunk)
  }

  flush(): Promise<void> {
    this.#session.checkOpen()
    return this.#session.exclusive(() => this.#flush())
  }

  compact(onProgress?: (progress: Progress) => void): Promise<void> {
    this.#session.checkWritable()
    return this.#session.exclusive(async () => {
      await this.#flush({ compacts: true })
      const { stack, states } = await compactContainer(this.#session, this.#session.blocks, this.#session.stack, onProgress)
      this.#takeNewer(stack)
      this.#session.blocks.clear()
      await this.#forgetStats()
      for (const state of this.#session.states.values()) this.#stale.add(state)
      for (const compacted of states) this.#takeStats(compacted)
      this.#statsDue = true
      await this.#writeStats()
    })
  }

  /** Adopts the statistics that compaction has computed for the chunks of an array. */
  #takeStats({ definition, grid, chunkStats }: ArrayState): void {
    const state = this.#session.states.get(definition.name)
    if (state === undefined || !sameShape(state.grid.shape, grid.shape) || !sameButShape(state.definition, definition)) return
    const { base } = this.#session.stack
    for (const [chunkIndex, stats] of chunkStats) {
      // Another writer may have added a layer since.
      if (!state.written.has(chunkIndex) && state.find(chunkIndex)?.block.origin === base) state.measured(chunkIndex, stats)
    }
  }

  refresh(options: StoreOptions): Promise<void> {
    this.#session.checkOpen()
    return this.#session.exclusive(() => this.#refresh(options))
  }

  async #refresh(options: StoreOptions = {}): Promise<void> {
    const { states, deleted, blocks, store, paths, options: settings } = this.#session
    const stack = await Stack.open(store, paths, settings.limits, { ...options, layer: settings.layer }, this.#session.stack)
    this.#takeOwn(stack)
    const live = stack.arrays()
    for (const state of states.values()) {
      const { name } = state.definition
      checkUnmoved(state, live.get(name), deleted.get(name))
    }
    // If another writer has resized an array, its pending chunks here get the shapes of the new grid.
    for (const state of states.values()) {
      const theirs = live.get(state.definition.name)?.definition
      if (theirs && state.layer >= 0 && state.written.size > 0 && !state.resized) await this.#resize(state, theirs.shape, [])
    }
    for (const { state, chunkIndex, bytes } of await rebase(states.values(), live, blocks)) {
      await this.put(state, chunkIndex, bytes, { whole: false })
    }
    await this.#forgetStats()
    this.#takeNewer(stack)
  }

  /**
   * Adopts a state to which others may have added. Attributes that were changed here override those in it.
   */
  #takeNewer(stack: Stack): void {
    const changed = [...this.#session.states.values()].filter((state) => state.attributesChanged)
    const changes = changed.map(attributeChanges)
    this.#session.takeOver(stack)
    for (const [i, state] of changed.entries()) changeAttributes(state, changes[i]!)
  }

  discard(): Promise<void> {
    return this.#packer.discard()
  }

  /**
   * Adopts a layer of ours that was published although its publication was reported as failed. Its contents
   * are committed. The pending changes repeat them, perhaps with more.
   * @returns whether there is such a layer, and none above it
   */
  #takeOwn(stack: Stack): boolean {
    const own = stack.layers.findLastIndex(({ identity: { id } }) => this.#attempts.has(id))
    if (own < 0) return false
    this.#attempts.clear()
    this.#session.takeOver(new Stack(stack.layers.slice(0, own + 1)))
    return own === stack.layers.length - 1
  }

  /** @param compacts whether compaction follows at once: the footers may then exceed the limit of readers */
  async #flush({ compacts = false } = {}): Promise<void> {
    if (this.#session.changed) {
      this.#session.checkWritable()
      const packer = this.#packer
      const earlier = this.#attempts.size > 0
      try {
        await this.#append(compacts)
      } catch (error) {
        // The other writer may have been this one.
        if (!earlier || !isConflict(error) || !this.#takeOwn(await this.#reopen())) throw error
        await this.#append(compacts)
      }
      this.#packer = newPacker(this.#session)
      await this.#session.afterCommit('temporary files could not be removed', () => packer.discard())
    }
    if (this.#statsDue) await this.#writeStats()
  }

  /** Writes statistics after a flush. If they cannot be stored, they are computed on request. */
  #writeStats(): Promise<void> {
    return this.#session.afterCommit('statistics could not be stored', async () => {
      const { stack, states, store, paths } = this.#session
      const stats = await this.#session.stats()
      try {
        await stats.write([...this.#stale], states)
      } catch (error) {
        // Another writer has compacted the layers of these chunks. Writers that know the newest state will
        // write its statistics.
        if (!isHyperslabError(error, 'NotFoundError', 'ConflictError')) throw error
      }
      // Another writer may have added a layer meanwhile, and other programs do not see which state these
      // statistics describe.
      const dead = stack.dead.find(({ number }) => number === stack.top + 1)
      const next = await store.stat(paths.sidecar(stack.top + 1))
      const overtaken = next?.etag !== dead?.info.etag || !(await isBase(this.#session, stack))
      if (overtaken) await stats.invalidate()
      this.#stale.clear()
      this.#statsDue = false
    })
  }

  /** Returns the arrays that must go into the next layer. */
  #changedStates(): ArrayState[] {
    // Contradicting dictionaries of other writers are resolved by writing all attributes anew.
    const restate = this.#dictionary() === undefined
    return [...this.#session.states.values()].filter(({ changed, attributes }) => changed || (restate && attributes.size > 0))
  }

  /**
   * Publishes the pending changes as a layer, or in place of an initial base, as docs/commit-protocol.md
   * describes.
   * @param compacts as of `#flush`
   */
  async #append(compacts: boolean): Promise<void> {
    const { stack, store, paths, deleted, options, blocks } = this.#session
    if (!(await isBase(this.#session, stack))) throw overtaken()
    if (stack.closed) {
      await finish(this.#session, blocks, stack)
      await this.#refresh()
      return this.#append(compacts)
    }
    const first = stack.base.identity.kind === 'initial'
    if (first) await checkReplaces(this.#session, 'the first flush')
    // No writer of this package adds layers to an initial base, so that it can be replaced, but another
    // program has.
    if (first && stack.layers.length > 1) {
      await this.#settleBase()
      return this.#append(compacts)
    }
    const { number, condition, cleaned }: NextNumber = first
      ? { number: 0, condition: { ifAbsent: false, ifMatch: stack.base.info.etag } }
      : await nextNumber(this.#session, stack)
    if (cleaned) {
      await this.#refresh()
      return this.#append(compacts)
    }
    const states = this.#changedStates()
    const packer = this.#packer
    checkLayerCount(number, options.limits, store.describe(paths.base))
    const id = randomId()
    const base = stack.base.identity.id
    const identity = first ? ({ id, kind: 'base', merged: listed(stack.dead) } as const) : ({ id, kind: 'layer', base } as const)
    const layer = await publishCovered(states, stack.layers, packer, async (arrays) => {
      const dictionary = this.#dictionary() ?? new Dictionary()
      const contents = { number, base: paths.base, arrays, deleted: [...deleted.values()], dictionary, identity }
      await (await this.#session.stats()).invalidate()
      this.#attempts.add(id)
      const key = number === 0 ? paths.base : paths.sidecar(number)
      const others = [stack.base, ...stack.sidecars].filter((other) => other.number !== number)
      const besides = compacts ? 0 : sumFooterBytes(others)
      return publishLayer(store, key, contents, packer, { ...options, condition, besides })
    })
    if (!first && !(await isBase(this.#session, stack))) {
      const now = await cleanUp(this.#session)
      // A file of footer version 6 has no layers, so no later cleaning would remove this one.
      if (now.base.immutable) await withdraw(this.#session, deadFile(layer))
      throw overtaken()
    }
    // The changes are committed: nothing below may fail.
    this.#attempts.clear()
    for (const state of states) {
      state.flushed()
      this.#stale.add(state)
    }
    this.#statsDue = true
    deleted.clear()
    this.#session.takeOver(first ? new Stack([layer]) : withLayer(stack, layer))
  }

  /** Publishes an initial base as one that takes layers. */
  async #settleBase(): Promise<void> {
    const { stack, store, paths, options } = this.#session
    const { layers, dead, base } = stack
    const identity = { kind: 'base', merged: base.identity.merged ?? [] } as const
    const condition = { ifAbsent: false, ifMatch: base.info.etag }
    const place = { number: 0, base: paths.base }
    const settled = await publishEmpty(store, paths.base, place, identity, newPacker(this.#session), { ...options, condition })
    this.#session.takeOver(new Stack([settled, ...layers.slice(1), ...dead]))
  }

  #reopen(): Promise<Stack> {
    const { store, paths, options } = this.#session
    return Stack.open(store, paths, options.limits)
  }

  /** Discards statistics of committed chunks, because another writer may have changed them. */
  async #forgetStats(): Promise<void> {
    for (const state of this.#session.states.values()) state.forgetStats()
    ;(await this.#session.stats()).forget()
  }

  #dictionary(): Dictionary | undefined {
    return Dictionary.extending(this.#session.layers.map(({ footer }) => footer))
  }
}
