// Bundles the small reads of neighbouring parts of a remote file before its first picture.
import { HttpStore } from 'hyperslab'

type Ranges = Parameters<HttpStore['getRanges']>[1]
type TailOptions = Parameters<HttpStore['getTail']>[2]
type RangeOptions = NonNullable<Parameters<HttpStore['getRanges']>[2]>

/** Size of a page in bytes. A small read fetches its whole page. */
const PAGE = 2 ** 16
/** Bytes that are read from the end of a file. */
const TAIL = 4 * PAGE
/** Most pages that are kept. */
const MOST_PAGES = 16

const METADATA = /\/(zarr\.json|\.z(array|group|metadata|attrs))$/

/**
 * Store that reads headers and coordinates by pages, each once. They usually are close together in a file,
 * and another request takes longer than the additional bytes. A page has the version that the reader
 * requests.
 */
export class NearReads extends HttpStore {
  /** Size of each known version of a file. */
  readonly #sizes = new Map<string, number>()
  /** Ends of files, which may contain coordinates, too. */
  readonly #tails = new Map<string, Uint8Array>()
  readonly #pages = new Map<string, Promise<Uint8Array | undefined>>()
  readonly #metadata = new Map<string, ReturnType<HttpStore['get']>>()

  /** Whether headers and coordinates have been read. */
  #isSettled = false

  /** Stops reading pages. All further reads are of values, for which pages have the wrong size. */
  settle(): void {
    this.#isSettled = true
  }

  override async stat(...args: Parameters<HttpStore['stat']>): ReturnType<HttpStore['stat']> {
    const info = await super.stat(...args)
    if (info !== undefined) this.#sizes.set(`${args[0]} ${info.etag}`, info.size)
    return info
  }

  /**
   * Reads more than requested, because the tables of a container are at its end, and often coordinates, too.
   */
  override async getTail(key: string, length: number, options?: TailOptions): ReturnType<HttpStore['getTail']> {
    const tail = await super.getTail(key, Math.max(length, TAIL), options)
    if (tail === undefined) return undefined
    const version = `${key} ${tail.etag}`
    this.#sizes.set(version, tail.size)
    this.#tails.set(version, tail.bytes)
    return { ...tail, bytes: tail.bytes.subarray(Math.max(0, tail.bytes.length - length)) }
  }

  /** Reads metadata of a Zarr store once for all its arrays, and remembers absent ones. */
  override get(...args: Parameters<HttpStore['get']>): ReturnType<HttpStore['get']> {
    const [key] = args
    if (!METADATA.test(key)) return super.get(...args)
    let found = this.#metadata.get(key)
    if (found === undefined) {
      found = super.get(...args)
      found.catch(() => this.#metadata.delete(key))
      this.#metadata.set(key, found)
    }
    return found
  }

  override async getRanges(key: string, ranges: Ranges, options: RangeOptions = {}): ReturnType<HttpStore['getRanges']> {
    const [range] = ranges
    const version = `${key} ${options.ifMatch}`
    const size = options.ifMatch === undefined ? undefined : this.#sizes.get(version)
    // Several ranges belong to values, and the base class merges neighbours itself.
    if (size === undefined || range === undefined || ranges.length > 1) return super.getRanges(key, ranges, options)
    const { offset, length } = range
    const tail = this.#tails.get(version) ?? new Uint8Array(0)
    const inTail = offset - (size - tail.length)
    if (inTail >= 0) return [tail.slice(inTail, inTail + length)]
    const start = Math.floor(offset / PAGE) * PAGE
    const isKnown = this.#pages.has(`${version} ${start}`)
    const isNear = !this.#isSettled && this.#pages.size < MOST_PAGES
    if (offset + length > start + PAGE || !(isKnown || isNear)) return super.getRanges(key, ranges, options)
    const page = await this.#page(version, key, start, Math.min(PAGE, size - start), options)
    return page && [page.slice(offset - start, offset - start + length)]
  }

  /** Returns a page, shared by concurrent readers. A failed page is read again. */
  #page(version: string, key: string, offset: number, length: number, options: RangeOptions): Promise<Uint8Array | undefined> {
    const name = `${version} ${offset}`
    let page = this.#pages.get(name)
    if (page === undefined) {
      // The signal is removed, because other readers may wait for the page.
      const { signal: _, ...kept } = options
      page = super.getRanges(key, [{ offset, length }], kept).then((found) => found?.[0])
      page.catch(() => this.#pages.delete(name))
      this.#pages.set(name, page)
    }
    return page
  }
}
