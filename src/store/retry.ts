import type { HyperslabError } from '../core/errors.ts'
import { pause } from '../core/pace.ts'
import type { Signal } from '../core/signal.ts'

/** Thrown by work that may succeed if it is retried. */
export class Transient {
  /** Error to throw when no retries are left. */
  readonly error: HyperslabError
  /** Wait that the server asks for, in ms. */
  readonly waitMs: number
  /** Time without progress, in ms. */
  readonly spentMs: number

  constructor(error: HyperslabError, { waitMs = 0, spentMs = 0 }: { readonly waitMs?: number; readonly spentMs?: number } = {}) {
    this.error = error
    this.waitMs = waitMs
    this.spentMs = spentMs
  }
}

export interface RetryPolicy {
  /** Number of retries. */
  readonly retries: number
  /** Wait before the first retry, in ms. */
  readonly retryDelay: number
  /** Limit for the sum of all waits, including `spentMs` of the work, in ms. Default: 60 000. */
  readonly patience?: number
}

/** Longest wait without `Retry-After`, in ms. */
export const MAX_WAIT_MS = 60_000

/** Longest wait of a timer, in ms. */
export const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * Runs `work`, and retries after each {@link Transient} error while retries and patience are left. An abort
 * is never retried; its reason is thrown.
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
 * Returns the wait in ms before retry number `done`. It doubles each time; a random half spreads the retries
 * of many clients.
 */
export function backOff(done: number, firstMs: number, random: number): number {
  return Math.min(firstMs * 2 ** done, MAX_WAIT_MS) * (0.5 + random / 2)
}

/** Parses a `Retry-After` header, which has seconds or a date. Returns ms from `now`. */
export function retryAfterMs(header: string | null, now: number): number | undefined {
  if (header === null) return undefined
  if (/^\s*\d+\s*$/.test(header)) return Number(header) * 1000
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
