import { HyperslabError, isHyperslabError } from '../../core/errors.ts'
import type { Checks } from '../../core/options.ts'
import { newController, onAbort, raceAbort, type Signal } from '../../core/signal.ts'
import type { RequestOptions } from '../requester.ts'
import { retryAfterMs, retrying, Transient } from '../retry.ts'
import type { ByteRange } from '../store.ts'
import { type Fetch, type FetchInit, type FetchResponse, isBrowser, platformFetch, type ResponseBody } from './fetch.ts'
import { contentLength, type Headers } from './headers.ts'
import type { Sign } from './redirects.ts'
import { TIME_CHECKS, type TimeLimits, timeLimits, Watchdog } from './time-limits.ts'

export interface HttpRequest {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  readonly url: string
  /** Name of the object in errors and in the log. */
  readonly file: string
  readonly headers?: Record<string, string>
  /** Range of the requested bytes. A negative offset counts from the end. */
  readonly range?: ByteRange
  readonly body?: Uint8Array<ArrayBuffer>
  /** Bytes that the server copies before it answers. */
  readonly copiedBytes?: number
}

/** An answer with an unread body. The caller must read or discard it; otherwise the connection stays busy. */
export class HttpAnswer {
  readonly method: HttpRequest['method']
  /** Name of the object in errors. */
  readonly file: string
  readonly status: number
  readonly headers: Headers
  /** Whether another URL than the requested one answered. */
  readonly redirected: boolean
  /** Number of bytes received so far. */
  received = 0
  readonly #response: FetchResponse
  readonly #watchdog: Watchdog
  readonly #signal: Signal

  /** @param signal aborts the transfer */
  constructor(
    response: FetchResponse,
    { method, file }: Pick<HttpRequest, 'method' | 'file'>,
    watchdog: Watchdog,
    signal: Signal,
    redirected: boolean,
  ) {
    this.method = method
    this.status = response.status
    this.headers = response.headers
    this.redirected = response.redirected === true || redirected
    this.#response = response
    this.file = file
    this.#watchdog = watchdog
    this.#signal = signal
  }

  /** Ends the transfer without reading further. */
  discard(): void {
    this.#response.body?.cancel().catch(() => undefined)
  }

  /**
   * Returns bytes `[skip, skip + length)` of the body, or fewer if the body is shorter. The transfer ends
   * with the last of them.
   * @throws Transient if the connection breaks, or a time limit passes
   */
  async read(skip: number, length: number): Promise<Uint8Array> {
    const out = new Uint8Array(length)
    await this.receive(skip + length, (bytes, offset) => {
      const at = offset - skip
      const from = Math.max(0, -at)
      const to = Math.min(bytes.length, length - at)
      if (from < to) out.set(bytes.subarray(from, to), at + from)
    })
    return out.subarray(0, Math.max(0, Math.min(length, this.received - skip)))
  }

