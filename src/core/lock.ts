/** Lets one piece of work run at a time, in the order of asking. */
export class Lock {
  #last: Promise<unknown> = Promise.resolve()

  run<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work)
    this.#last = mine.catch(() => undefined)
    return mine
  }
}
