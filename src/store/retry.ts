import type { HyperslabError } from '../core/errors.ts'
import { pause } from '../core/pace.ts'
import type { Signal } from '../core/signal.ts'

/** Thrown by work that may succeed when it is repeated. */
export class Transient {
  /** What to throw when there are no repetitions left. */
  readonly error: HyperslabError
  /** How long the server asks to wait, in ms. */
  readonly waitMs: number
  /** How long nothing happened, in ms. */
  readonly spentMs: number

  constructor(error: HyperslabError, { waitMs = 0, spentMs = 0 }: { readonly waitMs?: number; readonly spentMs?: number } = {}) {
    this.error = error
    this.waitMs = waitMs
    this.spentMs = spentMs
  }
}

export interface RetryPolicy {
  /** How often work is repeated. */
  readonly retries: number
  /** Wait before the first repetition, in ms. */
  readonly retryDelay: number
  /** All waits together, those of the work (`spentMs`) included, in ms; 60 000 by default. */
  readonly patience?: number
}

/** Without `Retry-After` no wait is longer, in ms. */
export const MAX_WAIT_MS = 60_000

/** Timers wait no longer. */
export const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * Does `work`, again after each {@link Transient} error while there are repetitions and patience left; never
 * after an abort, whose reason is thrown.
 */
export async function retrying<T>(
  { retries, retryDelay, patience = MAX_WAIT_MS }: RetryPolicy,
  work: () => Promise<T>,
  signal?: Signal,
): Promise<T> {
  let waited = 0
  for (let done = 0; ; done++) {
    signal?.throwIfAborted()
    try {
      return await work()
    } catch (error) {
      signal?.throwIfAborted()
      if (!(error instanceof Transient)) throw error
      const wait = Math.max(backOff(done, retryDelay, Math.random()), error.waitMs)
      waited += error.spentMs + wait
      if (done >= retries) throw error.error
      if (waited > patience) throw error.error.within({ limit: 'patience', expected: patience })
      await pause(Math.min(wait, MAX_TIMER_MS), signal)
    }
  }
}

/**
 * The wait in ms before repetition number `done`: doubled each time, then between half and all of it, so that
 * many do not return at once.
 */
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
