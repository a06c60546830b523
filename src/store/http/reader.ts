import { lazily } from '../../core/lazily.ts'
import type { Signal } from '../../core/signal.ts'
import { RangeRequester, type RequestOptions } from '../requester.ts'
import type {
  ByteRange,
  ObjectInfo,
  ObjectStart,
  ObjectTail,
  RangeOptions,
  ReadOptions,
  StartOptions,
  Store,
  WholeOptions,
} from '../store.ts'
import { readVersion } from '../store.ts'
import { isHtml } from './answers.ts'
import { type HttpAnswer, HttpClient, type HttpClientOptions } from './client.ts'
import { Absence, type RequestContext } from './context.ts'
import { isBrowser } from './fetch.ts'
import { isStrong } from './headers.ts'
import type { HttpRange, readRange } from './range-answers.ts'
import type { Sign } from './redirects.ts'
import type { Pages, WholeReads } from './request-whole.ts'

const rangeAnswers = lazily(() => import('./range-answers.ts'))

/** Loads the readers of answers while a request is under way. The reader of its answer reports a failure. */
function answersBeside(): ReturnType<typeof rangeAnswers> {
  const loaded = rangeAnswers()
  Promise.resolve(loaded).catch(() => undefined)
  return loaded
}

/** Features that a server turned out to lack. */
interface Quirks extends Pages {
  noHead?: true
  noSuffix?: true
  noIfMatch?: true
}

/** Thrown for a part of an HTML page that may have been sent instead of the object. */
const HTML = Symbol('html')

/** Facts about an answer that its result does not contain. */
interface Seen {
  /** Whether it was an HTML page. */
  html?: boolean
}

function noting(answer: HttpAnswer, seen: Seen | undefined): HttpAnswer {
  if (seen !== undefined && answer.status < 300) seen.html = isHtml(answer.headers)
  return answer
}

/** Returns the result of a read. For a missing object, reports an unproved absence to the caller. */
function orAbsent<T extends object>(found: T | Absence, { onUnproved }: ReadOptions): T | undefined {
  if (!(found instanceof Absence)) return found
  if (found.unproved !== undefined) onUnproved?.(found.unproved)
  return undefined
}

/**
 * Base of stores that read over HTTP, for any kind of key. The headers of an answer name the version of an
 * object, through `headerInfo`.
 */
export abstract class HttpReader implements Store {
  protected readonly client: HttpClient
  protected readonly requester: RangeRequester
  readonly #quirks = new Map<string, Quirks>()
  /** Counter that makes keys of requests that no other caller may share. */
  #fresh = 0

  /** @throws InvalidArgumentError for limits that would block all requests */
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

