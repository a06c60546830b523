import type { Origins } from '../array/source.ts'
import { HyperslabError } from '../core/errors.ts'
import { newController, type Signal } from '../core/signal.ts'
import { type ByteRange, type ObjectStart, readStart, type Store, type StoredAt } from '../store/store.ts'
import type { BlockOrigin } from './block.ts'
import { MetadataPages, type PageOptions } from './metadata-pages.ts'

/** Options of {@link StoredFile.open}. */
export interface StoredFileOptions extends PageOptions {
  /** Name of the format in cache keys. */
  readonly format: string
  /** Numbers of first and last bytes that opening requests. */
  readonly startBytes: number
  readonly tailBytes: number
  /** Ends of the file, if they are known. */
  readonly start?: ObjectStart | undefined
  /** File that it is closed with. Optional: others are closed alone. */
  readonly first?: StoredFile | undefined
  readonly signal?: Signal | undefined
}

/** One version of a file of a store, read by range, with its metadata in pages. */
export class StoredFile {
  readonly name: string
  readonly path: string
  readonly pages: MetadataPages
  readonly origins: Origins
  readonly #format: string
  readonly #store: Store
  readonly #etag: string
  readonly #controller: ReturnType<typeof newController>

  /**
   * Opens a file of a store, which it closes with the file.
   * @throws NotFoundError
   */
  static async open({ store, path }: StoredAt, options: StoredFileOptions): Promise<StoredFile> {
    const { startBytes, tailBytes, signal } = options
    const start = options.start ?? (await readStart(store, path, startBytes, { tailBytes, signal })) ?? missing(store, path)
    return new StoredFile({ store, path }, start, options)
  }

  private constructor({ store, path }: StoredAt, start: ObjectStart, { format, first, ...pages }: StoredFileOptions) {
    const { etag } = start
    this.name = store.describe(path)
    this.path = path
    this.origins = { place: { store, path } }
    this.#format = format
    this.#store = store
    this.#etag = etag
    this.#controller = first === undefined ? newController() : first.#controller
    const { signal } = this.#controller
    const read = async (offset: number, length: number): Promise<Uint8Array> =>
      (await store.getRange(path, offset, length, { ifMatch: etag, signal })) ?? missing(store, path)
    this.pages = new MetadataPages(start, read, pages)
  }

  /** Aborted when the file is closed. */
  get ended(): Signal {
    return this.#controller.signal
  }

  /**
   * Returns the bytes of the file, for one array.
   * @param part name of the array within the file, for caches
   */
  createOrigin(part: string): BlockOrigin {
    const { path } = this
    const [store, etag, format] = [this.#store, this.#etag, this.#format]
    const options = { ifMatch: etag }
    const identity = store.identify?.(path, etag)
    return {
      file: this.name,
      version: `${format} ${this.name} ${etag}${part}`,
      ...(identity !== undefined && { cacheKey: `${format} ${identity}${part}` }),
      local: store.files?.localPath && { path: store.files.localPath(path), etag },
      recycle: store.files?.recycle,
      quickReads: () => (this.ended.aborted ? undefined : store.files?.quickReads?.(path, etag)),
      read: async (offset, length, signal, into) => {
        this.checkOpen()
        const held = await this.#held([{ offset, length }])
        if (held !== undefined) return held[0]!
        const range = { ...options, signal: signal ?? this.ended, into }
        return (await store.getRange(path, offset, length, range)) ?? missing(store, path)
      },
      readMany:
        store.getRanges &&
        (async (ranges, signal) => {
          this.checkOpen()
          const held = await this.#held(ranges)
          if (held !== undefined) return held
          const found = await store.getRanges!(path, ranges, { ...options, signal: signal ?? this.ended })
          return found ?? missing(store, path)
        }),
    }
  }

  /** Returns copies of ranges that need no request of their own; undefined if one of them does. */
  async #held(ranges: readonly ByteRange[]): Promise<Uint8Array[] | undefined> {
    // Reading local files costs no round trip, and can reuse memory.
    if (this.#store.files !== undefined) return undefined
    const held = ranges.map(({ offset, length }) => this.pages.held(offset, length))
    if (!held.every((each) => each !== undefined)) return undefined
    return (await Promise.all(held)).map((each) => each!.slice())
  }

  /** @throws ClosedError */
  checkOpen(): void {
    if (this.ended.aborted) throw new HyperslabError('ClosedError', 'the file was closed', { file: this.name })
  }

  async close(): Promise<void> {
    this.#controller.abort(new HyperslabError('ClosedError', 'the file was closed', { file: this.name }))
    await this.#store.close?.()
  }
}

function missing(store: Store, path: string): never {
  throw new HyperslabError('NotFoundError', 'there is no such file', { file: store.describe(path) })
}
