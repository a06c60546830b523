import { setImmediate } from 'node:timers/promises'
import type { Store } from '../../src/store/store.ts'
import { FaultStore, type ListedStore } from '../../src/testing/index.ts'

/**
 * Puts the operations of several stores into an order that a seed draws: one at a time of those that wait.
 */
export class Scheduler {
  readonly #waiting: (() => void)[] = []
  #state: number
  #running = false

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** A store whose operations wait for their turn. */
  over(inner: ListedStore): Store {
    return new FaultStore(inner, {
      faults: async () => {
        await new Promise<void>((resolve) => {
          this.#waiting.push(resolve)
          if (!this.#running) void this.#run()
        })
        return undefined
      },
    })
  }

  async #run(): Promise<void> {
    this.#running = true
    while (this.#waiting.length > 0) {
      // Until all others have come to their next operation.
      await setImmediate()
      this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0
      const [next] = this.#waiting.splice(Math.floor((this.#state / 2 ** 32) * this.#waiting.length), 1)
      next!()
      await setImmediate()
    }
    this.#running = false
  }
}
