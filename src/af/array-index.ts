import type { Origins, ScalarMode } from '../array/source.ts'
import type { DType, ScalarOf } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import { lazily } from '../core/lazily.ts'
import type { MemoryBudget } from '../core/memory-budget.ts'
import type { Signal } from '../core/signal.ts'
import type { PinnedChunks, StoredChunk } from '../engine/block.ts'
import type { BlockReader } from '../engine/block-reader.ts'
import type { ChunkIndex, ChunkSnapshot, ChunkStatistics, ChunkWriter } from '../engine/chunk-index.ts'
import type { ChunkStats } from '../engine/chunk-stats.ts'
import type { ChunkGrid } from '../grid/chunks.ts'
import { definedFill, dtypeOf } from './format/definition.ts'
import type { AttributeValue } from './format/footer.ts'
import { type ArrayState, newestIn } from './layers/array-state.ts'
import { Attributes } from './layers/attributes.ts'
import type { Container } from './layers/container.ts'
import { knownStats, nullsAreFill } from './layers/null-value.ts'

const statistics = lazily(() => import('./layers/load-stats.ts'))

/**
 * Chunk index of an array in a container: finds chunks in the layers and among changes that are not flushed.
 * Elements equal to the fill value are missing.
 */
export class ArrayIndex<D extends DType> implements ChunkIndex<D> {
  readonly dtype: D
  readonly dimensionNames: readonly string[]
  readonly fillValue: ScalarOf<D> | undefined
  readonly label: { readonly file: string; readonly array: string }
  readonly origins: Origins
  readonly blocks: BlockReader
  readonly budget: MemoryBudget | undefined
  readonly scalar: ScalarMode | undefined
  readonly maxElements: number
  readonly attrs: Attributes
  readonly writer: ChunkWriter
  readonly #state: ArrayState
  readonly #container: Container

  /** @throws UnsupportedError for nested types */
  constructor(container: Container, state: ArrayState) {
    const { definition } = state
    this.dtype = dtypeOf(definition) as D
    this.dimensionNames = definition.dimensionNames
    this.fillValue = definedFill(definition) as ScalarOf<D> | undefined
    this.label = { file: container.label, array: definition.name }
    this.origins = container.origins
    this.blocks = container.blocks
    this.budget = container.options.budget
    this.scalar = container.options.scalar
    this.maxElements = container.options.limits.elements
    this.attrs = new Attributes(
      () => state.attributes,
      () => this.changeAttributes(),
    )
    this.writer = {
      get readOnly() {
        return container.readOnly
      },
      put: (chunkIndex, bytes, options) => container.writeChunk(state, chunkIndex, bytes, options),
      exclusive: (work) => container.exclusive(work),
    }
    this.#container = container
    this.#state = state
  }

  get grid(): ChunkGrid {
    return this.#state.grid
  }

  snapshot(): ChunkSnapshot {
    this.#container.checkOpen()
    if (this.#state.deleted) throw new HyperslabError('UnknownArrayError', 'this array was deleted')
    return new StateSnapshot(this.#state)
  }

  /**
   * Returns the attributes for changing.
   * @throws ReadOnlyError if the container was opened read-only
   */
  changeAttributes(): Map<string, AttributeValue> {
    const { readOnly } = this.#container
    if (readOnly !== undefined) throw new HyperslabError('ReadOnlyError', readOnly, { ...this.label })
    return this.#state.attributesTouched()
  }
}

class StateSnapshot implements ChunkSnapshot, ChunkStatistics {
  readonly grid: ChunkGrid
  /**
   * Whether the statistics exclude exactly the elements that reads treat as missing. Computed on first use.
   */
  #usable: boolean | undefined
  readonly #state: ArrayState

  constructor(state: ArrayState) {
    this.#state = state
    this.grid = state.grid
  }

  get storedCount(): number {
    return this.#state.storedCount + this.#state.written.size
  }

  get statistics(): ChunkStatistics | undefined {
    this.#usable ??= nullsAreFill(this.#state.definition)
    return this.#usable ? this : undefined
  }

  locate(chunkIndex: number): StoredChunk | undefined {
    return this.#state.newest(chunkIndex)
  }

  stored(): Iterable<number> {
    return this.#state.numbers()
  }

  pinned(): PinnedChunks {
    const { stored } = this.#state
    const written = new Map(this.#state.written)
    return {
      grid: this.grid,
      storedCount: this.storedCount,
      locate: (chunkIndex) => newestIn(written, stored, chunkIndex),
      *stored() {
        for (const layer of stored) yield* layer.numbers()
        yield* written.keys()
      },
    }
  }

  checkGrid(done: string): void {
    if (this.#state.grid === this.grid) return
    const text = `the array was resized while it was being ${done}`
    throw new HyperslabError('ConflictError', text, { actual: this.#state.grid.shape, expected: this.grid.shape })
  }

  async load(signal: Signal | undefined): Promise<void> {
    if (!this.#state.statsLoaded) await (await statistics()).loadStats(this.#state, signal)
  }

  get whole(): ChunkStats | undefined {
    return this.#state.whole
  }

  of(chunkIndex: number): ChunkStats | undefined {
    return knownStats(this.#state, chunkIndex)
  }
}
