import { lazily } from '../core/lazily.ts'
import { Limiter } from '../core/limiter.ts'
import type { Checks } from '../core/options.ts'
import { newController, onAbort, type Signal } from '../core/signal.ts'
import { SingleFlight } from '../core/single-flight.ts'
import { isBrowser, isWorkerd } from './http/fetch.ts'
import { type MergeLimits, planRangeReads, putParts } from './ranges.ts'
import type { RequestWindow } from './request-window.ts'
import type { ByteRange } from './store.ts'

/** A request that was answered, was aborted, or failed for good. */
export interface RequestLog {
  /** `GET`, `HEAD` or another method of HTTP. */
  readonly method: string
  /** The object, without the query of its URL, which may hold secrets. */
  readonly url: string
  /** The bytes asked for; left out for whole objects. A negative offset counts from the end. */
  readonly range?: ByteRange
  /** HTTP status of the last answer; 0 when there was none. */
  readonly status: number
  /** Bytes of the last answer that were received. */
  readonly bytes: number
  /** Number of times it was tried. */
  readonly attempts: number
}

/** Options of requests, of all stores behind HTTP. */
export interface RequestOptions {
  /**
   * Requests under way at the same time. By default up to 128, in browsers 32, and fewer while the server
   * answers 429 or 503 or becomes slow; 6 in workerd, which allows no more.
   */
  readonly maxRequests?: number
  /** Bytes asked for by requests under way; 64 MiB by default. */
  readonly maxBytesInFlight?: number
  /** Ranges with at most this many bytes between them are read together; 64 KiB by default. */
  readonly maxGapBytes?: number
  /** Most bytes of a request; larger ranges are split. 16 MiB by default. */
  readonly maxRequestBytes?: number
  /**
   * Repetitions of a request after a server error (429, 500, 502, 503, 504) or a cut connection; 4 by
   * default.
   */
  readonly retries?: number
  /** Wait before the first repetition, in ms; doubled for each further one, with jitter. 100 by default. */
  readonly retryDelay?: number
  /** Told of every request once it has ended. */
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
 * Fetches ranges of objects: merged, limited, shared between those who ask for the same bytes at the same
 * time.
 */
export class RangeRequester {
  readonly #limiter: Limiter
  readonly #flights = new SingleFlight<string, Uint8Array>()
  readonly #limits: MergeLimits
  /** Whether many requests were under way at a time, or the server was busy: only then it is watched. */
  #isWatched = false
  /** Left out where the number of requests is fixed. */
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

  /** How many requests `get` makes for these ranges when nobody else wants the same. */
  count(ranges: readonly ByteRange[]): number {
    return planRangeReads(ranges, this.#limits).length
  }

  /**
   * The bytes of `ranges`, in their order. When one request fails, those still under way for the same call
   * are given up.
   * @param version what makes equal ranges equal: object and version of it
   * @param fetch makes one request; it must answer with exactly the bytes asked for, or throw
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
        // Copied, because an answer may be shared: everyone gets bytes of their own.
        putParts(results, request, bytes)
      },
      signal,
    )
    return results
  }

  /**
   * Takes note of an answer to a request.
   * @param ms until the first byte
   */
  async answered(status: number, ms: number): Promise<void> {
    const isBusy = status === 429 || status === 503
    this.#isWatched ||= isBusy || this.#limiter.count > FEW_REQUESTS
    if (this.#isWatched) (await this.#window?.())?.answered(isBusy, ms)
  }

  /**
   * Runs another kind of request under the same limits.
   * @param work may tell how many bytes it holds once that is known
   */
  run<T>(bytes: number, work: (hold: (bytes: number) => void) => Promise<T>, signal?: Signal): Promise<T> {
    return this.#limiter.run(bytes, work, signal)
  }
}

const MIB = 2 ** 20
/** No more crowd a server. */
const FEW_REQUESTS = 8

/**
 * Does `work` for all items at once. After a failure, or an abort of `signal`, the others get an aborted
 * signal; the first error is thrown when all have ended, so that nothing runs on behind the caller's back.
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
