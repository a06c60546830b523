import type { Limiter } from '../core/limiter.ts'

/** A round takes so many times as long as the fastest one, and so many ms more, before that is too long. */
const SLOWER = 3
const SLOWER_MS = 100
/** By this, each round, the fastest one is forgotten: a server that is slow for good is no crowded one. */
const FORGETTING = 1.05
/** Fewer requests at a time are not made for slowness alone. */
const FEW = 8

/**
 * How many requests are made of a server at a time, by how it answers: more in small steps, fewer in large
 * ones, as TCP has it, by rounds of as many answers as requests may be under way.
 *
 * - 429 or 503 halves the number, once for all requests that were under way then.
 * - A round of which the first bytes come three times as late, on average, as in the fastest one, and 100 ms
 *   later, takes a quarter off. A mean, since single requests of object stores take ten times as long as
 *   others; and with room, since latency of a whole page of requests varies with connections being made and
 *   with what this thread computes. Estimating the length of the server's queue, as Vegas and the gradient
 *   limiters of proxies do, needs a steady load of like requests; reads come in bursts.
 * - Any other round adds one sixteenth, up to where it began.
 */
export class RequestWindow {
  readonly #limiter: Limiter
  readonly #most: number
  #answers = 0
  #totalMs = 0
  #fastestMs = Number.POSITIVE_INFINITY
  /** Answers still to come to requests made before the number was halved. */
  #earlier = 0

  constructor(limiter: Limiter) {
    this.#limiter = limiter
    this.#most = limiter.maxCount
  }

  /** @param ms until the first byte */
  answered(isBusy: boolean, ms: number): void {
    if (this.#earlier > 0) {
      this.#earlier--
      return
    }
    if (isBusy) {
      this.#earlier = this.#limiter.count - 1
      this.#begin(this.#limiter.maxCount / 2)
      return
    }
    this.#totalMs += ms
    if (++this.#answers < this.#limiter.maxCount) return
    const mean = this.#totalMs / this.#answers
    const isSlow = mean > SLOWER * this.#fastestMs + SLOWER_MS
    this.#fastestMs = Math.min(mean, this.#fastestMs * FORGETTING)
    const now = this.#limiter.maxCount
    this.#begin(isSlow ? Math.max(Math.min(now, FEW), now * 0.75) : now + Math.ceil(now / 16))
  }

  /** Begins a round with another number. */
  #begin(count: number): void {
    this.#limiter.maxCount = Math.max(1, Math.min(this.#most, Math.floor(count)))
    this.#answers = 0
    this.#totalMs = 0
  }
}
