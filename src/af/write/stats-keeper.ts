import { isHyperslabError } from '../../core/errors.ts'
import { Pace } from '../../core/pace.ts'
import type { BlockReader } from '../../engine/block-reader.ts'
import type { ChunkStats } from '../../engine/chunk-stats.ts'
import { withArena } from '../../kernels/arena.ts'
import { readTail, type Store } from '../../store/store.ts'
import { isNested } from '../format/definition.ts'
import { type ArrayStats, decodeStatsFile, encodeStatsFile } from '../format/stats-file.ts'
import type { ArrayState } from '../layers/array-state.ts'
import { measure, visitBlocks } from '../layers/chunk-stats.ts'
import { loadStats } from '../layers/load-stats.ts'
import { areExact, combine, present, type Statistics, summarize } from '../layers/statistics.ts'

/** Statistics of some thousand arrays; those of more take a request more. */
const TAIL_BYTES = 2 ** 20

/** The state of a container whose statistics are kept. */
export interface KeptState {
  readonly id: string
  /** Another program wrote the newest layer. */
  readonly foreign: boolean
}

/** Keeps the statistics file of a container in step with its layers. */
export class StatsKeeper {
  readonly #store: Store
  readonly #key: string
  readonly #blocks: BlockReader
  readonly #stateOf: () => KeptState | undefined
  readonly #maxBytes: number
  /** What the file says; read when first asked for. */
  #stored: Map<string, ArrayStats> | undefined

  /**
   * @param stateOf gives the state of the container as it is known now; `undefined` where the file cannot be
   *   about it
   * @param maxBytes a larger file counts as none
   */
  constructor(store: Store, key: string, blocks: BlockReader, stateOf: () => KeptState | undefined, maxBytes: number) {
    this.#maxBytes = maxBytes
    this.#stateOf = stateOf
    this.#store = store
    this.#key = key
    this.#blocks = blocks
  }

  /**
   * Returns the statistics of an array: stored ones if they are exact and the array was not changed since,
   * otherwise computed ones.
   */
  async of(state: ArrayState): Promise<Statistics> {
    const { name, dtype } = state.definition
    const [entry] = state.entries
    const inFooter = entry?.layer.immutable ? entry.meta.stats : undefined
    const stored = inFooter ?? (state.changed ? undefined : (await this.#load()).get(name))
    if (stored !== undefined && areExact(stored, dtype.kind)) return present(dtype.kind, stored)
    const chunks = await this.#measured(state)
    return summarize(state.definition, chunks)
  }

  /** Another writer may have changed the file. */
  forget(): void {
    this.#stored = undefined
  }

  /**
   * Removes the file before a layer is added: after a crash in between there are no statistics rather than
   * wrong ones.
   */
  async invalidate(): Promise<void> {
    await this.#load()
    await this.#store.delete?.(this.#key)
  }

  /**
   * Writes statistics of all arrays, computing those of `changed` from their chunks; the others keep what
   * they had.
   */
  async write(changed: readonly ArrayState[], all: ReadonlyMap<string, ArrayState>): Promise<void> {
    const states = changed.filter((state) => all.get(state.definition.name) === state)
    if (states.length === all.size) this.#stored = new Map()
    const stored = await this.#load()
    for (const name of stored.keys()) if (!all.has(name)) stored.delete(name)
    for (const state of states) {
      // Arrays without data or of nested types have none, as in files of other writers.
      if (state.numbers().size === 0 || isNested(state.definition)) stored.delete(state.definition.name)
      else {
        const chunks = await this.#measured(state)
        stored.set(state.definition.name, combine(state.definition, chunks))
      }
    }
    // Should a power failure take it away, the statistics are computed when they are asked for.
    await this.#store.put?.(this.#key, encodeStatsFile([...stored.values()], this.#stateOf()!.id), { durable: false })
  }

  /**
   * The statistics of all chunks; reads only those whose are not known from layers, or from writing or
   * reading them before.
   */
  async #measured(state: ArrayState): Promise<ChunkStats[]> {
    await loadStats(state)
    const { grid, chunkStats } = state
    const pace = new Pace()
    const found: ChunkStats[] = []
    for (const number of state.numbers()) {
      if (pace.due()) await pace.turn()
      const address = chunkStats.has(number) ? undefined : state.newest(number)
      if (address instanceof Uint8Array) withArena((arena) => measure(arena, state, number, address))
      else if (address !== undefined) {
        await visitBlocks(this.#blocks, [[address.block, [{ address }]]], (arena, _, bytes) => {
          if (state.grid === grid) measure(arena, state, number, bytes)
        })
      }
      const stats = chunkStats.get(number)
      // It was resized, so that numbers mean other chunks, or written or refreshed meanwhile.
      if (stats === undefined || state.grid !== grid || state.chunkStats !== chunkStats) return this.#measured(state)
      found.push(stats)
    }
    return found
  }

  async #load(): Promise<Map<string, ArrayStats>> {
    this.#stored ??= new Map((await this.#read()).map((stats) => [stats.name, stats]))
    return this.#stored
  }

  /**
   * A damaged file, or one too large, counts as none: it can be computed anew, and must not stand in the way
   * of the data.
   */
  async #read(): Promise<ArrayStats[]> {
    const now = this.#stateOf()
    if (now === undefined) return []
    try {
      const tail = await readTail(this.#store, this.#key, Math.min(TAIL_BYTES, this.#maxBytes))
      if (tail === undefined || tail.size > this.#maxBytes) return []
      const { size, etag } = tail
      const bytes = tail.bytes.length === size ? tail.bytes : await this.#store.getRange(this.#key, 0, size, { ifMatch: etag })
      if (bytes === undefined) return []
      const { arrays, state } = decodeStatsFile(bytes)
      // A file of another program does not say what it describes; it is as new as the newest layer if the
      // same program wrote that.
      return (state === undefined ? now.foreign : state === now.id) ? arrays : []
    } catch (error) {
      if (isHyperslabError(error, 'FormatError', 'UnsupportedError', 'IntegrityError')) return []
      throw error
    }
  }
}
