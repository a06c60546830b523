import { type Controller, newController, raceAbort, type Signal } from './signal.ts'

interface Flight<T> {
  readonly work: Promise<T>
  readonly controller: Controller
  readonly onJoin: (() => void) | undefined
  waiters: number
}

/**
 * Shares work between concurrent callers with the same key. A caller that aborts stops waiting at once. The
 * work itself is aborted when its last caller has left.
 */
export class SingleFlight<K, T> {
  readonly #flights = new Map<K, Flight<T>>()

  /** Whether work with this key is under way. */
  has(key: K): boolean {
    return this.#flights.has(key)
  }

  /** @param onJoin called for each caller that joins the work started by this call, while it is under way */
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
        // A new caller must not join work that is being aborted.
        this.#flights.delete(key)
        flight.controller.abort(signal?.reason)
      }
    }
  }
}
