import { keepReason } from './errors.ts'

/**
 * The used part of an `AbortSignal`. Declared here, because the public types must not need the DOM library.
 */
export interface Signal {
  readonly aborted: boolean
  readonly reason: unknown
  throwIfAborted(): void
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}

export interface Controller {
  readonly signal: Signal
  abort(reason?: unknown): void
}

// Every runtime has it, but no library that is loaded without the DOM declares it.
declare const AbortController: new () => Controller

/** Signals that this package aborts itself, perhaps with an error that names the cause. */
const OWN = new WeakSet<Signal>()

export function newController(): Controller {
  const controller = new AbortController()
  OWN.add(controller.signal)
  return controller
}

const listening = new WeakMap<Signal, Set<() => void>>()

/**
 * Calls `listener` when `signal` aborts, unless the returned function was called before. All listeners of a
 * signal share one event listener, because Node warns of a leak beyond ten.
 */
export function onAbort(signal: Signal, listener: () => void): () => void {
  const all = findListeners(signal)
  const entry = (): void => listener()
  all.add(entry)
  return () => void all.delete(entry)
}

function findListeners(signal: Signal): Set<() => void> {
  const known = listening.get(signal)
  if (known !== undefined) return known
  const all = new Set<() => void>()
  listening.set(signal, all)
  signal.addEventListener('abort', () => {
    if (!OWN.has(signal)) keepReason(signal.reason)
    for (const each of all) each()
  })
  return all
}

/**
 * Marks the abort reason of a caller to be thrown unchanged, even if it is one of our own errors. Each call
 * that takes a signal does this first, when it checks its options.
 */
export function keepAbortReason(signal: Signal): void {
  if (OWN.has(signal)) return
  findListeners(signal)
  if (signal.aborted) keepReason(signal.reason)
}

/** Creates a signal for shared work; it aborts once the signals of all participants have. */
export function jointly(): { readonly signal: Signal; join(signal: Signal): void } {
  const controller = newController()
  let waiting = 0
  return {
    signal: controller.signal,
    join: (signal) => {
      waiting++
      onAbort(signal, () => {
        if (--waiting === 0) controller.abort(signal.reason)
      })
    },
  }
}

/** Waits for `work`; rejects early if `signal` aborts. The work itself continues. */
export function raceAbort<T>(work: Promise<T>, signal: Signal | undefined): Promise<T> {
  if (signal === undefined) return work
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(signal.reason)
    const forget = onAbort(signal, giveUp)
    if (signal.aborted) giveUp()
    work.then(resolve, reject).finally(forget)
  })
}
