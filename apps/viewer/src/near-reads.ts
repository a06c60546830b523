// What is read of a file over the network before its first picture: small parts that lie near each other.
import { HttpStore } from 'hyperslab'

type Ranges = Parameters<HttpStore['getRanges']>[1]
type TailOptions = Parameters<HttpStore['getTail']>[2]
type RangeOptions = NonNullable<Parameters<HttpStore['getRanges']>[2]>

/** Bytes of a page: what lies in one is read with all of it. */
const PAGE = 2 ** 16
/** Bytes that are read of the end of a file. */
const TAIL = 4 * PAGE
/** Pages that are read and kept. */
const MOST_PAGES = 16

const METADATA = /\/(zarr\.json|\.z(array|group|metadata|attrs))$/

/**
 * Reads headers and coordinates by the page, and each page once: of a file they lie together as a rule, and each request takes longer than
 * the bytes beside what was asked for. Pages are of one version, which is named by those who ask.
 */
export class NearReads extends HttpStore {
  /** Of each file the size of each version that is known. */
  readonly #sizes = new Map<string, number>()
  /** The ends of files, which may have coordinates, too. */
  readonly #tails = new Map<string, Uint8Array>()
  readonly #pages = new Map<string, Promise<Uint8Array | undefined>>()
  readonly #metadata = new Map<string, ReturnType<HttpStore['get']>>()

  /** Whether headers and coordinates were read. */
  #isSettled = false

  /** Reads no more pages: what is read from now on are values, of which a page would be too much, or too little. */
  settle(): void {
    this.#isSettled = true
  }

  override async stat(...args: Parameters<HttpStore['stat']>): ReturnType<HttpStore['stat']> {
    const info = await super.stat(...args)
    if (info !== undefined) this.#sizes.set(`${args[0]} ${info.etag}`, info.size)
    return info
  }

  /** More than is asked for: the tables of a container lie at its end, as far as they are read, and often coordinates do. */
  override async getTail(key: string, length: number, options?: TailOptions): ReturnType<HttpStore['getTail']> {
    const tail = await super.getTail(key, Math.max(length, TAIL), options)
    if (tail === undefined) return undefined
    const version = `${key} ${tail.etag}`
    this.#sizes.set(version, tail.size)
    this.#tails.set(version, tail.bytes)
    return { ...tail, bytes: tail.bytes.subarray(Math.max(0, tail.bytes.length - length)) }
  }

  /** Metadata of a Zarr store, which are read once for all that is opened in it; also that there are none. */
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
    // Several ranges at once are values, and the store itself asks for neighbours together.
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

  /** A page, which whoever asks for it meanwhile waits for, too; one that failed, or was given up, is read again. */
  #page(version: string, key: string, offset: number, length: number, options: RangeOptions): Promise<Uint8Array | undefined> {
    const name = `${version} ${offset}`
    let page = this.#pages.get(name)
    if (page === undefined) {
      // Others may wait for it when this one gives up.
      const { signal: _, ...kept } = options
      page = super.getRanges(key, [{ offset, length }], kept).then((found) => found?.[0])
      page.catch(() => this.#pages.delete(name))
      this.#pages.set(name, page)
    }
    return page
  }
}
