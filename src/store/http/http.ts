import { HyperslabError } from '../../core/errors.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import { REQUEST_CHECKS, type RequestOptions } from '../requester.ts'
import { CLIENT_CHECKS, type HttpClientOptions } from './client.ts'
import type { RequestContext } from './context.ts'
import { isCrossOrigin } from './fetch.ts'
import { HttpReader } from './reader.ts'

/** Options of {@link HttpStore}. */
export interface HttpStoreOptions extends RequestOptions, HttpClientOptions {
  /** Query added to every URL, such as a signature or token. Neither keys nor error messages contain it. */
  readonly query?: string
  /**
   * Statuses treated as "not found". Default: 404 and 410. Some servers answer 403 for missing objects, such
   * as S3 without permission to list. Treating 403 as missing also hides existing sidecars that may not be
   * read.
   */
  readonly notFound?: readonly number[] | undefined
}

const CHECKS: Checks<HttpStoreOptions> = { ...REQUEST_CHECKS, ...CLIENT_CHECKS, query: 'string', notFound: 'list of integers' }

/**
 * Read-only store of objects behind `http:` and `https:` URLs. Keys are absolute URLs.
 *
 * The version of an object is its `ETag`. Without one, size and `Last-Modified` name it, so an equally long
 * replacement within the same second stays unnoticed. Without either, the version is `size-only:` with the
 * size, and only a change of size is noticed.
 * @example
 * const store = new HttpStore({ headers: { authorization: 'Bearer 1234' } })
 * await using file = await open({ store, path: 'https://data.example.org/climate.af' })
 * console.log(await file.array('tas').get([0, 0, 0])) // 280
 */
export class HttpStore extends HttpReader {
  /** Keys are URLs, with percent-encoded names. */
  readonly urlNames = true
  readonly #query: string
  readonly #missing: readonly number[]

  /** @throws InvalidArgumentError for limits that would block all requests */
  constructor(options: HttpStoreOptions = {}) {
    checkOptions('HttpStore', options, CHECKS)
    super(options)
    this.#query = options.query?.replace(/^\?/, '') ?? ''
    this.#missing = options.notFound ?? [404, 410]
  }

  override describe(key: string): string {
    return key.replace(/[?#].*$/s, '')
  }

  /** @throws InvalidArgumentError if `key` is not a URL that can be fetched */
  protected override place(key: string): RequestContext {
    const file = this.describe(key)
    const url = parse(key)
    if (url === undefined || !/^https?:$/.test(url.protocol))
      throw new HyperslabError('InvalidArgumentError', 'not an absolute http: or https: URL', { file, actual: file })
    if (url.username !== '' || url.password !== '') {
      const text = 'URLs with a password cannot be fetched; pass `headers: { authorization }` to the store'
      throw new HyperslabError('InvalidArgumentError', text, { file: `${url.origin}${url.pathname}` })
    }
    url.hash = ''
    if (this.#query !== '') url.search = url.search === '' ? this.#query : `${url.search}&${this.#query}`
    return { url: url.href, file, missing: this.#missing, crossOrigin: isCrossOrigin(url.href) }
  }
}

function parse(url: string): URL | undefined {
  try {
    return new URL(url)
  } catch {
    return undefined
  }
}
