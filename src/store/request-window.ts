import type { Limiter } from '../core/limiter.ts'

/** A round is slow if its mean exceeds the fastest mean by this factor and by `SLOWER_MS` on top. */
const SLOWER = 3
const SLOWER_MS = 100
/** Factor by which the fastest mean grows each round, so that a permanently slow server is not throttled. */
const FORGETTING = 1.05
/** Slowness alone never reduces the number of requests below this. */
const FEW = 8

/**
 * Adapts the number of concurrent requests to the answers of the server. As in TCP, the number rises in small
 * steps and falls in large ones. A round lasts for as many answers as requests are allowed.
 *
 * - A 429 or 503 halves the number, once for all requests under way then.
 * - A slow round subtracts a quarter. A round is slow if its mean time to the first byte is more than three
 * times the fastest mean plus 100 ms. The mean is used because single requests of object stores take ten
 * times as long as others. The margin is wide because new connections and computations on this thread delay
 * whole pages of requests. Estimating the queue of the server, as Vegas and gradient limiters of proxies do,
 * needs a steady load of similar requests, but reads come in bursts.
 * - Any other round adds a sixteenth, up to the initial number.
 */
export class RequestWindow {
  readonly #limiter: Limiter
  readonly #most: number
  #answers = 0
  #totalMs = 0
  #fastestMs = Number.POSITIVE_INFINITY
  /** Outstanding answers to requests made before the number was halved. */
  #earlier = 0

  constructor(limiter: Limiter) {
    this.#limiter = limiter
    this.#most = limiter.maxCount
  }

  /** @param ms time until the first byte */
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

  /** Begins a round with a new number of requests. */
  #begin(count: number): void {
    this.#limiter.maxCount = Math.max(1, Math.min(this.#most, Math.floor(count)))
    this.#answers = 0
    this.#totalMs = 0
  }
}
