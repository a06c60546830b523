import { sameShape } from '../../core/shape.ts'
import type { ChunkAddress, ChunkBytes } from '../../engine/block.ts'
import type { ChunkStats } from '../../engine/chunk-stats.ts'
import type { ChunkGrid } from '../../grid/chunks.ts'
import type { Arena } from '../../kernels/arena.ts'
import { type Definition, gridFor } from '../format/definition.ts'
import type { AttributeValue } from '../format/footer.ts'
import { type AttributeMap, resolveAttributes } from './attributes.ts'
import type { Layer } from './layer.ts'
import { findIn, type LayerChunks } from './layer-chunks.ts'
import { indexOf, type LayerEntry, type LiveArray } from './stack.ts'

/** A definition and the grid of its chunks. */
type Shape = Pick<ArrayState, 'definition' | 'grid'>

/** The facts of a state as its own transitions see them: they alone change them. */
type Facts = {
  -readonly [K in keyof ArrayState]: ArrayState[K] extends ReadonlyMap<infer Key, infer Value> ? Map<Key, Value> : ArrayState[K]
}

const factsOf = (state: ArrayState): Facts => state as unknown as Facts

/**
 * What an open container knows of one array: what its layers hold and what was changed since the last flush.
 * Methods that name what has happened change it; everybody else reads.
 */
export class ArrayState {
  readonly definition: Definition
  readonly grid: ChunkGrid
  /** What the layers say it is: until the next flush its shape may be another. */
  readonly committed: Definition | undefined
  /** Chunks of committed layers, newest layer first. */
  readonly stored: readonly LayerChunks[] = []
  /** The layers they are from. */
  readonly entries: readonly LayerEntry[] = []
  /** Number of the newest layer that mentions the array; -1 before the first. */
  readonly layer: number = -1
  /** Chunks written since the last flush, by number. */
  readonly written: ReadonlyMap<number, PendingChunk> = new Map()
  /** Something has to be written at the next flush. */
  readonly changed: boolean = false
  /** The attributes are among it. */
  readonly attributesChanged: boolean = false
  /** The array was deleted; its handles refuse to work. */
  readonly deleted: boolean = false
  /** Statistics of chunks that were seen, by number. */
  readonly chunkStats: ReadonlyMap<number, ChunkStats> = new Map()
  /** Statistics of the whole array, once they are loaded. Their sum is undefined. */
  readonly whole: ChunkStats | undefined
  /** The `stored` whose statistics were taken in. */
  readonly described: readonly LayerChunks[] | undefined
  /** Undefined until it is read, because programs read the attributes of few arrays. */
  #attributes: Map<string, AttributeValue> | undefined = new Map()
  #ambiguous = false
  /** Identity of the layers that `stored` came from. */
  #layers = ''

  constructor(definition: Definition) {
    this.definition = definition
    this.grid = gridFor(definition)
  }

  get attributes(): AttributeMap {
    return this.#resolved()
  }

  /** The files do not say for certain which values some of the attributes have. */
  get ambiguous(): boolean {
    this.#resolved()
    return this.#ambiguous
  }

