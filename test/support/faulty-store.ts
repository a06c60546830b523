import type { ObjectInfo, RangeOptions, Stage, Store } from '../../src/store/store.js'

/** All that reading and writing a container needs; the ways to save requests are left out, as in stores on disk and in memory. */
type Whole = Required<Omit<Store, 'close' | 'identify' | 'getRanges' | 'getTail' | 'localPath'>>

/** A store over another one that fails at a chosen operation, as a full disk or a cut connection would, and goes on working afterwards. */
export class FaultyStore implements Whole {
  readonly #inner: Whole
  /** Names of the operations so far. */
  readonly log: string[] = []
  #failAt = Number.POSITIVE_INFINITY
  #stages = 0

  constructor(inner: Whole) {
    this.#inner = inner
  }

  /** The operation after `count` more fails, once. */
  failAfter(count: number): void {
    this.#failAt = this.log.length + count
  }

  /** Stages that were opened and neither published nor discarded. */
  get openStages(): number {
    return this.#stages
  }

  describe(key: string): string {
    return this.#inner.describe(key)
  }

  stat(key: string): Promise<ObjectInfo | undefined> {
    return this.#step(`stat ${key}`, () => this.#inner.stat(key))
  }

  getRange(key: string, offset: number, length: number, options?: RangeOptions): Promise<Uint8Array | undefined> {
    return this.#step(`get ${key}`, () => this.#inner.getRange(key, offset, length, options))
  }

  list(prefix: string): Promise<string[]> {
    return this.#step(`list ${prefix}`, () => this.#inner.list(prefix))
  }

  put(key: string, bytes: Uint8Array): Promise<void> {
    return this.#step(`put ${key}`, () => this.#inner.put(key, bytes))
  }

  delete(key: string): Promise<void> {
    return this.#step(`delete ${key}`, () => this.#inner.delete(key))
  }

  async stage(near: string): Promise<Stage> {
    const inner = await this.#step(`stage ${near}`, () => this.#inner.stage(near))
    let open = true
    this.#stages++
    const close = (): void => {
      if (open) this.#stages--
      open = false
    }
    return {
      get size() {
        return inner.size
      },
      append: (bytes) => this.#step('append', () => inner.append(bytes)),
      read: (offset, length) => this.#step('read', () => inner.read(offset, length)),
      publish: (key, tail, options) =>
        this.#step(`publish ${key}`, async () => {
          const info = await inner.publish(key, tail, options)
          close()
          return info
        }),
      discard: async () => {
        close()
        await inner.discard()
      },
    }
  }

  async #step<T>(name: string, work: () => Promise<T>): Promise<T> {
    const fails = this.log.length === this.#failAt
    this.log.push(name)
    if (fails) throw new Error(`fault at ${name}`)
    return work()
  }
}
