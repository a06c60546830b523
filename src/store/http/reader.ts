import type { Signal } from '../../core/signal.ts'
import { RangeRequester, type RequestOptions } from '../requester.ts'
import type { ByteRange, ObjectInfo, RangeOptions, Store, StoreOptions, Tail, WholeOptions } from '../store.ts'
import { readVersion } from '../store.ts'
import { type HttpRange, MISSING, type RequestContext, readRange, readSize, readSuffix } from './answers.ts'
import { HttpClient, type HttpClientOptions } from './client.ts'
import { isStrong } from './headers.ts'
import type { Sign } from './redirects.ts'
import type { Pages, WholeReads } from './whole.ts'

/** What a server turned out not to do. */
interface Quirks extends Pages {
  noHead?: true
  noSuffix?: true
  noIfMatch?: true
}

/**
 * Reading over HTTP, whatever keys look like. The version of an object is what `infoOf` makes of the headers
 * of an answer.
 */
export abstract class HttpReader implements Store {
  protected readonly client: HttpClient
  protected readonly requester: RangeRequester
  readonly #quirks = new Map<string, Quirks>()

  /** @throws InvalidArgumentError for limits that would let nothing through */
  constructor(options: RequestOptions & HttpClientOptions, sign?: Sign) {
    const requester = new RangeRequester(options)
    this.requester = requester
    this.client = new HttpClient(options, (status, ms) => requester.answered(status, ms), sign)
  }

  abstract describe(key: string): string

  /** @throws InvalidArgumentError for keys that cannot be fetched */
  protected abstract place(key: string): RequestContext

  identify(key: string, etag: string): string | undefined {
    return isStrong(etag) ? `${this.place(key).url} ${etag}` : undefined
  }

  async stat(key: string, { signal }: StoreOptions = {}): Promise<ObjectInfo | undefined> {
    const place = this.place(key)
    return this.requester.run(0, () => this.#stat(place, signal), signal)
  }

  async getRange(key: string, offset: number, length: number, options?: RangeOptions): Promise<Uint8Array | undefined> {
    return (await this.getRanges(key, [{ offset, length }], options))?.[0]
  }

  async getRanges(key: string, ranges: readonly ByteRange[], options: RangeOptions = {}): Promise<Uint8Array[] | undefined> {
    const { ifMatch, signal } = options
    const requests = this.requester.count(ranges)
    if (requests === 0) return (await import('../empty-ranges.ts')).emptyRanges(this, key, ranges, options)
    // Answers to several requests must be of one version.
    if (requests > 1 && ifMatch === undefined)
      return readVersion(this, key, signal, ({ etag }) => this.getRanges(key, ranges, { signal, ifMatch: etag }))
    const place = this.place(key)
    const fetch = (range: ByteRange, shared: Signal) => this.#range(place, { ...range, ifMatch }, shared)
    try {
      return await this.requester.get(`${place.url}\0${ifMatch ?? ''}`, ranges, fetch, signal)
    } catch (error) {
      if (error === MISSING) return undefined
      throw error
    }
  }

  /**
   * One request where the server answers ranges that count from the end, two where it does not or a browser
   * would ask before.
   */
  async getTail(key: string, length: number, { signal }: StoreOptions = {}): Promise<Tail | undefined> {
    const place = this.place(key)
    let first: ObjectInfo | undefined
    if (length > 0 && !place.crossOrigin && !this.#quirksOf(place).noSuffix) {
      const tail = await this.requester.run(length, () => this.#suffix(place, length, signal), signal)
      if (tail === undefined || (tail !== 'unknown' && 'bytes' in tail)) return tail
      if (tail !== 'unknown') first = tail
    }
    const read = async (info: ObjectInfo): Promise<Tail | undefined> => {
      const wanted = Math.min(length, info.size)
      if (wanted === 0) return { ...info, bytes: new Uint8Array(0) }
      const bytes = await this.getRange(key, info.size - wanted, wanted, { signal, ifMatch: info.etag })
      return bytes && { ...info, bytes }
    }
    return readVersion(this, key, signal, read, first)
  }

  async get(key: string, options: WholeOptions = {}): Promise<Tail | undefined> {
    const place = this.place(key)
    const { readWholeObject } = await import('./whole.ts')
    return readWholeObject(this.#wholeReads(place), place, options)
  }

  async answersAlike(key: string, other: string, { signal }: StoreOptions = {}): Promise<boolean> {
    const place = this.place(key)
    const { areAnsweredAlike } = await import('./whole.ts')
    return areAnsweredAlike(this.#wholeReads(place), place, this.place(other), signal)
  }

  #wholeReads(place: RequestContext): WholeReads {
    return { client: this.client, requester: this.requester, pages: this.#quirksOf(place) }
  }

  /** Waits for no limit: also called by requests that are under way, which would wait for themselves. */
  async #stat(place: RequestContext, signal: Signal | undefined): Promise<ObjectInfo | undefined> {
    const quirks = this.#quirksOf(place)
    if (!quirks.noHead) {
      const found = await this.client.send({ ...place, method: 'HEAD' }, (answer) => readSize(answer, place), signal)
      if (found === 'missing') return undefined
      if (found !== 'unknown') return found
    }
    const { statByByte } = await import('./fallbacks.ts')
    const found = await statByByte(this.client, place, signal)
    if (found !== undefined) quirks.noHead = true
    return found
  }

  /** @throws MISSING when there is no object */
  async #range(place: RequestContext, range: HttpRange, signal: Signal): Promise<Uint8Array> {
    const { offset, length, ifMatch } = range
    const quirks = this.#quirksOf(place)
    const pin = ifMatch !== undefined && isStrong(ifMatch) && !place.crossOrigin && !quirks.noIfMatch
    const headers = { range: `bytes=${offset}-${offset + length - 1}`, ...(pin && { 'if-match': ifMatch }) }
    const request = { ...place, method: 'GET', headers, range: { offset, length } } as const
    const result = await this.client.send(request, (answer) => readRange(answer, place, range), signal)
    if (typeof result === 'object') return result

    const { settleRefusal } = await import('./fallbacks.ts')
    settleRefusal(result, place, range, pin, await this.#stat(place, signal))
    quirks.noIfMatch = true
    return this.#range(place, range, signal)
  }

  async #suffix(
    place: RequestContext,
    length: number,
    signal: Signal | undefined,
  ): Promise<Tail | ObjectInfo | 'unknown' | undefined> {
    const range = { offset: -length, length }
    const request = { ...place, method: 'GET', headers: { range: `bytes=-${length}` }, range } as const
    const found = await this.client.send(request, (answer) => readSuffix(answer, place, length), signal)
    if (found === 'missing') return undefined
    if (found === 'unknown' || !('bytes' in found)) this.#quirksOf(place).noSuffix = true
    return found
  }

  #quirksOf({ url }: RequestContext): Quirks {
    const { origin } = new URL(url)
    const quirks = this.#quirks.get(origin) ?? {}
    this.#quirks.set(origin, quirks)
    return quirks
  }
}
