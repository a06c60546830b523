import type { CopyState } from '../array/lazy/rechunk-to.ts'
import { HyperslabError, isHyperslabError } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'
import { refuseUnproved } from '../store/absences.ts'
import { readWhole, type Store } from '../store/store.ts'

/** Record of a write in its target, in progress or finished. */
export interface WriteRecord {
  /** Version of this record. */
  readonly format: typeof FORMAT
  /** Hash of everything that determines the output: the version of the source and the options. */
  readonly id: string
  readonly complete: boolean
  /** Memory bound of the write. It determines the size of the regions. */
  readonly maxBytes: number
  /** Id of the boot of the machine that wrote the intermediate array; empty if the array is durable. */
  readonly boot: string
  /** Number of axes of each array, by path. It identifies the chunks before metadata exist. */
  readonly ranks?: Readonly<Record<string, number>>
  /** Progress of each array, by name. */
  readonly arrays: Readonly<Record<string, CopyState | 'complete'>>
}

/** Version of records. Records of other versions belong to another write. */
export const FORMAT = 1
/** Name of the object in the folder of the target. */
const NAME = '.hyperslab-plan.json'
const MOST_BYTES = 16 * 2 ** 20
/** Minimum time between two updates of a record, in ms. */
const INTERVAL_MS = 500

/** Whether an object of a target is a record, by its name. */
export const isRecord = (name: string): boolean => name === NAME

const keyOf = (root: string): string => (root === '' ? NAME : `${root}/${NAME}`)

/** Reads the record of a target; returns undefined if it has none. */
export async function readRecord(store: Store, root: string): Promise<WriteRecord | undefined> {
  const found = await readWhole(store, keyOf(root), { maxBytes: MOST_BYTES, onUnproved: refuseUnproved })
  if (found === undefined) return undefined
  try {
    const record = parseJson(found.bytes, NAME, { maxBytes: MOST_BYTES, exact: false }) as WriteRecord
    if (record.format === FORMAT && typeof record.arrays === 'object') return record
  } catch {
    // Truncated when a machine failed, or written by another program.
  }
  return { format: FORMAT, id: '', complete: false, maxBytes: 0, boot: '', arrays: {} }
}

/** Writes the record of a target. Everything that it lists as done was written before. */
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

  /** Returns the progress of an array. */
  array(name: string): CopyState | 'complete' | undefined {
    return Object.hasOwn(this.#record.arrays, name) ? this.#record.arrays[name] : undefined
  }

  /** Writes changes. Progress within an array is written only at intervals. */
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
 * Claims an empty location for a write, or finds that it is claimed for this write already.
 * @returns whether the write is complete
 * @throws AlreadyExistsError for any other content; ReadOnlyError
 */
export async function claimRecord(store: Store, root: string, id: string): Promise<boolean> {
  const found = (await readRecord(store, root)) ?? (await makeRecord(store, root, recordOf(id, false)))
  if (found.id === id) return found.complete
  throw new HyperslabError(
    'AlreadyExistsError',
    'there is another write, of another version of the source or with other options; choose another place, or empty it',
  )
}

/** Records that a write is complete. */
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
  // Skips the record, and temporary objects of it.
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
    // The record of the faster process counts.
    if (now !== undefined) return now
    throw error
  } finally {
    await stage.discard()
  }
}

declare const process: { getBuiltinModule?(name: string): unknown } | undefined

/**
 * Returns an id of the current boot of this machine, for local files: data that were not synced to the disk
 * are lost with it. Empty for other stores. Random if the id is unknown, so that such files are never reused.
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
