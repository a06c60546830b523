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
  /** How errors and the log name the object. */
  readonly file: string
  readonly headers?: Record<string, string>
  /** Of the bytes asked for; a negative offset counts from the end. */
  readonly range?: ByteRange
  readonly body?: Uint8Array<ArrayBuffer>
  /** Bytes that the server copies before it answers. */
  readonly copiedBytes?: number
}

/**
 * An answer whose body was not read yet. Whoever gets one reads it or discards it, or the connection stays
 * busy.
 */
export class HttpAnswer {
  readonly method: HttpRequest['method']
  /** For errors. */
  readonly file: string
  readonly status: number
  readonly headers: Headers
  /** Bytes received so far. */
  received = 0
  readonly #response: FetchResponse
  readonly #watchdog: Watchdog
  readonly #signal: Signal

  /** @param signal aborts what is being received */
  constructor(
    response: FetchResponse,
    { method, file }: Pick<HttpRequest, 'method' | 'file'>,
    watchdog: Watchdog,
    signal: Signal,
  ) {
    this.method = method
    this.status = response.status
    this.headers = response.headers
    this.#response = response
    this.file = file
    this.#watchdog = watchdog
    this.#signal = signal
  }

  /** Ends the transfer: the bytes are not wanted. */
  discard(): void {
    this.#response.body?.cancel().catch(() => undefined)
  }

  /**
   * Bytes `[skip, skip + length)` of the body, or as many of them as there are; the transfer ends with the
   * last of them.
   * @throws Transient when the connection breaks, or a limit of time passes
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
   * Receives the body up to byte `end`, or its own end, and ends the transfer.
   * @throws Transient when the connection breaks, or a limit of time passes
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
      // At least one read: an empty body must be seen to end, or the connection is not free.
      do {
        const { done, value } = await next()
        if (done) return
        take(value!, this.received)
        this.received += value!.length
        this.#watchdog.traffic.bytes += value!.length
      } while (this.received < end)
      // Seeing the end of a complete body keeps the connection for the next request; anything else is cut
      // off.
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
   * Instead of the platform's. Its errors count as cut connections, except those of this package. Redirects
   * within an origin are given to it again; to another origin they are followed by the platform's, without
   * what it may add, and in browsers not at all.
   */
  readonly fetch?: Fetch | undefined
  /**
   * Called with each URL before it is requested, including redirects. The request is refused if it returns
   * false. In browsers, which hide redirects, redirects are refused.
   */
  readonly allowUrl?: ((url: string) => boolean) | undefined
  /**
   * Sent with every request, but not to where another origin is redirected to. In browsers, any header costs
   * a preflight request on other origins.
   */
  readonly headers?: Readonly<Record<string, string>>
}

export const CLIENT_CHECKS: Checks<Omit<HttpClientOptions, keyof RequestOptions>> = {
  fetch: 'function',
  allowUrl: 'function',
  headers: 'plain object',
  ...TIME_CHECKS,
}

/** Statuses that say: try again later. */
const TRANSIENT = [429, 500, 502, 503, 504]

/** Takes note of an answer, after so many ms. */
type Answered = (status: number, ms: number) => Promise<void>

/** Makes requests, repeats failed ones, and logs them. */
export class HttpClient {
  readonly #options: HttpClientOptions
  readonly #sign: Sign | undefined
  readonly #answered: Answered
  /** Received by all requests so far. */
  readonly #traffic = { bytes: 0 }
  readonly #limits: Required<TimeLimits>
  /** Requests carry what only the server that was asked may see. */
  readonly #guarded: boolean

  /** @throws InvalidArgumentError for limits of time that are none */
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
   * @param receive takes the answer, and how many times the request was made; a {@link Transient} error it
   *   throws has it repeated
   * @throws StoreError when there is no answer, or that of a server in trouble, after all repetitions
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
        // One for the caller and for the limits of time: what it aborts ends on the wire.
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

  async #fetchGuarded(fetch: Fetch, url: string, init: FetchInit, file: string): Promise<FetchResponse> {
    const { fetchGuarded } = await import('./redirects.ts')
    return fetchGuarded(fetch, this.#sign, url, init, file, this.#options.allowUrl)
  }

  async #fetch(request: HttpRequest, watchdog: Watchdog, signal: Signal): Promise<HttpAnswer> {
    const { method, url, file, headers, body, copiedBytes = 0 } = request
    const { fetch = platformFetch } = this.#options
    const browser = isBrowser()
    const init: FetchInit = {
      method,
      // Browsers set the encoding themselves, and do so for ranges only.
      headers: { ...(!browser && { 'accept-encoding': 'identity' }), ...this.#options.headers, ...headers },
      ...(body && { body }),
      signal: signal as never,
      // Browsers' caches make ranges of one URL wait for each other, and have answered with truncated ones.
      ...(browser && { cache: 'no-store' as const }),
    }
    let answer: HttpAnswer
    const started = Date.now()
    watchdog.awaitAll('answerTimeout', (body?.length ?? 0) + copiedBytes)
    try {
      const response = this.#guarded ? this.#fetchGuarded(fetch, url, init, file) : fetch(url, init)
      // A `fetch` that takes no notice of signals may answer all the same.
      const late = (each: FetchResponse): void => void (signal.aborted && each.body?.cancel().catch(() => undefined))
      response.then(late, () => undefined)
      answer = new HttpAnswer(await raceAbort(response, signal), request, watchdog, signal)
    } catch (cause) {
      if (watchdog.passed !== undefined) throw watchdog.passed
      if (isHyperslabError(cause)) throw cause.within({ file })
      throw new Transient(failure(cause, file, 'no answer'))
    } finally {
      watchdog.end()
    }
    // How long a body takes to be sent tells nothing.
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
  // `fetch failed` alone helps nobody; what failed is its cause.
  for (let error = cause; error instanceof Error; error = error.cause) if (error.message) reasons.push(error.message)
  return new HyperslabError('StoreError', `${when}: ${reasons.join(': ') || String(cause)}`, { file, cause })
}
