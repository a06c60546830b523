import { HyperslabError } from '../../core/errors.ts'
import type { Checks } from '../../core/options.ts'
import { MAX_TIMER_MS, Transient } from '../retry.ts'

/** Time limits for answers of a server. Infinity disables a limit. */
export interface TimeLimits {
  /**
   * Longest wait for the head of an answer, in ms. Default: 30 000. Sent bytes, and bytes that the server
   * must copy before it answers, extend the limit at the rate `minBytesPerSecond`. In browsers, where
   * requests wait for connections, the clock stops while other answers arrive.
   */
  readonly answerTimeout?: number
  /** Longest wait for further bytes of an answer, in ms. Default: 30 000. */
  readonly silenceTimeout?: number
  /**
   * Slowest average rate of an answer, in bytes per second, measured after the first 30 s (or
   * `silenceTimeout`, if shorter). Default: 1024; 0 allows any rate.
   */
  readonly minBytesPerSecond?: number
  /**
   * Longest standstill of a request over all its attempts, in ms. Default: 60 000. It counts waits before
   * retries, including those that the server requests by `Retry-After`, and attempts that exceeded one of the
   * limits above. A request is not retried if the wait would exceed it.
   */
  readonly patience?: number
}

export const TIME_CHECKS: Checks<TimeLimits> = {
  answerTimeout: 'number from 1',
  silenceTimeout: 'number from 1',
  minBytesPerSecond: 'number from 0',
  patience: 'number from 0',
}

export function timeLimits(options: TimeLimits): Required<TimeLimits> {
  const { answerTimeout = 30_000, silenceTimeout = 30_000, minBytesPerSecond = 1024, patience = 60_000 } = options
  return { answerTimeout, silenceTimeout, minBytesPerSecond, patience }
}

/** Time before the rate is checked, in ms. */
const SETTLING_MS = 30_000

/**
 * Number of parts of a limit. The limit has passed after this many consecutive parts. While other work blocks
 * the thread only one part passes, and arrived bytes are seen before the next.
 */
const TICKS = 8

/** Enforces the time limits of one attempt. */
export class Watchdog {
  /** Error of the limit that has passed. */
  passed: Transient | undefined
  readonly #limits: Required<TimeLimits>
  readonly #file: string
  readonly #giveUp: (reason: HyperslabError) => void
  /** Bytes received by all requests of the client, if requests wait for each other. */
  readonly traffic: { bytes: number }
  #timer: ReturnType<typeof setInterval> | undefined

  /** @param giveUp ends the request */
  constructor(
    limits: Required<TimeLimits>,
    file: string,
    giveUp: (reason: HyperslabError) => void,
    traffic: { bytes: number } = { bytes: 0 },
  ) {
    this.traffic = traffic
    this.#limits = limits
    this.#file = file
    this.#giveUp = giveUp
  }

  /**
   * Starts the clock for the head of the answer, or for a body that arrives as a whole.
   * @param bytes number of bytes transferred, or copied by the server, until then
   */
  awaitAll(limit: 'answerTimeout' | 'silenceTimeout', bytes: number): void {
    const { [limit]: base, minBytesPerSecond } = this.#limits
    const allowed = bytes === 0 ? base : base + (bytes / minBytesPerSecond) * 1000
    let [last, since] = [this.traffic.bytes, 0]
    this.#every(allowed / TICKS, (elapsed) => {
      const now = this.traffic.bytes
      if (now > last) since = elapsed
      last = now
      if (elapsed - since >= allowed) this.#pass(limit, `no answer within ${Math.round(allowed)} ms`, elapsed - since)
    })
  }

  /** Starts the clock for the body. @param received returns the number of received bytes */
  awaitBody(received: () => number): void {
    const { silenceTimeout, minBytesPerSecond } = this.#limits
    const settling = Math.min(silenceTimeout, SETTLING_MS)
    let [last, since] = [received(), 0]
    this.#every(settling / TICKS, (elapsed) => {
      const now = received()
      if (now > last) since = elapsed
      last = now
      if (elapsed - since >= silenceTimeout)
        this.#pass('silenceTimeout', `no byte for ${silenceTimeout} ms, after ${now} of the answer`, elapsed - since)
      else if (now < ((elapsed - settling) / 1000) * minBytesPerSecond) {
        const text = `the answer is slower than ${minBytesPerSecond} bytes/s: ${now} bytes in ${Math.round(elapsed)} ms`
        this.#pass('minBytesPerSecond', text, elapsed)
      }
    })
  }

  end(): void {
    clearInterval(this.#timer)
  }

  #every(ms: number, work: (elapsed: number) => void): void {
    this.end()
    let elapsed = 0
    // A timer with a longer delay would fire at once.
    if (ms > MAX_TIMER_MS) return
    this.#timer = setInterval(() => {
      elapsed += ms
      work(elapsed)
    }, ms)
  }

  #pass(limit: keyof TimeLimits, text: string, spentMs: number): void {
    this.end()
    const details = { file: this.#file, limit, expected: this.#limits[limit] }
    this.passed = new Transient(new HyperslabError('StoreError', `${text} (${limit})`, details), { spentMs })
    this.#giveUp(this.passed.error)
  }
}
