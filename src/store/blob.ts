import type { AsyncBuffer } from '../core/async-buffer.ts'
import { HyperslabError } from '../core/errors.ts'
import { raceAbort } from '../core/signal.ts'
import { type BlobLike, isBlob } from './handles.ts'
import { changed, endsBefore, type ObjectInfo, type RangeOptions, type Store } from './store.ts'

/**
 * Store of one object: the bytes of a `Blob`, a `File` or an {@link AsyncBuffer}, which must not change. All
 * other keys are absent.
 */
export class BlobStore implements Store {
  /** Key of the object. */
  readonly key: string
  readonly seesOneFile = true
  readonly #source: BlobLike | AsyncBuffer
  readonly #label: string
  readonly #info: ObjectInfo

  /**
   * @param name name in errors; by default the name of the file, else `blob`. The key is this name, with
   *   `.af` appended unless it ends so
   */
  constructor(source: BlobLike | AsyncBuffer, name?: string) {
    this.#source = source
    const [own, date] = isBlob(source) ? [source.name, source.lastModified] : []
    this.#label = name ?? (own || 'blob')
    this.key = keyFor(this.#label)
    const size = isBlob(source) ? source.size : source.byteLength
    this.#info = { size, etag: `${size}-${date ?? 0}` }
  }

  describe(key: string): string {
    return key === this.key ? this.#label : key
  }

  async stat(key: string): Promise<ObjectInfo | undefined> {
    return key === this.key ? this.#info : undefined
  }

  async getRange(
    key: string,
    offset: number,
    length: number,
    { ifMatch, signal }: RangeOptions = {},
  ): Promise<Uint8Array | undefined> {
    signal?.throwIfAborted()
    if (key !== this.key) return undefined
    if (ifMatch !== undefined && ifMatch !== this.#info.etag) throw changed(this.#label)
    const end = offset + length
    if (end > this.#info.size) throw endsBefore(this.#label, this.#info.size, end)
    const bytes = await raceAbort(this.#read(offset, end), signal)
    if (bytes.length === length) return bytes
    const text = `reading bytes ${offset} to ${end} returned ${bytes.length} bytes instead of ${length}`
    throw new HyperslabError('FormatError', text, { file: this.#label, actual: bytes.length, expected: length })
  }

  async #read(start: number, end: number): Promise<Uint8Array> {
    const source = this.#source
    try {
      if (isBlob(source)) return new Uint8Array(await source.slice(start, end).arrayBuffer())
      const slice = await source.slice(start, end)
      // Copies the bytes: a source that answers from a cache must not see changes.
      return ArrayBuffer.isView(slice) ? Uint8Array.from(slice) : new Uint8Array(slice.slice(0))
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new HyperslabError('StoreError', `cannot be read: ${reason}`, { file: this.#label, cause })
    }
  }
}

/** Returns the key of a single file: its name, with `.af` appended unless it ends so. */
export const keyFor = (name: string): string => (name.endsWith('.af') && name !== '.af' ? name : `${name}.af`)
