import { sameShape } from '../../core/shape.ts'
import type { ChunkAddress } from '../../engine/block.ts'
import type { ChunkStats } from '../../engine/chunk-stats.ts'
import type { ChunkGrid } from '../../grid/chunks.ts'
import { type Definition, gridFor } from '../format/definition.ts'
import type { AttributeValue } from '../format/footer.ts'
import { type AttributeMap, resolveAttributes } from './attributes.ts'
import type { Layer } from './layer.ts'
import { findIn, type LayerChunks } from './layer-chunks.ts'
import type { PendingChunk } from './pending-chunk.ts'
import { indexOf, type LayerEntry, type LiveArray } from './stack.ts'

/** A definition and the grid of its chunks. */
type Shape = Pick<ArrayState, 'definition' | 'grid'>

/** The fields of a state, writable: only its own methods change them. */
type Facts = {
  -readonly [K in keyof ArrayState]: ArrayState[K] extends ReadonlyMap<infer Key, infer Value> ? Map<Key, Value> : ArrayState[K]
}

const viewFacts = (state: ArrayState): Facts => state as unknown as Facts

/**
 * State of one array in an open container: the contents of its layers and the changes since the last flush.
 * Only methods named after events change it; all other code reads.
 */
export class ArrayState {
  readonly definition: Definition
  readonly grid: ChunkGrid
  /** Definition in the layers. Its shape may differ until the next flush. */
  readonly committed: Definition | undefined
  /** Chunks of committed layers, newest layer first. */
  readonly stored: readonly LayerChunks[] = []
  /** The layers of `stored`. */
  readonly entries: readonly LayerEntry[] = []
  /** Number of the newest layer that contains the array; -1 before the first flush. */
  readonly layer: number = -1
  /** Chunks written since the last flush, by number. */
  readonly written: ReadonlyMap<number, PendingChunk> = new Map()
  /** Whether the next flush must write something. */
  readonly changed: boolean = false
  /** Whether the changes include the attributes. */
  readonly attributesChanged: boolean = false
  /** Whether the array was deleted. Its handles then throw. */
  readonly deleted: boolean = false
  /** Known statistics of chunks, by number. */
  readonly chunkStats: ReadonlyMap<number, ChunkStats> = new Map()
  /** Statistics that were loaded from layers, with the value of `stored` that they describe. */
  readonly loaded: { readonly stored: readonly LayerChunks[]; readonly whole: ChunkStats | undefined } | undefined
  /** Undefined until first use, because programs read the attributes of few arrays. */
  #attributes: Map<string, AttributeValue> | undefined = new Map()
  #ambiguous = false

  constructor(definition: Definition) {
    this.definition = definition
    this.grid = gridFor(definition)
  }

  get attributes(): AttributeMap {
    return this.#resolved()
  }

  /** Whether the files leave the values of some attributes uncertain. */
  get ambiguous(): boolean {
    this.#resolved()
    return this.#ambiguous
  }

  /**
   * Returns one attribute. Does not resolve the others if a single layer has them all.
   * @param keysOf returns the indices of the name in a layer
   */
  attribute(name: string, keysOf: (layer: Layer) => ReadonlySet<number>): AttributeValue | undefined {
    const [entry, below] = this.entries
    if (this.#attributes !== undefined || entry === undefined || below !== undefined) return this.attributes.get(name)
    const { layer, meta } = entry
    const { keys, values } = meta.attributes
    const wanted = keysOf(layer)
    // The last one counts, as in resolving all.
    for (let i = keys.length - 1; i >= 0; i--) {
      const value = wanted.has(keys[i]!) ? layer.footer.attributeValues[values[i]!] : undefined
      if (value !== undefined) return value
    }
    return undefined
  }

  #resolved(): Map<string, AttributeValue> {
    if (this.#attributes === undefined) {
      const { attributes, ambiguous } = resolveAttributes(this.entries)
      this.#attributes = attributes
      this.#ambiguous = ambiguous
    }
    return this.#attributes
  }

  static of(live: LiveArray): ArrayState {
    const state = new ArrayState(live.definition)
    state.load(live)
    return state
  }

  /** Loads the current contents of the layers. Changes since the last flush stay. */
  load(live: LiveArray): void {
    const { length } = this.entries
    if (length === live.entries.length && live.entries.every(({ layer }, i) => isSameFile(layer, this.entries[i]!.layer))) return
    const facts = viewFacts(this)
    facts.entries = live.entries
    facts.layer = live.entries[0]!.layer.number
    if (!this.resized && !sameShape(live.definition.shape, this.definition.shape)) {
      facts.grid = gridFor(live.definition)
      facts.chunkStats = new Map()
    }
    if (!this.resized) facts.definition = live.definition
    facts.committed = live.definition
    facts.stored = live.entries.map((entry) => indexOf(entry, this.grid))
    if (!this.attributesChanged) this.#attributes = undefined
  }

