// What is read of a file over the network before its first picture: small parts that lie near each other.
import { HttpStore } from 'hyperslab'

type Ranges = Parameters<HttpStore['getRanges']>[1]
type RangeOptions = NonNullable<Parameters<HttpStore['getRanges']>[2]>

/** Bytes of a page: what lies in one is read with all of it. */
const PAGE = 2 ** 16
/** Pages that are read and kept; what is read later are values, of which a page would be too much. */
const MOST_PAGES = 16

/**
 * Reads headers and coordinates by the page, and each page once: of a file they lie together as a rule, and each request takes longer than
 * the bytes beside what was asked for. Pages are of one version, which is named by those who ask.
 */
export class NearReads extends HttpStore {
  /** Of each file the size of each version that is known. */
  readonly #sizes = new Map<string, number>()
  readonly #pages = new Map<string, Promise<Uint8Array | undefined>>()

  override async stat(...args: Parameters<HttpStore['stat']>): ReturnType<HttpStore['stat']> {
    const info = await super.stat(...args)
    if (info !== undefined) this.#sizes.set(`${args[0]} ${info.etag}`, info.size)
    return info
  }

  override async getTail(...args: Parameters<HttpStore['getTail']>): ReturnType<HttpStore['getTail']> {
    const tail = await super.getTail(...args)
    if (tail !== undefined) this.#sizes.set(`${args[0]} ${tail.etag}`, tail.size)
    return tail
  }

  override async getRanges(key: string, ranges: Ranges, options: RangeOptions = {}): ReturnType<HttpStore['getRanges']> {
    const [range] = ranges
    const version = `${key} ${options.ifMatch}`
    const size = options.ifMatch === undefined ? undefined : this.#sizes.get(version)
    // Several ranges at once are values, and the store itself asks for neighbours together.
    if (size === undefined || range === undefined || ranges.length > 1) return super.getRanges(key, ranges, options)
    const { offset, length } = range
    const start = Math.floor(offset / PAGE) * PAGE
    const isKnown = this.#pages.has(`${version} ${start}`)
    if (offset + length > start + PAGE || !(isKnown || this.#pages.size < MOST_PAGES))
      return super.getRanges(key, ranges, options)
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
