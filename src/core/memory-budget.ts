import { HyperslabError } from './errors.ts'
import { Limiter } from './limiter.ts'
import type { Signal } from './signal.ts'

/** The share of a budget that is kept for blocks, which reads wait for while their results are held. */
const BLOCK_SHARE = 1 / 4

let made = 0

/**
 * Memory that reads of any number of files may take at a time: `open(place, { budget })`. Reads wait in the
 * order of asking, before anything of their size is allocated, until they fit; one that is larger than the
 * budget runs alone. An abort ends the waiting.
 *
 * Three quarters are for results of `get` and `toTensor`, and for the parts that `blocks`, `zipBlocks`,
 * `values` and `zip` read, until these reads resolve; what the caller then keeps, or has not taken yet, does
 * not count. Lazy arrays made of arrays with several budgets hold results in each; what is zipped of such is
 * not held. One quarter is for blocks while they are fetched, decoded and used, of reductions and searches,
 * too, and for tables of their segments while they are read: who holds one waits for nobody, so that nothing
 * deadlocks. What a cache keeps is bounded by the cache; footers and tables that an open file keeps, by
 * `limits.footerBytes`; coordinates that an open dataset keeps, by its `limits.coordinateBytes`. The process
 * keeps up to 64 MiB into which blocks of local files are read again.
 * @example
 * const budget = new MemoryBudget(256 * 2 ** 20)
 * await using file = await open('climate.af', { budget })
 * await file.array('tas').get([0])
 * console.log(budget.stats().held) // 0
 */
export class MemoryBudget {
  /** Bytes of results and blocks that may be held at a time. */
  readonly bytes: number
  /** @internal Its number among those that were made. */
  readonly order: number = ++made
  readonly #results: Limiter
  readonly #blocks: Limiter
  #held = 0
  #peak = 0

  /** @throws InvalidArgumentError for what is no number of bytes */
  constructor(bytes: number) {
    if (!(Number.isSafeInteger(bytes) && bytes >= 1))
      throw new HyperslabError('InvalidArgumentError', `a budget is a number of bytes from 1, got ${bytes}`, { actual: bytes })
    this.bytes = bytes
    const blocks = Math.ceil(bytes * BLOCK_SHARE)
    this.#blocks = new Limiter(Number.POSITIVE_INFINITY, blocks)
    this.#results = new Limiter(Number.POSITIVE_INFINITY, bytes - blocks)
  }

  /** Bytes that are held now, and the most that were. */
  stats(): { readonly held: number; readonly peak: number } {
    return { held: this.#held, peak: this.#peak }
  }

  /** Runs work that holds a result. It may wait for blocks, but for no other result. */
  result<T>(bytes: number, work: () => Promise<T>, signal?: Signal): Promise<T> {
    return this.#results.run(bytes, () => this.#holding(bytes, work), signal)
  }

  /** @internal Runs work that holds blocks. It must wait for nothing else of the budget. */
  blocks<T>(bytes: number, work: () => Promise<T>, signal?: Signal): Promise<T> {
    return this.#blocks.run(bytes, () => this.#holding(bytes, work), signal)
  }

  async #holding<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    this.#held += bytes
    this.#peak = Math.max(this.#peak, this.#held)
    try {
      return await work()
    } finally {
      this.#held -= bytes
    }
  }
}
