import { lazily } from '../core/lazily.ts'
import { Limiter } from '../core/limiter.ts'
import type { Checks } from '../core/options.ts'
import { newController, onAbort, type Signal } from '../core/signal.ts'
import { SingleFlight } from '../core/single-flight.ts'
import { isBrowser, isWorkerd } from './http/fetch.ts'
import { type MergeLimits, planRangeReads, putParts } from './ranges.ts'
import type { RequestWindow } from './request-window.ts'
import type { ByteRange } from './store.ts'

/** Record of a request that was answered, aborted, or failed after its retries. */
export interface RequestLog {
  /** HTTP method, such as `GET` or `HEAD`. */
  readonly method: string
  /** URL of the object without its query, which may hold secrets. */
  readonly url: string
  /** Requested bytes; absent for whole objects. A negative offset counts from the end. */
  readonly range?: ByteRange
  /** HTTP status of the last answer; 0 without an answer. */
  readonly status: number
  /** Received bytes of the last answer. */
  readonly bytes: number
  /** Number of attempts. */
  readonly attempts: number
}

/** Options of requests, shared by all stores over HTTP. */
export interface RequestOptions {
  /**
   * Number of concurrent requests. The default is at most 128, in browsers 32, and adapts: a server that
   * answers 429 or 503, or becomes slow, gets fewer. In workerd it is 6, the limit of the runtime.
   */
  readonly maxRequests?: number
  /** Bytes requested by all requests under way. Default: 64 MiB. */
  readonly maxBytesInFlight?: number
  /** Ranges with at most this many bytes between them share a request. Default: 64 KiB. */
  readonly maxGapBytes?: number
  /** Most bytes of a request; larger ranges are split. Default: 16 MiB. */
  readonly maxRequestBytes?: number
  /** Number of retries after a server error (429, 500, 502, 503, 504) or a cut connection. Default: 4. */
  readonly retries?: number
  /** Wait before the first retry, in ms. It doubles with each retry, with jitter. Default: 100. */
  readonly retryDelay?: number
  /** Callback for each request, called after it has ended. */
  readonly onRequest?: (request: RequestLog) => void
}

export const REQUEST_CHECKS: Checks<RequestOptions> = {
  maxRequests: 'integer from 1',
  maxBytesInFlight: 'number from 1',
  maxGapBytes: 'number from 0',
  maxRequestBytes: 'number from 1',
  retries: 'integer from 0',
  retryDelay: 'number from 0',
  onRequest: 'function',
}

/**
 * Fetches ranges of objects. It merges ranges, limits requests, and shares answers between concurrent
 * callers.
 */
export class RangeRequester {
  readonly #limiter: Limiter
  readonly #flights = new SingleFlight<string, Uint8Array>()
  readonly #limits: MergeLimits
  /** Whether answers are counted. This starts after many concurrent requests or a busy server. */
  #isWatched = false
  /** Creates the adaptive limit; undefined if the number of requests is fixed. */
  readonly #window: (() => RequestWindow | Promise<RequestWindow>) | undefined

  constructor({
    maxRequests,
    maxBytesInFlight = 64 * MIB,
    maxGapBytes = 64 * 1024,
    maxRequestBytes = 16 * MIB,
  }: RequestOptions = {}) {
    const most = maxRequests ?? (isWorkerd() ? 6 : isBrowser() ? 32 : 128)
    this.#limiter = new Limiter(most, maxBytesInFlight)
    if (maxRequests === undefined && !isWorkerd())
      this.#window = lazily(async () => new (await import('./request-window.ts')).RequestWindow(this.#limiter))
    this.#limits = { maxGapBytes, maxRequestBytes }
  }

  /** Number of requests that `get` makes for these ranges if no concurrent caller shares them. */
  count(ranges: readonly ByteRange[]): number {
    return planRangeReads(ranges, this.#limits).length
  }

  /**
   * Returns the bytes of `ranges`, in their order. If one request fails, the others of this call are aborted.
   * @param version object and version; equal ranges of equal versions share a request
   * @param fetch makes one request; it must return exactly the requested bytes, or throw
   */
  async get(
    version: string,
    ranges: readonly ByteRange[],
    fetch: (range: ByteRange, signal: Signal) => Promise<Uint8Array>,
    signal?: Signal,
  ): Promise<Uint8Array[]> {
    const results = ranges.map(({ length }) => new Uint8Array(length))
    await allOrNone(
      planRangeReads(ranges, this.#limits),
      async (request, given) => {
        const { offset, length } = request
        const start = (shared: Signal) => this.#limiter.run(length, () => fetch({ offset, length }, shared), shared)
        const bytes = await this.#flights.share(`${version}\0${offset}-${length}`, start, given)
        // Copy, because callers may share the answer.
        putParts(results, request, bytes)
      },
      signal,
    )
    return results
  }

  /**
   * Records an answer to a request.
   * @param ms time until the first byte
   */
  async answered(status: number, ms: number): Promise<void> {
    const isBusy = status === 429 || status === 503
    this.#isWatched ||= isBusy || this.#limiter.count > FEW_REQUESTS
    if (this.#isWatched) (await this.#window?.())?.answered(isBusy, ms)
  }

  /**
   * Runs another kind of request under the same limits.
   * @param work calls `hold` with the number of bytes that it holds, once that is known
   */
  run<T>(bytes: number, work: (hold: (bytes: number) => void) => Promise<T>, signal?: Signal): Promise<T> {
    return this.#limiter.run(bytes, work, signal)
  }
}

const MIB = 2 ** 20
/** Number of concurrent requests that never overload a server. */
const FEW_REQUESTS = 8

/**
 * Runs `work` for all items concurrently. A failure, or an abort of `signal`, aborts the other items. The
 * first error is thrown after all items have ended, so no work continues in the background.
 */
export async function allOrNone<T>(
  items: readonly T[],
  work: (item: T, signal: Signal) => Promise<void>,
  signal: Signal | undefined,
): Promise<void> {
  signal?.throwIfAborted()
  const controller = newController()
  const failures: unknown[] = []
  const fail = (error: unknown): void => {
    failures.push(error)
    controller.abort(error)
  }
  const forget = signal && onAbort(signal, () => fail(signal.reason))
  try {
    await Promise.all(items.map((item) => work(item, controller.signal).catch(fail)))
  } finally {
    forget?.()
  }
  if (failures.length > 0) throw failures[0]
}
