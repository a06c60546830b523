import type { Origins, ScalarOptions } from '../../array/source.ts'
import type { Codec } from '../../codec/codec.ts'
import { ByteCache } from '../../core/byte-cache.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { MemoryBudget } from '../../core/memory-budget.ts'
import type { Signal } from '../../core/signal.ts'
import { SingleFlight } from '../../core/single-flight.ts'
import { type BlockMemory, createMemory } from '../../engine/block-cache.ts'
import type { WorkerPool } from '../../pool/task.ts'
import { Absences } from '../../store/absences.ts'
import type { ObjectTail, Store } from '../../store/store.ts'
import { readWhole } from '../../store/whole.ts'
import type { ShardTable } from './shard-table.ts'
import type { ObjectWriter } from './write/object-writer.ts'

/** Options shared by the arrays of one store. */
export interface OpenedOptions extends ScalarOptions {
  /** Codecs of the user, which take precedence. */
  readonly codecs: readonly Codec[]
  readonly memory?: BlockMemory | undefined
  /** Workers that decode and reduce, from `createPool`. Default: the calling thread does all work. */
  readonly pool?: WorkerPool | undefined
  /** Limit of the memory that reads take at once, shared by all that have this budget. */
  readonly budget?: MemoryBudget | undefined
  /** Maximum size of a decoded chunk in bytes. */
  readonly blockBytes: number
  /** Elements that one operation may visit. */
  readonly elements: number
  /** Maximum size of one metadata object in bytes. */
  readonly metadataBytes?: number | undefined
  /** Decoded bytes of objects that are written at the same time. */
  readonly writeBytes?: number | undefined
  /** Whether the store was opened for writing. */
  readonly isWritable: boolean
  /** Prefix of all keys, without a slash at its end. */
  readonly root: string
}

/** The table of a shard, with the version of the object that it was read from. */
export interface KnownTable {
  readonly table: ShardTable
  readonly etag: string
  /** Position of the shard in the object. */
  readonly base: number
  readonly byteLength: number
}

/** Cache for tables of shards, in bytes: enough for some 10 000 shards of 100 chunks. */
const TABLE_BYTES = 32 * 1024 * 1024
/** Cache for decoded chunks that may be read again, in bytes. */
const BLOCK_BYTES = 64 * 1024 * 1024

let last = 0

/** A store with open arrays: their shared caches, and the known facts about its objects. */
export class OpenedStore {
  readonly store: Store
  readonly options: OpenedOptions
  readonly origins: Origins
  readonly memory: BlockMemory
  /** Tables of shards, by object and position in it. */
  readonly tables: ByteCache<string, KnownTable> = new ByteCache(TABLE_BYTES)
  readonly tableReads: SingleFlight<string, KnownTable | undefined> = new SingleFlight()
  /** Absences that the server has not proved. Each run confirms its own absences before it ends. */
  readonly absences: Absences
  #absent = new Set<string>()
  /** Number of objects written. Prevents that an absence found before a write is recorded after it. */
  #written = 0
  #writer: Promise<ObjectWriter> | undefined
  #generation = ++last
  #closed = false

  constructor(store: Store, options: OpenedOptions) {
    this.store = store
    this.options = options
    this.origins = { place: { store, path: options.root, isFolder: true } }
    this.memory = options.memory ?? createMemory(BLOCK_BYTES)
    this.absences = new Absences(store, () => this.forget())
  }

  /** Part of cache keys. Unique to this store, and replaced by `forget`. */
  get generation(): number {
    return this.#generation
  }

  /** Whether the object was found absent. */
  isAbsent(key: string): boolean {
    return this.#absent.has(key)
  }

  /** Reads a whole object; returns undefined if it does not exist, and remembers that. */
  read(key: string, maxBytes: number, signal: Signal | undefined): Promise<ObjectTail | undefined> {
    return this.find(key, (onUnproved) => readWhole(this.store, key, { signal, maxBytes, onUnproved }))
  }

  /**
   * Requests an object or a part of it. Remembers an absence, unless `forget` is called meanwhile.
   * @throws errors of the store; ClosedError
   */
  async find<T>(key: string, ask: (onUnproved: Absences['onUnproved']) => Promise<T | undefined>): Promise<T | undefined> {
    this.checkOpen()
    const absent = this.#absent
    const written = this.#written
    const found = await ask(this.absences.onUnproved)
    if (found === undefined && written === this.#written) absent.add(key)
    return found
  }

  /**
   * Returns the writer of objects. It is loaded with the first change.
   * @throws ReadOnlyError for a store that was opened for reading, or that cannot be written to
   */
  async objects(): Promise<ObjectWriter> {
    this.checkOpen()
    if (!this.options.isWritable)
      throw new HyperslabError('ReadOnlyError', "it was opened for reading: pass `mode: 'r+'` to write")
    this.#writer ??= import('./write/object-writer.ts').then(
      ({ ObjectWriter }) =>
        new ObjectWriter(this.store, this.options.root, this.absences, (key) => {
          this.#written++
          this.#absent.delete(key)
        }),
    )
    return this.#writer
  }

  /** Discards known absences and positions of chunks in objects. */
  forget(): void {
    this.#absent = new Set()
    this.#generation = ++last
    this.tables.clear()
  }

  /** @throws ClosedError */
  checkOpen(): void {
    if (this.#closed) throw new HyperslabError('ClosedError', 'the store was closed')
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.store.close?.()
  }
}

/** @throws ConflictError */
export function gone(file: string): never {
  throw new HyperslabError('ConflictError', 'the shard was removed since its index was read', { file })
}
