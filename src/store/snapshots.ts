import { HyperslabError, isHyperslabError } from '../core/errors.ts'
import { raceAbort } from '../core/signal.ts'
import type { FileHandleLike, Snapshot } from './handles.ts'
import type { ObjectInfo, RangeOptions } from './store.ts'
import { changed, endsBefore } from './store.ts'

/** Files remembered between reads: asking for one takes longer than reading from it. */
const MAX_SNAPSHOTS = 64

/**
 * Reads files of which only snapshots can be had: a `File` is one version, and once that is gone reading it
 * fails, with an error that depends on the browser. So the snapshot is what pins a version, and its size and
 * date are what names it.
 */
export class Snapshots {
  readonly #find: (key: string) => Promise<Snapshot | undefined>
  readonly #describe: (key: string) => string
  /** The newest seen of each key, least recently taken first. */
  readonly #known = new Map<string, Snapshot>()

  /** @param find the file as it is now, `undefined` when there is none */
  constructor(find: (key: string) => Promise<Snapshot | undefined>, describe: (key: string) => string) {
    this.#find = find
    this.#describe = describe
  }

  async stat(key: string): Promise<ObjectInfo | undefined> {
    const file = await this.take(key)
    return file && snapshotInfo(file)
  }

  async getRange(key: string, offset: number, length: number, options: RangeOptions = {}): Promise<Uint8Array | undefined> {
    const { ifMatch, signal } = options
    signal?.throwIfAborted()
    const known = ifMatch === undefined ? undefined : this.#known.get(key)
    const file = known !== undefined && snapshotInfo(known).etag === ifMatch ? known : await this.take(key)
    if (file === undefined) return undefined
    const { size, etag } = snapshotInfo(file)
    if (ifMatch !== undefined && etag !== ifMatch) throw changed(this.#describe(key))
    if (offset + length > size) throw endsBefore(this.#describe(key), size, offset + length)
    try {
      return new Uint8Array(await raceAbort(file.slice(offset, offset + length).arrayBuffer(), signal))
    } catch (cause) {
      signal?.throwIfAborted()
      const now = await this.take(key)
      // Unreadable though it is as it was: no other version is to blame.
      if (now !== undefined && snapshotInfo(now).etag === etag) throw failed(this.#describe(key), 'read', cause)
      if (ifMatch !== undefined) throw changed(this.#describe(key))
      return this.getRange(key, offset, length, options)
    }
  }

  /** Takes a snapshot of the file as it is now. */
  async take(key: string): Promise<Snapshot | undefined> {
    let file: Snapshot | undefined
    try {
      file = await orNoSuch(this.#find(key))
    } catch (cause) {
      throw failed(this.#describe(key), 'read', cause)
    }
    this.#known.delete(key)
    if (file === undefined) return undefined
    this.#known.set(key, file)
    const [oldest] = this.#known.keys()
    if (this.#known.size > MAX_SNAPSHOTS) this.#known.delete(oldest!)
    return file
  }

  forget(): void {
    this.#known.clear()
  }
}

/** A version is told by size and date. */
export const snapshotInfo = ({ size, lastModified }: Snapshot): ObjectInfo => ({ size, etag: `${size}-${lastModified}` })

export const nameOf = (error: unknown): string => (error instanceof Error ? error.name : '')

export const handleOrMissing = <T>(work: Promise<T>): Promise<T | undefined> => orUndefined(work, 'NotFoundError')

/** A file in place of a folder, or the other way round, is none of what was asked for. */
export const orNoSuch = <T>(work: Promise<T>): Promise<T | undefined> => orUndefined(work, 'NotFoundError', 'TypeMismatchError')

async function orUndefined<T>(work: Promise<T>, ...names: string[]): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (names.includes(nameOf(error))) return undefined
    throw error
  }
}

/** An error of the browser as one of ours. */
export function failed(file: string, what: 'read' | 'written', cause: unknown): HyperslabError {
  if (isHyperslabError(cause)) return cause.within({ file })
  const reason = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)
  const text = `cannot be ${what}: ${reason}`
  // Of a name; what else would be a mistake of ours.
  if (cause instanceof TypeError) return new HyperslabError('InvalidArgumentError', text, { file, cause })
  const readOnly = what === 'written' && nameOf(cause) === 'NotAllowedError'
  return new HyperslabError(readOnly ? 'ReadOnlyError' : 'StoreError', text, { file, cause })
}

/** Replaces the contents of a file with `parts`, one after the other, all or nothing. */
export async function writeHandle(handle: FileHandleLike, parts: Iterable<unknown> | AsyncIterable<unknown>): Promise<void> {
  if (handle.createWritable === undefined)
    throw new HyperslabError('UnsupportedError', 'this browser cannot write files: its handles have no createWritable')
  const stream = await handle.createWritable()
  try {
    for await (const part of parts) await stream.write(part)
    await stream.close()
  } catch (error) {
    // After a failed write the stream is beyond aborting, too.
    await stream.abort().catch(() => undefined)
    throw error
  }
}