  /**
   * Receives the body up to byte `end`, or to its own end, and ends the transfer.
   * @throws Transient if the connection breaks, or a time limit passes
   */
  async receive(end: number, take: (bytes: Uint8Array, offset: number) => void): Promise<void> {
    const { body } = this.#response
    try {
      if (body) await this.#stream(body, end, take)
      else {
        this.#watchdog.awaitAll('silenceTimeout', contentLength(this.headers) ?? end)
        const whole = new Uint8Array(await raceAbort(this.#response.arrayBuffer(), this.#signal))
        this.received = whole.length
        take(whole, 0)
      }
    } catch (cause) {
      throw this.#watchdog.passed ?? new Transient(failure(cause, this.file, `after ${this.received} bytes of the answer`))
    } finally {
      this.#watchdog.end()
    }
  }

  async #stream(body: ResponseBody, end: number, take: (bytes: Uint8Array, offset: number) => void): Promise<void> {
    const reader = body.getReader()
    const next = () => raceAbort(reader.read(), this.#signal)
    this.#watchdog.awaitBody(() => this.received)
    try {
      // At least one read: only after the end of an empty body is the connection free.
      do {
        const { done, value } = await next()
        if (done) return
        take(value!, this.received)
        this.received += value!.length
        this.#watchdog.traffic.bytes += value!.length
      } while (this.received < end)
      // Reading to the end of a complete body keeps the connection for the next request. Any other body is
      // cut off.
      if (contentLength(this.headers) === this.received) await next()
      else reader.cancel().catch(() => undefined)
    } catch (error) {
      reader.cancel().catch(() => undefined)
      throw error
    }
  }
}

export interface HttpClientOptions extends TimeLimits, Pick<RequestOptions, 'retries' | 'retryDelay' | 'onRequest'> {
  /**
   * Replaces the platform's `fetch`. Its errors count as cut connections, except errors of this package. It
   * also receives redirects within an origin. Redirects to another origin go to the platform's `fetch`,
   * without additions of this one; in browsers they fail.
   */
  readonly fetch?: Fetch | undefined
  /**
   * Called with each URL before it is requested, including redirects. The request is refused if it returns
   * false. In browsers, which hide redirects, redirects are refused.
   */
  readonly allowUrl?: ((url: string) => boolean) | undefined
  /**
   * Headers of every request, except of redirects to another origin. In browsers, each header costs a
   * preflight request on other origins.
   */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export const CLIENT_CHECKS: Checks<Omit<HttpClientOptions, keyof RequestOptions>> = {
  fetch: 'function',
  allowUrl: 'function',
  headers: 'plain object',
  ...TIME_CHECKS,
}

/** Statuses after which a request is retried. */
const TRANSIENT = [429, 500, 502, 503, 504]

/** Records an answer that arrived after `ms`. */
type Answered = (status: number, ms: number) => Promise<void>

/** Makes requests, retries failed ones, and logs them. */
export class HttpClient {
  readonly #options: HttpClientOptions
  readonly #sign: Sign | undefined
  readonly #answered: Answered
  /** Bytes received by all requests so far. */
  readonly #traffic = { bytes: 0 }
  readonly #limits: Required<TimeLimits>
  /** Whether requests carry data that only the requested server may see. */
  readonly #guarded: boolean

  /** @throws InvalidArgumentError for invalid time limits */
  constructor(options: HttpClientOptions, answered: Answered, sign?: Sign) {
    this.#options = options
    this.#answered = answered
    this.#sign = sign
    this.#limits = timeLimits(options)
    this.#guarded =
      sign !== undefined ||
      options.fetch !== undefined ||
      options.allowUrl !== undefined ||
      Object.keys(options.headers ?? {}).length > 0
  }

  /**
   * Sends a request, with retries.
   * @param receive is called with the answer and the number of attempts; a {@link Transient} error from it
   *   causes a retry
   * @throws StoreError after all retries, if there is no answer or the server reports a failure of its own
   */
  async send<T>(
    request: HttpRequest,
    receive: (answer: HttpAnswer, attempts: number) => Promise<T> | T,
    signal?: Signal,
  ): Promise<T> {
    const { retries = 4, retryDelay = 100, onRequest } = this.#options
    const { method, file, range } = request
    let attempts = 0
    let answer: HttpAnswer | undefined
    try {
      const attempt = async (): Promise<T> => {
        attempts++
        answer = undefined
        // One controller for the caller and the time limits; aborting it ends the transfer.
        const controller = newController()
        const forget = signal && onAbort(signal, () => controller.abort(signal.reason))
        const watchdog = new Watchdog(
          this.#limits,
          file,
          (reason) => controller.abort(reason),
          isBrowser() ? this.#traffic : undefined,
        )
        try {
          answer = await this.#fetch(request, watchdog, controller.signal)
          return await receive(answer, attempts)
        } finally {
          watchdog.end()
          forget?.()
        }
      }
      return await retrying({ retries, retryDelay, patience: this.#limits.patience }, attempt, signal)
    } finally {
      const { status = 0, received: bytes = 0 } = answer ?? {}
      onRequest?.({ method, url: file, ...(range && { range }), status, bytes, attempts })
    }
  }

  async #fetchGuarded(fetch: Fetch, url: string, init: FetchInit, file: string, onRedirect: () => void): Promise<FetchResponse> {
    const { fetchGuarded } = await import('./redirects.ts')
    return fetchGuarded(fetch, this.#sign, url, init, file, onRedirect, this.#options.allowUrl)
  }

  async #fetch(request: HttpRequest, watchdog: Watchdog, signal: Signal): Promise<HttpAnswer> {
    const { method, url, file, headers, body, copiedBytes = 0 } = request
    const { fetch = platformFetch } = this.#options
    const browser = isBrowser()
    const init: FetchInit = {
      method,
      // Browsers set the encoding themselves, for ranges only.
      headers: { ...(!browser && { 'accept-encoding': 'identity' }), ...this.#options.headers, ...headers },
      ...(body && { body }),
      signal: signal as never,
      // Browser caches delay parallel ranges of one URL, and have returned truncated ranges.
      ...(browser && { cache: 'no-store' as const }),
    }
    let answer: HttpAnswer
    let redirected = false
    const onRedirect = (): void => {
      redirected = true
    }
    const started = Date.now()
    watchdog.awaitAll('answerTimeout', (body?.length ?? 0) + copiedBytes)
    try {
      const response = this.#guarded ? this.#fetchGuarded(fetch, url, init, file, onRedirect) : fetch(url, init)
      // A `fetch` that ignores signals may still answer.
      const late = (each: FetchResponse): void => void (signal.aborted && each.body?.cancel().catch(() => undefined))
      response.then(late, () => undefined)
      answer = new HttpAnswer(await raceAbort(response, signal), request, watchdog, signal, redirected)
    } catch (cause) {
      if (watchdog.passed !== undefined) throw watchdog.passed
      if (isHyperslabError(cause)) throw cause.within({ file })
      throw new Transient(failure(cause, file, 'no answer'))
    } finally {
      watchdog.end()
    }
    // The upload time of a body reveals nothing about the load of the server.
    if (!body && copiedBytes === 0) await this.#answered(answer.status, Date.now() - started)
    if (!TRANSIENT.includes(answer.status)) return answer
    answer.discard()
    const waitMs = retryAfterMs(answer.headers.get('retry-after'), Date.now())
    const asks = waitMs === undefined ? '' : ` and asks to wait ${Math.ceil(waitMs / 1000)} s`
    const error = new HyperslabError('StoreError', `the server answered ${answer.status}${asks}`, { file, actual: answer.status })
    throw new Transient(error, waitMs === undefined ? {} : { waitMs })
  }
}

function failure(cause: unknown, file: string, when: string): HyperslabError {
  const reasons: string[] = []
  // The message `fetch failed` alone is useless; its cause has the reason.
  for (let error = cause; error instanceof Error; error = error.cause) if (error.message) reasons.push(error.message)
  return new HyperslabError('StoreError', `${when}: ${reasons.join(': ') || String(cause)}`, { file, cause })
}
