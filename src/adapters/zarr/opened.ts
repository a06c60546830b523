import type { Codec } from '../../codec/codec.ts'
import { ByteCache } from '../../core/byte-cache.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { MemoryBudget } from '../../core/memory-budget.ts'
import type { Signal } from '../../core/signal.ts'
import { SingleFlight } from '../../core/single-flight.ts'
import { type BlockMemory, memoryOf } from '../../engine/block-cache.ts'
import type { WorkerPool } from '../../pool/task.ts'
import { Absences } from '../../store/absences.ts'
import { readWhole, type Store, type Tail } from '../../store/store.ts'
import type { ShardTable } from './shards.ts'
import type { ObjectWriter } from './write/object-writer.ts'

/** What reading the arrays of one store shares. */
export interface OpenedOptions {
  /** Codecs of the user, which come first. */
  readonly codecs: readonly Codec[]
  readonly memory?: BlockMemory | undefined
  readonly pool?: WorkerPool | undefined
  readonly budget?: MemoryBudget | undefined
  /** Most bytes of a chunk, decoded. */
  readonly blockBytes: number
  /** Elements that one operation may go through. */
  readonly elements: number
  /** Bytes of objects, decoded, that are written at the same time. */
  readonly writeBytes?: number | undefined
  /** Whether what is there may be changed. */
  readonly isWritable: boolean
}

/** The table of a shard, with the version of the object that it was read from. */
export interface KnownTable {
  readonly table: ShardTable
  readonly etag: string
  /** Position of the shard in the object. */
  readonly base: number
  readonly byteLength: number
}

/** Memory for tables of shards: those of some 10 000 shards of 100 chunks. */
const TABLE_BYTES = 32 * 1024 * 1024
/** Memory for decoded chunks of which more may be wanted. */
const BLOCK_BYTES = 64 * 1024 * 1024

let last = 0

/** A store of which arrays are open: what they share of memory and of what is known of its objects. */
export class OpenedStore {
  readonly store: Store
  readonly options: OpenedOptions
  readonly memory: BlockMemory
  /** The tables of shards, by object and place in it. */
  readonly tables: ByteCache<string, KnownTable> = new ByteCache(TABLE_BYTES)
  readonly tableReads: SingleFlight<string, KnownTable | undefined> = new SingleFlight()
  /** Absences that the server has not proved. Each run confirms its own ones before it ends. */
  readonly absences: Absences
  #absent = new Set<string>()
  /** Objects that were written, counted: one of them may have been absent when another call asked for it. */
  #written = 0
  #writer: Promise<ObjectWriter> | undefined
  #generation = ++last
  #closed = false

  constructor(store: Store, options: OpenedOptions) {
    this.store = store
    this.options = options
    this.memory = options.memory ?? memoryOf(BLOCK_BYTES)
    this.absences = new Absences(store, () => this.forget())
  }

  /** Names what is known of objects until it is forgotten: no two opened stores have the same. */
  get generation(): number {
    return this.#generation
  }

  /** Whether there was no object of this key when it was asked for. */
  isAbsent(key: string): boolean {
    return this.#absent.has(key)
  }

  /** A whole object; undefined when there is none, which is remembered. */
  read(key: string, maxBytes: number, signal: Signal | undefined): Promise<Tail | undefined> {
    return this.find(key, (onUnproved) => readWhole(this.store, key, { signal, maxBytes, onUnproved }))
  }

  /**
   * Asks for an object, or some of it; that there is none is remembered, unless all is forgotten meanwhile.
   * @throws what the store throws; ClosedError
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
   * What writes objects, loaded with the first change.
   * @throws ReadOnlyError for a store that was opened for reading, or cannot be written to
   */
  async objects(): Promise<ObjectWriter> {
    this.checkOpen()
    if (!this.options.isWritable) throw new HyperslabError('ReadOnlyError', "it was opened for reading: pass mode 'r+' to write")
    this.#writer ??= import('./write/object-writer.ts').then(
      ({ ObjectWriter }) =>
        new ObjectWriter(this.store, this.absences, (key) => {
          this.#written++
          this.#absent.delete(key)
        }),
    )
    return this.#writer
  }

  /** Forgets what objects there are and where chunks lie in them. */
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