  /** Returns a state with the committed contents, which changes of this one do not reach. */
  asCommitted(): ArrayState {
    return ArrayState.of({ definition: this.committed ?? this.definition, entries: this.entries })
  }

  /** Records that the array was defined, or that its description changed. */
  touched(): void {
    viewFacts(this).changed = true
  }

  /** Returns the attributes for changing, and marks them as changed. */
  attributesTouched(): Map<string, AttributeValue> {
    viewFacts(this).attributesChanged = true
    this.touched()
    return this.#resolved()
  }

  /** Replaces the attributes. */
  attributesReplaced(attributes: AttributeMap): void {
    this.#resolved()
    this.#attributes = new Map(attributes)
  }

  /** Records new contents of a chunk, to be written into a layer. Discards its statistics. */
  chunkWritten(chunkIndex: number, chunk: PendingChunk): void {
    const { chunkStats, written } = viewFacts(this)
    chunkStats.delete(chunkIndex)
    written.set(chunkIndex, chunk)
    this.touched()
  }

  /** Records the statistics of a chunk. */
  measured(chunkIndex: number, stats: ChunkStats): void {
    viewFacts(this).chunkStats.set(chunkIndex, stats)
  }

  /**
   * Records that the statistics of all chunks of these layers were loaded, and those of the whole array if
   * they are known.
   */
  statsTaken(stored: readonly LayerChunks[], whole?: ChunkStats): void {
    viewFacts(this).loaded = { stored, whole }
  }

  /** Whether the statistics in the layers were loaded. */
  get statsLoaded(): boolean {
    return this.loaded?.stored === this.stored
  }

  /** Statistics of the whole array, if the layers have them and they were loaded. Their sum is undefined. */
  get whole(): ChunkStats | undefined {
    return this.statsLoaded ? this.loaded!.whole : undefined
  }

  /** Discards the statistics of some chunks. */
  unmeasured(numbers: Iterable<number>): void {
    for (const chunkIndex of numbers) viewFacts(this).chunkStats.delete(chunkIndex)
  }

  /**
   * Changes the shape. Fields that are keyed by chunk number are passed along if the numbers differ in the
   * new grid.
   */
  reshaped(next: Shape & Partial<Pick<ArrayState, 'written' | 'chunkStats' | 'stored'>>): void {
    Object.assign(this, next)
    this.touched()
  }

  /** Records that the array was deleted, here or by another writer. */
  dropped(): void {
    viewFacts(this).deleted = true
  }

  /** Whether the shape has changed since the last flush. */
  get resized(): boolean {
    return this.committed !== undefined && !sameShape(this.committed.shape, this.definition.shape)
  }

  /** Records that the pending changes are in a layer now. */
  flushed(): void {
    const facts = viewFacts(this)
    facts.written.clear()
    facts.changed = false
    facts.attributesChanged = false
  }

  /** Discards statistics, because other writers may have changed any chunk except the pending ones. */
  forgetStats(): void {
    viewFacts(this).loaded = undefined
    viewFacts(this).chunkStats = new Map([...this.chunkStats].filter(([chunkIndex]) => this.written.has(chunkIndex)))
  }

  /**
   * Returns the location of the newest committed version of a chunk; `undefined` if the chunk is not stored.
   */
  find(chunkIndex: number): ChunkAddress | undefined {
    return findIn(this.stored, chunkIndex)
  }

  /**
   * Returns the newest version of a chunk: its bytes while it is not packed, otherwise its location;
   * `undefined` if the chunk is not stored.
   */
  newest(chunkIndex: number): Uint8Array | ChunkAddress | undefined {
    return newestIn(this.written, this.stored, chunkIndex)
  }

  /** Number of chunks in the committed layers, with every version counted. */
  get storedCount(): number {
    return this.stored.reduce((sum, { length }) => sum + length, 0)
  }

  /** Returns the numbers of all stored chunks, including pending ones, oldest layer first. */
  numbers(): Set<number> {
    const numbers = new Set<number>()
    for (const index of [...this.stored].reverse()) for (const chunkIndex of index.numbers()) numbers.add(chunkIndex)
    for (const chunkIndex of this.written.keys()) numbers.add(chunkIndex)
    return numbers
  }
}

/**
 * Whether two layers are one version of one file. Servers without versions give different files the same one,
 * so identities count, too.
 */
const isSameFile = (a: Layer, b: Layer): boolean => a === b || (a.cacheKey === b.cacheKey && a.identity.id === b.identity.id)

/**
 * Returns the newest version of a chunk: its bytes while it is not packed, otherwise its location;
 * `undefined` if the chunk is not stored.
 * @param written chunks since the last flush, by number
 * @param stored chunks in layers, the newest first
 */
export function newestIn(
  written: ReadonlyMap<number, PendingChunk>,
  stored: readonly LayerChunks[],
  chunkIndex: number,
): Uint8Array | ChunkAddress | undefined {
  const pending = written.get(chunkIndex)
  return pending?.bytes ?? pending?.address ?? findIn(stored, chunkIndex)
}
