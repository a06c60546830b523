import { HyperslabError } from '../../core/errors.ts'
import type { Checks } from '../../core/options.ts'
import { MAX_TIMER_MS, Transient } from '../retry.ts'

/** How long a server may take. Infinity is no limit. */
export interface TimeLimits {
  /**
   * Longest wait for the head of an answer, in ms; 30 000 by default. Bytes that are sent, or that the server
   * has to copy before it answers, get the time that `minBytesPerSecond` gives them on top. In browsers,
   * where requests wait for connections, it does not pass while answers to others come.
   */
  readonly answerTimeout?: number
  /** Longest wait for further bytes of an answer, in ms; 30 000 by default. */
  readonly silenceTimeout?: number
  /**
   * The slowest answer: so many bytes per second on average, after the first 30 s (or `silenceTimeout`, if
   * that is less); 1024 by default, 0 for any.
   */
  readonly minBytesPerSecond?: number
  /**
   * How long a request may be at a standstill in all its attempts together, in ms; 60 000 by default. What
   * counts are waits before repetitions, those that the server asks for with `Retry-After` included, and
   * attempts that ran into one of the limits above. A request is not repeated after a wait that would go
   * beyond.
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

/** Until the rate counts, in ms. */
const SETTLING_MS = 30_000

/**
 * A limit has passed when this many of its parts have passed one after the other. However long a program is
 * busy with something else, only one of them passes meanwhile, and bytes that have arrived are seen before
 * the next.
 */
const TICKS = 8

/** Watches one attempt of a request. */
export class Watchdog {
  /** Which limit has passed. */
  passed: Transient | undefined
  readonly #limits: Required<TimeLimits>
  readonly #file: string
  readonly #giveUp: (reason: HyperslabError) => void
  /** What all requests of a client have received, where they wait for each other. */
  readonly traffic: { bytes: number }
  #timer: ReturnType<typeof setInterval> | undefined

  /** @param giveUp ends the request on the wire */
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
   * From here on the head of the answer must come, or a body of which nothing is seen before its end.
   * @param bytes that are transferred, or copied by the server, until then
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

  /** From here on the body must come. @param received how much of it is there */
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
    // Timers that should wait longer do not wait at all.
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
