import type { HyperslabError } from '../core/errors.js'
import { onAbort, type Signal } from '../core/signal.js'

/** Thrown by work that may succeed when it is repeated. */
export class Transient {
  /** What to throw when there are no repetitions left. */
  readonly error: HyperslabError
  /** How long the server asks to wait, in ms. */
  readonly waitMs: number | undefined

  constructor(error: HyperslabError, waitMs?: number) {
    this.error = error
    this.waitMs = waitMs
  }
}

export interface RetryPolicy {
  /** How often work is repeated. */
  readonly retries: number
  /** Wait before the first repetition, in ms. */
  readonly retryDelay: number
}

/** No wait is longer, in ms; a server that asks for more is taken to be out of order. */
export const MAX_WAIT_MS = 60_000

/** Does `work`, again after each {@link Transient} error while there are repetitions left; never after an abort, whose reason is thrown. */
export async function retrying<T>({ retries, retryDelay }: RetryPolicy, work: () => Promise<T>, signal?: Signal): Promise<T> {
  for (let done = 0; ; done++) {
    signal?.throwIfAborted()
    try {
      return await work()
    } catch (error) {
      signal?.throwIfAborted()
      if (!(error instanceof Transient)) throw error
      if (done >= retries || (error.waitMs ?? 0) > MAX_WAIT_MS) throw error.error
      await pause(Math.max(backOff(done, retryDelay, Math.random()), error.waitMs ?? 0), signal)
    }
  }
}

/** The wait in ms before repetition number `done`: doubled each time, then between half and all of it, so that many do not return at once. */
export function backOff(done: number, firstMs: number, random: number): number {
  return Math.min(firstMs * 2 ** done, MAX_WAIT_MS) * (0.5 + random / 2)
}

/** A `Retry-After` header, seconds or a date, in ms from `now`. */
export function retryAfterMs(header: string | null, now: number): number | undefined {
  if (header === null) return undefined
  if (/^\s*\d+\s*$/.test(header)) return Number(header) * 1000
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

function pause(ms: number, signal: Signal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      forget?.()
      resolve()
    }, ms)
    const forget =
      signal &&
      onAbort(signal, () => {
        clearTimeout(timer)
        reject(signal.reason)
      })
  })
}
