import { isOwnName, RECORD_NAME } from '../adapters/zarr/write/node-names.ts'
import { HyperslabError, isHyperslabError } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'
import { fileSystem } from '../store/fs/file-system.ts'
import { bootId } from '../store/fs/lock.ts'
import { publishBytes } from '../store/publish-bytes.ts'
import type { Store } from '../store/store.ts'
import { refuseUnproved } from '../store/unproved.ts'
import { readWhole } from '../store/whole.ts'
import { isWritable } from '../store/writable.ts'
import { asWritable } from '../store/writer.ts'

/** Record of an unfinished write in its target. The metadata of a finished one contain its id instead. */
export interface WriteRecord {
  /** Version of this record. */
  readonly format: typeof FORMAT
  /** Hash of everything that determines the output: the version of the source and the options. */
  readonly id: string
  /** Hash of the regions of all arrays. Tasks count only for the same regions. */
  readonly regions: string
  /** Id of the boot of the machine that wrote the intermediate array; empty if the array is durable. */
  readonly boot: string
  /** Number of axes of each array, by path. It identifies the chunks before metadata exist. */
  readonly ranks?: Readonly<Record<string, number>>
  /** Number of leading arrays that are complete, and of done tasks of the next one. */
  readonly done: { readonly arrays: number; readonly tasks: number }
}

/** Version of records. Records of other versions belong to another write. */
const FORMAT = 3
const MOST_BYTES = 16 * 2 ** 20
/** Minimum time between two updates of a record, in ms. */
const INTERVAL_MS = 500

const keyOf = (root: string): string => (root === '' ? RECORD_NAME : `${root}/${RECORD_NAME}`)

/** Reads the record of a target; returns undefined if it has none. */
export async function readRecord(store: Store, root: string): Promise<WriteRecord | undefined> {
  const found = await readWhole(store, keyOf(root), { maxBytes: MOST_BYTES, onUnproved: refuseUnproved })
  if (found === undefined) return undefined
  try {
    const record = parseJson(found.bytes, RECORD_NAME, { maxBytes: MOST_BYTES, exact: false }) as WriteRecord
    if (record.format === FORMAT && typeof record.done === 'object') return record
  } catch {
    // Truncated when a machine failed, or written by another program.
  }
  return newRecord('', {})
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

  /** Removes the record of a write that is complete, or that will not be resumed. */
  remove(): Promise<void> {
    return asWritable(this.#store).delete(this.#key)
  }

  /** Writes changes. Progress within an array is written only at intervals. */
  async update(change: Partial<WriteRecord>): Promise<void> {
    this.#record = { ...this.#record, ...change }
    await this.#store.files?.makeFolder(this.#key)
    await asWritable(this.#store).put(this.#key, bytesOf(this.#record))
    this.#written = performance.now()
  }

  async setDone(done: WriteRecord['done'], isDue: boolean): Promise<void> {
    this.#record = { ...this.#record, done }
    if (isDue || performance.now() - this.#written >= INTERVAL_MS) await this.update({})
  }
}

/** Returns the record of a write that begins. */
export const newRecord = (
  id: string,
  ranks: Readonly<Record<string, number>>,
  { regions = '', boot = '' }: Partial<Pick<WriteRecord, 'regions' | 'boot'>> = {},
): WriteRecord => ({ format: FORMAT, id, regions, boot, ranks, done: { arrays: 0, tasks: 0 } })

/**
 * Takes an empty place for a write.
 * @param isShared whether other processes may do the same now; the first one takes the place
 * @returns the record that the place has now: the given one, or that of an earlier write
 * @throws AlreadyExistsError for a folder that contains anything else; ReadOnlyError; UnsupportedError for a
 *   store without conditional writes, if the place is shared
 */
export async function claimRecord(store: Store, root: string, record: WriteRecord, isShared: boolean): Promise<WriteRecord> {
  const found = await readRecord(store, root)
  if (found !== undefined) return found
  if (!isWritable(store) || store.list === undefined)
    throw new HyperslabError('ReadOnlyError', 'this place can only be read from')
  const prefix = root === '' ? '' : `${root}/`
  const other = (await store.list(prefix)).find((key) => !isOwnName(key.slice(prefix.length)))
  if (other !== undefined) {
    const now = await readRecord(store, root)
    if (now !== undefined) return now
    const text = `the folder holds something else already, such as '${other.split('/').at(-1) || other}'; choose another one, or empty it`
    throw new HyperslabError('AlreadyExistsError', text, { actual: other })
  }
  if (!isShared) {
    await new RecordKeeper(store, root, record).update({})
    return record
  }
  const key = keyOf(root)
  await store.files?.makeFolder(key)
  try {
    await publishBytes(store, key, bytesOf(record), { ifAbsent: true })
    return record
  } catch (error) {
    const now = isHyperslabError(error, 'ConflictError') ? await readRecord(store, root) : undefined
    if (now !== undefined) return now
    throw error
  }
}

const bytesOf = (record: WriteRecord): Uint8Array => new TextEncoder().encode(`${JSON.stringify(record)}\n`)

/**
 * Returns an identifier of this boot of the machine, for files of it: files that were not flushed are lost
 * when it fails. Empty for other stores. Random if it is unknown, so that such files are not used again.
 */
export function readBootId(store: Store): string {
  if (store.files?.localPath === undefined) return ''
  try {
    return bootId(fileSystem())
  } catch {
    return crypto.randomUUID()
  }
}
