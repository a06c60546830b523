import { sameShape } from '../../core/shape.ts'
import type { Signal } from '../../core/signal.ts'
import type { ChunkAddress, ChunkBytes } from '../../engine/block.ts'
import type { ChunkStats } from '../../engine/chunk-stats.ts'
import type { ChunkGrid } from '../../grid/chunks.ts'
import type { Arena } from '../../kernels/arena.ts'
import { type Definition, gridFor } from '../format/definition.ts'
import { type AttributeMap, resolveAttributes } from './attributes.ts'
import { findIn, type LayerChunks } from './layer-chunks.ts'
import { indexOf, type LayerEntry, type LiveArray } from './stack.ts'

/**
 * What an open container knows of one array: what its layers hold and what was changed since the last flush.
 */
export class ArrayState {
  definition: Definition
  grid: ChunkGrid
  /** What the layers say it is: until the next flush its shape may be another. */
  committed: Definition | undefined
  attributes: AttributeMap
  /** The files do not say for certain which values some of the attributes have. */
  ambiguous = false
  /** Chunks of committed layers, newest layer first. */
  stored: LayerChunks[] = []
  /** The layers they are from. */
  entries: readonly LayerEntry[] = []
  /** Number of the newest layer that mentions the array; -1 before the first. */
  layer = -1
  /** Chunks written since the last flush, by number. */
  written = new Map<number, PendingChunk>()
  /** Something has to be written at the next flush. */
  changed = false
  /** The attributes are among it. */
  attributesChanged = false
  /** The array was deleted; its handles refuse to work. */
  deleted = false
  /** Statistics of chunks that were seen, by number. */
  chunkStats = new Map<number, ChunkStats>()
  /** The `stored` whose statistics were taken in. */
  described: readonly LayerChunks[] | undefined
  /** Identity of the layers that `stored` came from. */
  #layers = ''

  constructor(definition: Definition, attributes: AttributeMap = new Map()) {
    this.definition = definition
    this.grid = gridFor(definition)
    this.attributes = attributes
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
    this.entries = live.entries
    this.layer = live.entries[0]!.layer.number
    if (!this.resized && !sameShape(live.definition.shape, this.definition.shape)) {
      this.grid = gridFor(live.definition)
      this.chunkStats = new Map()
    }
    if (!this.resized) this.definition = live.definition
    this.committed = live.definition
    this.stored = live.entries.map((entry) => indexOf(entry, this.grid))
    if (this.attributesChanged) return
    const { attributes, ambiguous } = resolveAttributes(live.entries)
    this.attributes = attributes
    this.ambiguous = ambiguous
  }

  /** The shape was changed since the last flush. */
  get resized(): boolean {
    return this.committed !== undefined && !sameShape(this.committed.shape, this.definition.shape)
  }

  /** Takes in what the layers know of their chunks, the newest version of each. */
  async loadStats(signal?: Signal): Promise<void> {
    if (this.described !== this.stored) await (await import('./load-stats.ts')).loadStats(this, signal)
  }

  /** What was pending is in a layer now. */
  flushed(): void {
    this.written.clear()
    this.changed = false
    this.attributesChanged = false
  }

  /** Others may have written any chunk but the pending ones. */
  forgetStats(): void {
    this.described = undefined
    this.chunkStats = new Map([...this.chunkStats].filter(([number]) => this.written.has(number)))
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
