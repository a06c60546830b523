import { isHyperslabError } from '../../core/errors.ts'
import { Pace } from '../../core/pace.ts'
import type { BlockReader } from '../../engine/block-reader.ts'
import type { ChunkStats } from '../../engine/chunk-stats.ts'
import { withArena } from '../../kernels/arena.ts'
import { readTail, type Store } from '../../store/store.ts'
import { isWritable } from '../../store/writable.ts'
import { isNested } from '../format/definition.ts'
import { type ArrayStats, decodeStatsFile, encodeStatsFile } from '../format/stats-file.ts'
import type { ArrayState } from '../layers/array-state.ts'
import { measure, visitBlocks } from '../layers/chunk-stats.ts'
import { loadStats } from '../layers/load-stats.ts'
import { areExact, combine, present, type Statistics, summarize } from '../layers/statistics.ts'

/** Bytes of the first read: the statistics of some thousand arrays. More arrays take one more request. */
const TAIL_BYTES = 2 ** 20

/** The state of a container that its statistics describe. */
export interface KeptState {
  readonly id: string
  /** Whether another program wrote the newest layer. */
  readonly foreign: boolean
}

/** Keeps the statistics file of a container in step with its layers. */
export class StatsKeeper {
  readonly #store: Store
  readonly #key: string
  readonly #blocks: BlockReader
  readonly #stateOf: () => KeptState | undefined
  readonly #maxBytes: number
  /** Contents of the file, read on first use. */
  #stored: Map<string, ArrayStats> | undefined

  /**
   * @param stateOf returns the known state of the container; `undefined` if the file cannot describe it
   * @param maxBytes a larger file is ignored
   */
  constructor(store: Store, key: string, blocks: BlockReader, stateOf: () => KeptState | undefined, maxBytes: number) {
    this.#maxBytes = maxBytes
    this.#stateOf = stateOf
    this.#store = store
    this.#key = key
    this.#blocks = blocks
  }

  /**
   * Returns the statistics of an array: stored ones if they are exact and the array has not changed since,
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

  /** Discards the contents, because another writer may have changed the file. */
  forget(): void {
    this.#stored = undefined
  }

  /**
   * Removes the file before a layer is added. After a crash in between there are no statistics instead of
   * wrong ones.
   */
  async invalidate(): Promise<void> {
    await this.#load()
    if (isWritable(this.#store)) await this.#store.delete(this.#key)
  }

  /**
   * Writes the statistics of all arrays. Computes those of `changed` from their chunks, and keeps the others.
   */
  async write(changed: readonly ArrayState[], all: ReadonlyMap<string, ArrayState>): Promise<void> {
    const states = changed.filter((state) => all.get(state.definition.name) === state)
    if (states.length === all.size) this.#stored = new Map()
    const stored = await this.#load()
    for (const name of stored.keys()) if (!all.has(name)) stored.delete(name)
    for (const state of states) {
      // Arrays without data or of nested types have no statistics, as in files of other writers.
      if (state.numbers().size === 0 || isNested(state.definition)) stored.delete(state.definition.name)
      else {
        const chunks = await this.#measured(state)
        stored.set(state.definition.name, combine(state.definition, chunks))
      }
    }
    // Not durable: if a power failure loses the file, the statistics are computed on request.
    if (!isWritable(this.#store)) return
    await this.#store.put(this.#key, encodeStatsFile([...stored.values()], this.#stateOf()!.id), { durable: false })
  }

  /**
   * Returns the statistics of all chunks. Reads only chunks whose statistics are in no layer and were not
   * computed before.
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
      // The array was resized, so that numbers mean other chunks, or it was written or refreshed meanwhile.
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
   * Reads the file. A damaged or too large one is ignored: statistics can be computed anew, and must not keep
   * the data from being read.
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
      // Files of other programs do not name the state that they describe. Such a file is current if the same
      // program wrote the newest layer.
      return (state === undefined ? now.foreign : state === now.id) ? arrays : []
    } catch (error) {
      if (isHyperslabError(error, 'FormatError', 'UnsupportedError', 'IntegrityError')) return []
      throw error
    }
  }
}
