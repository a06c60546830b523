import { Pace } from './pace.ts'
import { onAbort, type Signal } from './signal.ts'

/**
 * Calls `work` for every item, with at most `limit` calls under way. After a failure, no call starts, and the
 * error is thrown once the calls under way have ended. Yields to the event loop every few milliseconds.
 */
export async function forEachLimited<T>(items: Iterable<T>, limit: number, work: (item: T) => Promise<void>): Promise<void> {
  const iterator = items[Symbol.iterator]()
  const failures: unknown[] = []
  const pace = new Pace()
  let isOver = false
  const lane = async (): Promise<void> => {
    for (let next = iterator.next(); !next.done && failures.length === 0; next = iterator.next()) {
      await work(next.value).catch((error: unknown) => {
        failures.push(error)
      })
      if (pace.due()) await pace.turn()
    }
    isOver = true
  }
  const lanes: Promise<void>[] = []
  while (lanes.length < limit && !isOver) lanes.push(lane())
  await Promise.all(lanes)
  if (failures.length > 0) throw failures[0]
}

/** Limits the number and bytes of concurrent work; further work waits in order of request. */
export class Limiter {
  #maxCount: number
  readonly #maxBytes: number
  readonly #waiting: { bytes: number; start: () => void }[] = []
  #count = 0
  #bytes = 0

  constructor(maxCount: number, maxBytes: number) {
    this.#maxCount = maxCount
    this.#maxBytes = maxBytes
  }

  get maxCount(): number {
    return this.#maxCount
  }

  /** Sets the limit; work under way beyond it continues. */
  set maxCount(count: number) {
    this.#maxCount = count
    this.#next()
  }

  /** Number of calls under way. */
  get count(): number {
    return this.#count
  }

  /**
   * @param bytes that the work will hold; more than the limit runs alone
   * @param work may report the bytes it holds once they are known
   */
  async run<T>(bytes: number, work: (hold: (bytes: number) => void) => Promise<T>, signal?: Signal): Promise<T> {
    await this.#enter(bytes, signal)
    let held = bytes
    const hold = (now: number): void => {
      this.#bytes += now - held
      held = now
      this.#next()
    }
    try {
      // The signal may have been aborted between admission and now.
      signal?.throwIfAborted()
      return await work(hold)
    } finally {
      this.#count--
      hold(0)
    }
  }

  #enter(bytes: number, signal: Signal | undefined): Promise<void> {
    signal?.throwIfAborted()
    return new Promise((resolve, reject) => {
      const forget =
        signal &&
        onAbort(signal, () => {
          this.#waiting.splice(this.#waiting.indexOf(entry), 1)
          reject(signal.reason)
          this.#next()
        })
      const entry = {
        bytes,
        start: () => {
          forget?.()
          this.#count++
          this.#bytes += bytes
          resolve()
        },
      }
      this.#waiting.push(entry)
      this.#next()
    })
  }

  #next(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const fits = this.#count < this.#maxCount && (this.#count === 0 || this.#bytes + first.bytes <= this.#maxBytes)
      if (!fits) return
      this.#waiting.shift()
      first.start()
    }
  }
}

/** Runs one call at a time, in order of request. */
export class Lock {
  #last: Promise<unknown> = Promise.resolve()

  run<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work)
    this.#last = mine.catch(() => undefined)
    return mine
  }
}
