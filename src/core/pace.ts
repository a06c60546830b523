import { onAbort, type Signal } from './signal.ts'

// Every runtime has some of these, but no library that is loaded without the DOM.
declare const setImmediate: ((call: () => void) => unknown) | undefined
declare const setTimeout: (call: () => void, ms: number) => unknown
declare const clearTimeout: (timer: unknown) => void
declare const MessageChannel:
  | (new () => { readonly port1: { onmessage: unknown; close(): void }; readonly port2: { postMessage(message: null): void } })
  | undefined

/** Milliseconds that work keeps the thread to itself. */
const SLICE_MS = 8
/**
 * Steps after which work gives way also where the clock stands still while a program computes, as in workerd.
 */
const SLICE_STEPS = 8192

/**
 * Lets timers, requests and other work of the thread have their turn: waits for a task, not a microtask,
 * since a program that only awaits promises which are settled already starves all others.
 */
export function giveWay(): Promise<void> {
  if (typeof setImmediate === 'function') return new Promise((resolve) => void setImmediate(resolve))
  if (typeof MessageChannel === 'undefined') return new Promise((resolve) => void setTimeout(resolve, 0))
  // Timers that follow each other wait 4 ms each in browsers, messages do not.
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
 * The pace of a long loop: `if (pace.due()) await pace.turn()` at each step lets others have the thread every
 * few milliseconds, and ends the loop when its signal is aborted.
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
    await giveWay()
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
