import { HyperslabError } from './errors.ts'
import { Limiter } from './limiter.ts'
import type { Signal } from './signal.ts'

/** Share of a budget for blocks, which reads need while they hold their results. */
const BLOCK_SHARE = 1 / 4

let made = 0

/**
 * Limit of the memory that reads of any number of files may take at a time: `open(place, { budget })`. A read
 * waits, before it allocates anything of its size, until it fits; reads wait in order of request. A read
 * larger than the budget runs alone. An abort ends the waiting.
 *
 * Three quarters are for results of `get` and `toTensor`, and for the parts that `blocks`, `zipBlocks`,
 * `values` and `zip` read, until these reads resolve. Results that the caller keeps, or has not taken yet, do
 * not count. Lazy arrays of arrays with several budgets hold results in each; zipping such arrays holds none.
 *
 * One quarter is for blocks while they are fetched, decoded and used, also by reductions and searches. It
 * includes the tables of their segments while they are read. A read that holds a block waits for nothing
 * else, so that no deadlock can occur.
 *
 * Other memory has limits of its own: caches by their sizes, footers and tables of an open file by
 * `limits.footerBytes`, coordinates of an open dataset by `limits.coordinateBytes`. The process keeps up to
 * 64 MiB for reading blocks of local files.
 * @example
 * const budget = new MemoryBudget(256 * 2 ** 20)
 * await using file = await open('climate.af', { budget })
 * await file.array('tas').get([0])
 * console.log(budget.stats().held) // 0
 */
export class MemoryBudget {
  /** Bytes of results and blocks that may be held at a time. */
  readonly bytes: number
  /** @internal Its position in the order of creation. */
  readonly order: number = ++made
  readonly #results: Limiter
  readonly #blocks: Limiter
  #held = 0
  #peak = 0

  /** @throws InvalidArgumentError if `bytes` is not an integer from 1 */
  constructor(bytes: number) {
    if (!(Number.isSafeInteger(bytes) && bytes >= 1))
      throw new HyperslabError('InvalidArgumentError', `a budget is a number of bytes from 1, got ${bytes}`, { actual: bytes })
    this.bytes = bytes
    const blocks = Math.ceil(bytes * BLOCK_SHARE)
    this.#blocks = new Limiter(Number.POSITIVE_INFINITY, blocks)
    this.#results = new Limiter(Number.POSITIVE_INFINITY, bytes - blocks)
  }

  /** Returns the bytes that are held now, and their maximum so far. */
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
