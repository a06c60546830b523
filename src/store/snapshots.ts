import { HyperslabError, isHyperslabError } from '../core/errors.ts'
import { raceAbort } from '../core/signal.ts'
import type { FileHandleLike, Snapshot } from './handles.ts'
import type { ObjectInfo, RangeOptions } from './store.ts'
import { changed, endsBefore } from './store.ts'

/** Number of snapshots kept. Getting a snapshot takes longer than reading from it. */
const MAX_SNAPSHOTS = 64

/**
 * Reads files through snapshots. A `File` is one version; once the file changes, reading the snapshot fails
 * with an error that depends on the browser. So the snapshot pins a version, and its size and date name it.
 */
export class Snapshots {
  readonly #find: (key: string) => Promise<Snapshot | undefined>
  readonly #describe: (key: string) => string
  /** Newest snapshot of each key, least recently taken first. */
  readonly #known = new Map<string, Snapshot>()

  /** @param find returns a snapshot of the file; `undefined` if it does not exist */
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
      // The version is unchanged, so the error has another cause.
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

/** Returns size and version of a snapshot. Size and date name the version. */
export const snapshotInfo = ({ size, lastModified }: Snapshot): ObjectInfo => ({ size, etag: `${size}-${lastModified}` })

export const nameOf = (error: unknown): string => (error instanceof Error ? error.name : '')

export const handleOrMissing = <T>(work: Promise<T>): Promise<T | undefined> => orUndefined(work, 'NotFoundError')

/** Converts the errors of a missing name, and of a file in place of a folder or the reverse, to undefined. */
export const orNoSuch = <T>(work: Promise<T>): Promise<T | undefined> => orUndefined(work, 'NotFoundError', 'TypeMismatchError')

async function orUndefined<T>(work: Promise<T>, ...names: string[]): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (names.includes(nameOf(error))) return undefined
    throw error
  }
}

/** Converts an error of the browser to a `HyperslabError`. */
export function failed(file: string, what: 'read' | 'written', cause: unknown): HyperslabError {
  if (isHyperslabError(cause)) return cause.within({ file })
  const reason = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)
  const text = `cannot be ${what}: ${reason}`
  // A TypeError reports an invalid name. Other causes would be bugs of this package.
  if (cause instanceof TypeError) return new HyperslabError('InvalidArgumentError', text, { file, cause })
  const readOnly = what === 'written' && nameOf(cause) === 'NotAllowedError'
  return new HyperslabError(readOnly ? 'ReadOnlyError' : 'StoreError', text, { file, cause })
}

/** Replaces the content of a file with `parts`, in order, completely or not at all. */
export async function writeHandle(handle: FileHandleLike, parts: Iterable<unknown> | AsyncIterable<unknown>): Promise<void> {
  if (handle.createWritable === undefined)
    throw new HyperslabError('UnsupportedError', 'this browser cannot write files: its handles have no createWritable')
  const stream = await handle.createWritable()
  try {
    for await (const part of parts) await stream.write(part)
    await stream.close()
  } catch (error) {
    // Aborting fails, too, after a failed write.
    await stream.abort().catch(() => undefined)
    throw error
  }
}
