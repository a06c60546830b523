import { type Controller, newController, raceAbort, type Signal } from './signal.ts'

interface Flight<T> {
  readonly work: Promise<T>
  readonly controller: Controller
  readonly onJoin: (() => void) | undefined
  waiters: number
}

/**
 * Lets all who want the same thing at the same time share one piece of work. Who aborts stops waiting at
 * once; the work itself is aborted when nobody waits for it any more.
 */
export class SingleFlight<K, T> {
  readonly #flights = new Map<K, Flight<T>>()

  /** Whether somebody waits for it now. */
  has(key: K): boolean {
    return this.#flights.has(key)
  }

  /** @param onJoin called for each who joins the work that this call has begun; none does once it is done */
  async share(key: K, start: (signal: Signal) => Promise<T>, signal?: Signal, onJoin?: () => void): Promise<T> {
    signal?.throwIfAborted()
    let flight = this.#flights.get(key)
    if (flight === undefined) {
      const controller = newController()
      const own: Flight<T> = { work: start(controller.signal), controller, onJoin, waiters: 0 }
      const done = (): void => {
        if (this.#flights.get(key) === own) this.#flights.delete(key)
      }
      own.work.then(done, done)
      this.#flights.set(key, own)
      flight = own
    } else flight.onJoin?.()
    flight.waiters++
    try {
      return await raceAbort(flight.work, signal)
    } finally {
      if (--flight.waiters === 0 && this.#flights.get(key) === flight) {
        // Whoever comes now must not join what is being given up.
        this.#flights.delete(key)
        flight.controller.abort(signal?.reason)
      }
    }
  }
}
