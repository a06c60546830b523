import { newController, onAbort, type Signal } from './signal.ts'

// Every runtime has some of these, but no library that is loaded without the DOM declares them.
declare const setImmediate: ((call: () => void) => unknown) | undefined
declare const setTimeout: (call: () => void, ms: number) => unknown
declare const clearTimeout: (timer: unknown) => void
declare const MessageChannel:
  | (new () => { readonly port1: { onmessage: unknown; close(): void }; readonly port2: { postMessage(message: null): void } })
  | undefined

/** Milliseconds for which work occupies the thread. */
const SLICE_MS = 8
/**
 * Number of steps after which work yields even if the clock does not advance during a computation, as in
 * workerd.
 */
const SLICE_STEPS = 8192
/** Milliseconds for which a caller waits for aborted work to end. */
const SETTLE_MS = 1_000

/**
 * Yields to the event loop: timers, requests and other work of the thread. Waits for a task, not a microtask,
 * because a program that only awaits settled promises blocks all others.
 */
export function yieldToEventLoop(): Promise<void> {
  if (typeof setImmediate === 'function') return new Promise((resolve) => void setImmediate(resolve))
  if (typeof MessageChannel === 'undefined') return new Promise((resolve) => void setTimeout(resolve, 0))
  // Consecutive timers wait 4 ms each in browsers; messages do not.
  const { port1, port2 } = new MessageChannel()
  return new Promise((resolve) => {
    port1.onmessage = () => {
      port1.close()
      resolve()
    }
    port2.postMessage(null)
  })
}

/**
 * Pace of a long loop: `if (pace.due()) await pace.turn()` in each step yields to the event loop every few
 * milliseconds, and ends the loop if its signal is aborted.
 */
export class Pace {
  readonly #signal: Signal | undefined
  #started = Date.now()
  #steps = 0

  constructor(signal?: Signal) {
    this.#signal = signal
  }

  due(): boolean {
    return ++this.#steps >= SLICE_STEPS || Date.now() - this.#started >= SLICE_MS
  }

  /** @throws the reason of the signal */
  async turn(): Promise<void> {
    this.#signal?.throwIfAborted()
    await yieldToEventLoop()
    this.#signal?.throwIfAborted()
    this.#started = Date.now()
    this.#steps = 0
  }
}

/** Waits for `ms` milliseconds; an abort ends the wait with its reason. */
export function pause(ms: number, signal?: Signal): Promise<void> {
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

/** Waits until aborted work has ended, whatever its result, but only for a second. */
export async function untilSettled(work: Promise<unknown>): Promise<void> {
  const settled = newController()
  work.then(
    () => settled.abort(),
    () => settled.abort(),
  )
  await pause(SETTLE_MS, settled.signal).catch(() => undefined)
}
