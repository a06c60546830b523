import { raceAbort } from '../core/signal.ts'
import type { BlobLike } from './handles.ts'
import { failed, orNoSuch } from './handles.ts'
import { changed, endsBefore } from './memory.ts'
import type { ObjectInfo, RangeOptions } from './store.ts'

/** A `File`. */
export type Snapshot = BlobLike & { readonly lastModified: number }

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
