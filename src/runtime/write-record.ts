import type { CopyState } from '../array/lazy/rechunk-to.ts'
import { HyperslabError, isHyperslabError } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'
import { refuseUnproved } from '../store/absences.ts'
import { readWhole, type Store } from '../store/store.ts'

/** What a target says of the write that is under way, or was finished. */
export interface WriteRecord {
  /** The version of this record. */
  readonly format: typeof FORMAT
  /** A hash of all that decides what is written: the version of the source and the options. */
  readonly id: string
  readonly complete: boolean
  /** How much was held at a time: regions are of another size where that is another. */
  readonly maxBytes: number
  /**
   * The start of the machine that the intermediate array was written in; empty where it is sure to be kept.
   */
  readonly boot: string
  /** Number of axes of each array, by path. It identifies the chunks before metadata exist. */
  readonly ranks?: Readonly<Record<string, number>>
  /** How far arrays are, by name. */
  readonly arrays: Readonly<Record<string, CopyState | 'complete'>>
}

/** The version of records; others are those of another write. */
export const FORMAT = 1
/** The object that has it, in the target's folder. */
const NAME = '.hyperslab-plan.json'
const MOST_BYTES = 16 * 2 ** 20
/** Records are written at most so often, in ms. */
const INTERVAL_MS = 500

/** Whether an object of a target is a record, by its name. */
export const isRecord = (name: string): boolean => name === NAME

const keyOf = (root: string): string => (root === '' ? NAME : `${root}/${NAME}`)

/** The record of a target; undefined where there is none that is understood. */
export async function readRecord(store: Store, root: string): Promise<WriteRecord | undefined> {
  const found = await readWhole(store, keyOf(root), { maxBytes: MOST_BYTES, onUnproved: refuseUnproved })
  if (found === undefined) return undefined
  try {
    const record = parseJson(found.bytes, NAME, { maxBytes: MOST_BYTES, exact: false }) as WriteRecord
    if (record.format === FORMAT && typeof record.arrays === 'object') return record
  } catch {
    // Cut off when the machine failed, or of somebody else.
  }
  return { format: FORMAT, id: '', complete: false, maxBytes: 0, boot: '', arrays: {} }
}

/** Writes the record of a target. What it says is done has been written before. */
export class RecordKeeper {
  readonly #store: Store
  readonly #key: string
  #record: WriteRecord
  #written = Number.NEGATIVE_INFINITY

  constructor(store: Store, root: string, record: WriteRecord) {
    this.#store = store
    this.#key = keyOf(root)
    this.#record = record
  }

  /** Removes the record of a write that will not be resumed. */
  remove(): Promise<void> {
    return this.#store.delete!(this.#key)
  }

  /** How far an array is. */
  array(name: string): CopyState | 'complete' | undefined {
    return Object.hasOwn(this.#record.arrays, name) ? this.#record.arrays[name] : undefined
  }

  /** Writes what has changed; of an array that goes on only now and then. */
  async update(change: Partial<WriteRecord>): Promise<void> {
    this.#record = { ...this.#record, ...change }
    await this.#store.makeFolder?.(this.#key)
    await this.#store.put!(this.#key, bytesOf(this.#record))
    this.#written = performance.now()
  }

  async setArray(name: string, state: CopyState | 'complete', isDue: boolean): Promise<void> {
    const arrays = { ...this.#record.arrays, [name]: state }
    this.#record = { ...this.#record, arrays }
    if (isDue || performance.now() - this.#written >= INTERVAL_MS) await this.update({})
  }
}

/**
 * Takes a place for a write of some id, where there is nothing, or finds that it has been taken for it.
 * @returns whether what it says is complete
 * @throws AlreadyExistsError where there is something else; ReadOnlyError
 */
export async function claimRecord(store: Store, root: string, id: string): Promise<boolean> {
  const found = (await readRecord(store, root)) ?? (await makeRecord(store, root, recordOf(id, false)))
  if (found.id === id) return found.complete
  throw new HyperslabError(
    'AlreadyExistsError',
    'there is another write, of another version of the source or with other options; choose another place, or empty it',
  )
}

/** Says that a write is done, once it is. */
export async function completeRecord(store: Store, root: string, id: string): Promise<void> {
  await store.put!(keyOf(root), bytesOf(recordOf(id, true)))
}

const recordOf = (id: string, complete: boolean): WriteRecord => ({
  format: FORMAT,
  id,
  complete,
  maxBytes: 0,
  boot: '',
  arrays: {},
})

const bytesOf = (record: WriteRecord): Uint8Array => new TextEncoder().encode(`${JSON.stringify(record)}\n`)

async function makeRecord(store: Store, root: string, record: WriteRecord): Promise<WriteRecord> {
  if (store.stage === undefined || store.list === undefined)
    throw new HyperslabError('ReadOnlyError', 'this place can only be read from')
  const key = keyOf(root)
  // The record, and one that is about to become it.
  const other = (await store.list(root === '' ? '' : `${root}/`)).find((each) => !each.startsWith(key))
  if (other !== undefined) {
    const text = `the folder holds something already, such as '${other.split('/').at(-1) || other}'; choose another one, or empty it`
    const now = await readRecord(store, root)
    if (now !== undefined) return now
    throw new HyperslabError('AlreadyExistsError', text, { actual: other })
  }
  await store.makeFolder?.(key)
  const stage = await store.stage(key)
  try {
    await stage.publish(key, bytesOf(record), { ifAbsent: true })
    return record
  } catch (error) {
    const now = isHyperslabError(error, 'ConflictError') ? await readRecord(store, root) : undefined
    // Whoever was faster decides.
    if (now !== undefined) return now
    throw error
  } finally {
    await stage.discard()
  }
}

declare const process: { getBuiltinModule?(name: string): unknown } | undefined

/**
 * What tells one start of this machine from another, for files of it: what was not brought to the disk is
 * gone with it. Empty for other stores; random where nothing tells, so that such files are never used again.
 */
export function bootOf(store: Store): string {
  if (store.localPath === undefined) return ''
  try {
    const fs = process!.getBuiltinModule!('node:fs') as { readFileSync(path: string, encoding: string): string }
    return fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return crypto.randomUUID()
  }
}
