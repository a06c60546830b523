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
import { footerBytesOf } from '../layers/opening.ts'
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

/**
 * An open container as its writer sees it: what was changed since the last flush, and the layers under it.
 */
export interface WriteSession extends ContainerFiles {
  readonly blocks: BlockReader
  readonly stack: Stack
  readonly layers: readonly Layer[]
  /** The arrays that exist, by name. */
  readonly states: ReadonlyMap<string, ArrayState>
  /** Arrays of committed layers that were deleted since the last flush; cleared once that is committed. */
  readonly deleted: Map<string, Definition>
  /** Whether there is anything to flush. */
  readonly changed: boolean
  checkOpen(): void
  checkWritable(): void
  exclusive<T>(work: () => Promise<T>): Promise<T>
  /** Makes the arrays what the layers of `stack` say; pending changes stay. */
  takeOver(stack: Stack): void
  /** Runs what follows a commit, which stands should it fail. */
  afterCommit(what: string, work: () => Promise<void>): Promise<void>
  stats(): Promise<StatsKeeper>
}

/** Packs the changes of a session and publishes them as layers. */
export class Writer {
  readonly #session: WriteSession
  /** Arrays whose stored statistics are not up to date. */
  readonly #stale = new Set<ArrayState>()
  /** The file of statistics has to be written: it was removed before a layer was added. */
  #statsDue = false
  #packer: BlockPacker
  /**
   * Ids of layers that we were told were not published, since the last that was: a request can be carried out
   * late.
   */
  readonly #attempts = new Set<string>()

  /** @throws CodecError when the codec is unknown or cannot write */
  constructor(session: WriteSession) {
    this.#session = session
    this.#packer = newPacker(session)
  }

  /** Gives a chunk new contents, `whole` when every element of it was given. */
  async put(state: ArrayState, number: number, bytes: Uint8Array, { whole }: { readonly whole: boolean }): Promise<void> {
    const before = state.written.get(number)
    const chunk = before ?? measuredChunk(number, () => state)
    chunk.partial = !whole && (before?.partial ?? true)
    state.chunkWritten(number, chunk)
    await this.#packer.put(chunk, bytes)
  }

  /** Gives an array the shape that `shapeOf` makes of the one it has then. */
  resize(state: ArrayState, shapeOf: (shape: readonly number[]) => readonly number[]): Promise<void> {
    return this.#session.exclusive(async () => {
      if (state.deleted) throw new HyperslabError('UnknownArrayError', 'this array was deleted')
      await this.#resize(state, shapeOf(state.grid.shape), this.#session.layers)
    })
  }

  #resize(state: ArrayState, shape: readonly number[], layers: readonly Layer[]): Promise<void> {
    return resize(state, shape, { packer: this.#packer, blocks: this.#session.blocks, layers })
  }

  /** Forgets the pending chunks of an array. */
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

  /** What compacting has learnt of the chunks of an array. */
  #takeStats({ definition, grid, chunkStats }: ArrayState): void {
    const state = this.#session.states.get(definition.name)
    if (state === undefined || !sameShape(state.grid.shape, grid.shape) || !sameButShape(state.definition, definition)) return
    const { base } = this.#session.stack
    for (const [number, stats] of chunkStats) {
      // Another writer may have added a layer since.
      if (!state.written.has(number) && state.find(number)?.block.origin === base) state.measured(number, stats)
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
    // Where another writer has resized an array, chunks that are pending here get the shapes they have there.
    for (const state of states.values()) {
      const theirs = live.get(state.definition.name)?.definition
      if (theirs && state.layer >= 0 && state.written.size > 0 && !state.resized) await this.#resize(state, theirs.shape, [])
    }
    for (const { state, number, bytes } of await rebase(states.values(), live, blocks)) {
      await this.put(state, number, bytes, { whole: false })
    }
    await this.#forgetStats()
    this.#takeNewer(stack)
  }

  /**
   * Takes over a state that others may have added to: attributes that were changed here are laid over theirs.
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
   * A layer of ours that was published though we were told that it was not: what it says is committed; what
   * is pending says it again, and perhaps more.
   * @returns whether there is such a layer, and none above it
   */
  #takeOwn(stack: Stack): boolean {
    const own = stack.layers.findLastIndex(({ identity: { id } }) => this.#attempts.has(id))
    if (own < 0) return false
    this.#attempts.clear()
    this.#session.takeOver(new Stack(stack.layers.slice(0, own + 1)))
    return own === stack.layers.length - 1
  }

  /** @param compacts it is compacted at once: then the footers may be more than readers take */
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

  /** What was flushed stands: without statistics in the store, they are computed when they are asked for. */
  #writeStats(): Promise<void> {
    return this.#session.afterCommit('statistics could not be stored', async () => {
      const { stack, states, store, paths } = this.#session
      const stats = await this.#session.stats()
      try {
        await stats.write([...this.#stale], states)
      } catch (error) {
        // Chunks lie in layers that another writer has compacted away; who knows the newest state will write
        // its statistics.
        if (!isHyperslabError(error, 'NotFoundError', 'ConflictError')) throw error
      }
      // Another writer may have added a layer meanwhile. Other programs do not see whose statistics these
      // are.
      const dead = stack.dead.find(({ number }) => number === stack.top + 1)
      const next = await store.stat(paths.sidecar(stack.top + 1))
      const overtaken = next?.etag !== dead?.info.etag || !(await isBase(this.#session, stack))
      if (overtaken) await stats.invalidate()
      this.#stale.clear()
      this.#statsDue = false
    })
  }

  /** The arrays that must go into the next layer. */
  #changedStates(): ArrayState[] {
    // Contradicting dictionaries of other writers are settled by stating all attributes anew.
    const restate = this.#dictionary() === undefined
    return [...this.#session.states.values()].filter(({ changed, attributes }) => changed || (restate && attributes.size > 0))
  }

  /**
   * Publishes what is pending as a layer, or in place of an initial base, as docs/commit-protocol.md
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
    // Nobody of ours adds to an initial base, so that it can be replaced; but another program has.
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
      const besides = compacts ? 0 : footerBytesOf(others)
      return publishLayer(store, key, contents, packer, { ...options, condition, besides })
    })
    if (!first && !(await isBase(this.#session, stack))) {
      const now = await cleanUp(this.#session)
      // A file of footer version 6 has no layers, so that none of its own can be cleaned up after it.
      if (now.base.immutable) await withdraw(this.#session, deadFile(layer))
      throw overtaken()
    }
    // From here on it is committed: nothing below may fail.
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

  /** What is known of committed chunks may have been overtaken by another writer. */
  async #forgetStats(): Promise<void> {
    for (const state of this.#session.states.values()) state.forgetStats()
    ;(await this.#session.stats()).forget()
  }

  #dictionary(): Dictionary | undefined {
    return Dictionary.extending(this.#session.layers.map(({ footer }) => footer))
  }
}
