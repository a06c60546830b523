const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

type SignalName = (typeof SIGNALS)[number]

/** What work is aborted with. */
export class Interrupted extends Error {
  override readonly name = 'AbortError'
  readonly signal: SignalName

  constructor(signal: SignalName) {
    super(`ended by ${signal}`)
    this.signal = signal
  }
}

/**
 * Runs work that ends early, and cleans up, when the user interrupts it, the system ends or the terminal is
 * closed.
 */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interrupt = new AbortController()
  const listeners = SIGNALS.map((name) => [name, (): void => interrupt.abort(new Interrupted(name))] as const)
  for (const [name, listener] of listeners) process.once(name, listener)
  try {
    return await work(interrupt.signal)
  } finally {
    for (const [name, listener] of listeners) process.off(name, listener)
  }
}