  async stat(key: string, options: ReadOptions = {}): Promise<ObjectInfo | undefined> {
    const { signal } = options
    const place = this.place(key)
    const seen: Seen = {}
    const found = await this.requester.run(0, () => this.#stat(place, signal, seen), signal)
    const info = orAbsent((await this.#ifPage(place, seen, signal)) ?? found, options)
    return info && seen.html ? { ...info, isHtml: true } : info
  }

  async getRange(key: string, offset: number, length: number, options?: RangeOptions): Promise<Uint8Array | undefined> {
    return (await this.getRanges(key, [{ offset, length }], options))?.[0]
  }

  async getRanges(key: string, ranges: readonly ByteRange[], options: RangeOptions = {}): Promise<Uint8Array[] | undefined> {
    const { ifMatch, signal, fresh = false } = options
    const requests = this.requester.count(ranges)
    if (requests === 0) return (await import('../empty-ranges.ts')).emptyRanges(this, key, ranges, options)
    // All requests must read the same version.
    if (requests > 1 && ifMatch === undefined)
      return readVersion(this, key, options, ({ etag }) => this.getRanges(key, ranges, { ...options, ifMatch: etag }))
    const place = this.place(key)
    const read = (takesHtml: boolean): Promise<Uint8Array[] | Absence | typeof HTML> => {
      const fetch = (range: ByteRange, shared: Signal) => this.#range(place, { ...range, ifMatch, fresh, takesHtml }, shared)
      const flight = `${place.url}\0${ifMatch ?? ''}${takesHtml ? '\0html' : ''}${fresh ? `\0${++this.#fresh}` : ''}`
      return this.requester.get(flight, ranges, fetch, signal).catch((error: unknown) => {
        if (error instanceof Absence || error === HTML) return error
        throw error
      })
    }
    let found = await read(false)
    // The request for the page bypasses the limit on concurrent requests, because under it the request would
    // wait for itself.
    if (found === HTML) found = (await this.#ifPage(place, { html: true }, signal)) ?? (await read(true))
    return orAbsent(found as Exclude<typeof found, symbol>, options)
  }

  /**
   * Takes one request if the server answers ranges that count from the end. Takes two if it does not, or if a
   * browser would send a preflight request.
   */
  async getTail(key: string, length: number, options: ReadOptions = {}): Promise<ObjectTail | undefined> {
    const { signal } = options
    const place = this.place(key)
    let first: ObjectInfo | undefined
    if (length > 0 && !place.crossOrigin && !this.#quirksOf(place).noSuffix) {
      const seen: Seen = {}
      const tail = await this.requester.run(length, () => this.#suffix(place, length, signal, seen), signal)
      const absence = tail instanceof Absence ? tail : await this.#ifPage(place, seen, signal)
      if (absence !== undefined) return orAbsent<never>(absence, options)
      if (typeof tail === 'object') {
        if ('bytes' in tail) return tail as ObjectTail
        first = tail as ObjectInfo
      }
    }
    const read = async (info: ObjectInfo): Promise<ObjectTail | undefined> => {
      const wanted = Math.min(length, info.size)
      if (wanted === 0) return { ...info, bytes: new Uint8Array(0) }
      const bytes = await this.getRange(key, info.size - wanted, wanted, { ...options, ifMatch: info.etag })
      return bytes && { ...info, bytes }
    }
    return readVersion(this, key, options, read, first)
  }

  async getStart(key: string, length: number, options: StartOptions = {}): Promise<ObjectStart | undefined> {
    const at = this.place(key)
    const { readHttpStart } = await import('./start.ts')
    const reads = { ...this.#wholeReads(at), quirks: this.#quirksOf(at) }
    return orAbsent(await readHttpStart(reads, { store: this, key, at }, length, options), options)
  }

  async get(key: string, options: WholeOptions = {}): Promise<ObjectTail | undefined> {
    const place = this.place(key)
    const { readWholeObject } = await import('./whole.ts')
    return orAbsent(await readWholeObject(this.#wholeReads(place), place, options), options)
  }

  async answersAlike(key: string, other: string, options: ReadOptions = {}): Promise<boolean> {
    const place = this.place(key)
    const { areAnsweredAlike, missingByPage } = await import('./pages.ts')
    const areAlike = await areAnsweredAlike(this.#wholeReads(place), place, this.place(other), options.signal)
    if (areAlike) orAbsent<never>(missingByPage(place), options)
    return areAlike
  }

  /** Returns the absence if the answer was the page of HTML that the server sends for missing objects. */
  async #ifPage(place: RequestContext, { html }: Seen, signal: Signal | undefined): Promise<Absence | undefined> {
    if (!html) return undefined
    const { isPage, missingByPage } = await import('./pages.ts')
    return (await isPage(this.#wholeReads(place), place, undefined, signal)) ? missingByPage(place) : undefined
  }

  #wholeReads(place: RequestContext): WholeReads {
    return { client: this.client, requester: this.requester, pages: this.#quirksOf(place) }
  }

  /**
   * Requests size and version outside of the limit on concurrent requests. Running requests also call it, and
   * would wait for themselves.
   */
  async #stat(place: RequestContext, signal: Signal | undefined, seen?: Seen): Promise<ObjectInfo | Absence> {
    const quirks = this.#quirksOf(place)
    if (!quirks.noHead) {
      const answers = answersBeside()
      const receive = async (answer: HttpAnswer) => (await answers).readSize(noting(answer, seen), place)
      const found = await this.client.send({ ...place, method: 'HEAD' }, receive, signal)
      if (found !== 'unknown') return found
    }
    const { statByByte } = await import('./fallbacks.ts')
    const found = await statByByte(this.client, place, signal, (answer) => noting(answer, seen))
    if (!(found instanceof Absence)) quirks.noHead = true
    return found
  }

  /** @throws Absence for a missing object; HTML for a part of a page, unless pages are accepted */
  async #range(
    place: RequestContext,
    range: HttpRange & { readonly fresh: boolean; readonly takesHtml: boolean },
    signal: Signal,
  ): Promise<Uint8Array> {
    const { offset, length, ifMatch, fresh, takesHtml } = range
    const quirks = this.#quirksOf(place)
    const pin = ifMatch !== undefined && isStrong(ifMatch) && !place.crossOrigin && !quirks.noIfMatch
    const headers = {
      range: `bytes=${offset}-${offset + length - 1}`,
      ...(pin && { 'if-match': ifMatch }),
      // Browsers request fresh answers anyway. For other origins, this header would cause a preflight
      // request.
      ...(fresh && !isBrowser() && { 'cache-control': 'no-cache' }),
    }
    const request = { ...place, method: 'GET', headers, range: { offset, length } } as const
    const answers = answersBeside()
    const receive = async (answer: HttpAnswer): ReturnType<typeof readRange> => {
      if (takesHtml || answer.status > 299 || !isHtml(answer.headers)) return (await answers).readRange(answer, place, range)
      answer.discard()
      throw HTML
    }
    const result = await this.client.send(request, receive, signal)
    if (result instanceof Absence) throw result
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
    seen: Seen,
  ): Promise<ObjectTail | ObjectInfo | 'unknown' | Absence> {
    const range = { offset: -length, length }
    const request = { ...place, method: 'GET', headers: { range: `bytes=-${length}` }, range } as const
    const answers = answersBeside()
    const receive = async (answer: HttpAnswer) => (await answers).readSuffix(noting(answer, seen), place, length)
    const found = await this.client.send(request, receive, signal)
    if (found instanceof Absence) return found
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
