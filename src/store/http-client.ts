import { HyperslabError, isHyperslabError } from '../core/errors.js'
import type { Checks } from '../core/options.js'
import type { Signal } from '../core/signal.js'
import { type Fetch, type FetchResponse, isBrowser, platformFetch } from './fetch.js'
import { contentLength, type Headers } from './http-headers.js'
import type { RequestOptions } from './requester.js'
import { retryAfterMs, retrying, Transient } from './retry.js'
import type { ByteRange } from './store.js'

export interface HttpRequest {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  readonly url: string
  /** How errors and the log name the object. */
  readonly file: string
  readonly headers?: Record<string, string>
  /** Of the bytes asked for; a negative offset counts from the end. */
  readonly range?: ByteRange
  readonly body?: Uint8Array<ArrayBuffer>
}

/** An answer whose body was not read yet. Whoever gets one reads it or discards it, or the connection stays busy. */
export class Answer {
  readonly method: HttpRequest['method']
  readonly status: number
  readonly headers: Headers
  /** Bytes received so far. */
  received = 0
  readonly #response: FetchResponse
  readonly #file: string

  constructor(response: FetchResponse, { method, file }: Pick<HttpRequest, 'method' | 'file'>) {
    this.method = method
    this.status = response.status
    this.headers = response.headers
    this.#response = response
    this.#file = file
  }

  /** Ends the transfer: the bytes are not wanted. */
  discard(): void {
    this.#response.body?.cancel().catch(() => undefined)
  }

  /**
   * Bytes `[skip, skip + length)` of the body, or as many of them as there are; the transfer ends with the last of them.
   * @throws Transient when the connection breaks
   */
  async read(skip: number, length: number): Promise<Uint8Array> {
    try {
      return await this.#read(skip, length)
    } catch (cause) {
      throw new Transient(failure(cause, this.#file, `after ${this.received} bytes of the answer`))
    }
  }

  /**
   * The whole body, of those that are known to be small.
   * @throws Transient when the connection breaks
   */
  async text(): Promise<string> {
    try {
      const bytes = await this.#response.arrayBuffer()
      this.received = bytes.byteLength
      return new TextDecoder().decode(bytes)
    } catch (cause) {
      throw new Transient(failure(cause, this.#file, 'before the answer was complete'))
    }
  }

  async #read(skip: number, length: number): Promise<Uint8Array> {
    const { body } = this.#response
    if (!body) {
      const whole = new Uint8Array(await this.#response.arrayBuffer())
      this.received = whole.length
      return whole.slice(skip, skip + length)
    }
    const out = new Uint8Array(length)
    const reader = body.getReader()
    // At least one read: an empty body must be seen to end, or the connection is not free.
    do {
      const { done, value } = await reader.read()
      if (done) return out.subarray(0, Math.max(0, Math.min(length, this.received - skip)))
      const at = this.received - skip
      const from = Math.max(0, -at)
      const to = Math.min(value!.length, length - at)
      if (from < to) out.set(value!.subarray(from, to), at + from)
      this.received += value!.length
    } while (this.received < skip + length)
    // Seeing the end of a complete body keeps the connection for the next request; anything else is cut off.
    if (contentLength(this.headers) === this.received) await reader.read()
    else reader.cancel().catch(() => undefined)
    return out
  }
}

export interface HttpClientOptions extends Pick<RequestOptions, 'retries' | 'retryDelay' | 'onRequest'> {
  /** Instead of the platform's. Its errors count as cut connections, except those of this package. */
  readonly fetch?: Fetch | undefined
  /** Sent with every request. In browsers, any header costs a preflight request on other origins. */
  readonly headers?: Readonly<Record<string, string>>
}

export const CLIENT_CHECKS: Checks<Omit<HttpClientOptions, keyof RequestOptions>> = { fetch: 'function', headers: 'object' }

/** Statuses that say: try again later. */
const TRANSIENT = [429, 500, 502, 503, 504]

/** Makes requests, repeats failed ones, and logs them. */
export class HttpClient {
  readonly #options: HttpClientOptions

  constructor(options: HttpClientOptions) {
    this.#options = options
  }

  /**
   * @param receive takes the answer, and how many times the request was made; a {@link Transient} error it throws has it repeated
   * @throws StoreError when there is no answer, or that of a server in trouble, after all repetitions
   */
  async send<T>(
    request: HttpRequest,
    receive: (answer: Answer, attempts: number) => Promise<T> | T,
    signal?: Signal,
  ): Promise<T> {
    const { retries = 4, retryDelay = 100, onRequest } = this.#options
    const { method, file, range } = request
    let attempts = 0
    let answer: Answer | undefined
    try {
      const attempt = async (): Promise<T> => {
        attempts++
        answer = undefined
        answer = await this.#fetch(request, signal)
        return receive(answer, attempts)
      }
      return await retrying({ retries, retryDelay }, attempt, signal)
    } finally {
      const { status = 0, received: bytes = 0 } = answer ?? {}
      onRequest?.({ method, url: file, ...(range && { range }), status, bytes, attempts })
    }
  }

  async #fetch(request: HttpRequest, signal: Signal | undefined): Promise<Answer> {
    const { method, url, file, headers, body } = request
    const { fetch = platformFetch } = this.#options
    const browser = isBrowser()
    const init = {
      method,
      // Browsers set the encoding themselves, and do so for ranges only.
      headers: { ...(!browser && { 'accept-encoding': 'identity' }), ...this.#options.headers, ...headers },
      ...(body && { body }),
      ...(signal && { signal: signal as never }),
      // Browsers' caches make ranges of one URL wait for each other, and have answered with truncated ones.
      ...(browser && { cache: 'no-store' as const }),
    }
    let answer: Answer
    try {
      answer = new Answer(await fetch(url, init), request)
    } catch (cause) {
      if (isHyperslabError(cause)) throw cause.within({ file })
      throw new Transient(failure(cause, file, 'no answer'))
    }
    if (!TRANSIENT.includes(answer.status)) return answer
    answer.discard()
    const text = `the server answered ${answer.status}`
    throw new Transient(
      new HyperslabError('StoreError', text, { file, actual: answer.status }),
      retryAfterMs(answer.headers.get('retry-after'), Date.now()),
    )
  }
}

function failure(cause: unknown, file: string, when: string): HyperslabError {
  const reasons: string[] = []
  // `fetch failed` alone helps nobody; what failed is its cause.
  for (let error = cause; error instanceof Error; error = error.cause) if (error.message) reasons.push(error.message)
  return new HyperslabError('StoreError', `${when}: ${reasons.join(': ') || String(cause)}`, { file, cause })
}