  /**
   * Returns one attribute, without resolving the others if a single layer has them all.
   * @param keysOf the indices that the name has in a layer
   */
  attribute(name: string, keysOf: (layer: Layer) => ReadonlySet<number>): AttributeValue | undefined {
    const [entry, below] = this.entries
    if (this.#attributes !== undefined || entry === undefined || below !== undefined) return this.attributes.get(name)
    const { layer, meta } = entry
    const { keys, values } = meta.attributes
    const wanted = keysOf(layer)
    // The last one counts, as when all are resolved.
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

  /** Takes over what the layers hold now. What was changed here since the last flush stays. */
  load(live: LiveArray): void {
    const layers = live.entries.map(({ layer }) => layer.info.etag).join()
    if (layers === this.#layers) return
    this.#layers = layers
    const facts = factsOf(this)
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

  /** The array was defined, or what is to be said of it has changed. */
  touched(): void {
    factsOf(this).changed = true
  }

  /** The attributes are going to be changed, in what is returned. */
  attributesTouched(): Map<string, AttributeValue> {
    factsOf(this).attributesChanged = true
    this.touched()
    return this.#resolved()
  }

  /** The attributes are others. */
  attributesReplaced(attributes: AttributeMap): void {
    this.#resolved()
    this.#attributes = new Map(attributes)
  }

  /** A chunk has new contents on their way into a layer: what was known of it is not so any more. */
  chunkWritten(number: number, chunk: PendingChunk): void {
    const { chunkStats, written } = factsOf(this)
    chunkStats.delete(number)
    written.set(number, chunk)
    this.touched()
  }

  /** Statistics of a chunk were taken. */
  measured(number: number, stats: ChunkStats): void {
    factsOf(this).chunkStats.set(number, stats)
  }

  /**
   * Called after the statistics of all chunks of some layers were loaded, with those of the whole array if
   * they are known.
   */
  statsTaken(stored: readonly LayerChunks[], whole?: ChunkStats): void {
    factsOf(this).described = stored
    factsOf(this).whole = whole
  }

  /** What was known of some chunks is not so any more. */
  unmeasured(numbers: Iterable<number>): void {
    for (const number of numbers) factsOf(this).chunkStats.delete(number)
  }

  /** The array has another shape; what is kept by number comes along where numbers differ in the new grid. */
  reshaped(next: Shape & Partial<Pick<ArrayState, 'written' | 'chunkStats' | 'stored'>>): void {
    Object.assign(this, next)
    this.touched()
  }

  /** The array was deleted, here or by another writer. */
  dropped(): void {
    factsOf(this).deleted = true
  }

  /** The shape was changed since the last flush. */
  get resized(): boolean {
    return this.committed !== undefined && !sameShape(this.committed.shape, this.definition.shape)
  }

  /** What was pending is in a layer now. */
  flushed(): void {
    const facts = factsOf(this)
    facts.written.clear()
    facts.changed = false
    facts.attributesChanged = false
  }

  /** Others may have written any chunk but the pending ones. */
  forgetStats(): void {
    factsOf(this).described = undefined
    factsOf(this).chunkStats = new Map([...this.chunkStats].filter(([number]) => this.written.has(number)))
  }

  /** Where the newest committed version of a chunk is; `undefined` when nobody wrote it. */
  find(number: number): ChunkAddress | undefined {
    return findIn(this.stored, number)
  }

  /**
   * The newest version of a chunk: its bytes while it is loose, else where it is; `undefined` when nobody
   * wrote it.
   */
  newest(number: number): Uint8Array | ChunkAddress | undefined {
    return newestIn(this.written, this.stored, number)
  }

  /** How many chunks the committed layers have, each version of them counted. */
  get storedCount(): number {
    return this.stored.reduce((sum, { length }) => sum + length, 0)
  }

  /** The numbers of all chunks that somebody wrote, pending ones included, oldest layer first. */
  numbers(): Set<number> {
    const numbers = new Set<number>()
    for (const index of [...this.stored].reverse()) for (const number of index.numbers()) numbers.add(number)
    for (const number of this.written.keys()) numbers.add(number)
    return numbers
  }
}

/**
 * The newest version of a chunk: its bytes while it is loose, else where it is; `undefined` when nobody wrote
 * it.
 * @param written since the last flush, by number
 * @param stored in layers, the newest first
 */
export function newestIn(
  written: ReadonlyMap<number, PendingChunk>,
  stored: readonly LayerChunks[],
  number: number,
): Uint8Array | ChunkAddress | undefined {
  const pending = written.get(number)
  return pending?.bytes ?? pending?.address ?? findIn(stored, number)
}

/** A chunk on its way into a layer: loose at first, then packed into a block that has been written. */
export class PendingChunk {
  /**
   * Called when the chunk is packed, with its contents in kernel memory: the cheapest moment to look at them.
   */
  readonly onPack: ((arena: Arena, bytes: ChunkBytes) => void) | undefined
  /** The chunk while it is loose. */
  bytes: Uint8Array | undefined
  /** Where it is once it is packed. */
  address: ChunkAddress | undefined
  /** In the grid of its array, for `onPack`: another one once the array was resized. */
  number = -1
  /** Elements that were not written are those of the committed chunk, as it was then. */
  partial = false

  constructor(onPack?: (arena: Arena, bytes: ChunkBytes) => void) {
    this.onPack = onPack
  }
}
