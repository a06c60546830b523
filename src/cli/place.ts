import { link, rename, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Paths } from '../af/paths.js'
import { HyperslabError } from '../core/errors.js'
import { FileStore } from '../runtime/index.js'

/**
 * The place of a container that is about to be made. It is written under another name beside it, and moved there when it is finished.
 */
export class Place {
  /** Name to write under. */
  readonly temporary: string
  readonly #final: Paths
  readonly #store = new FileStore()

  /** @throws InvalidArgumentError for a name that no container can have */
  constructor(path: string) {
    this.#final = new Paths(path)
    this.#final.checkCreatable()
    const unique = `${process.pid}-${Math.random().toString(36).slice(2, 10)}`
    this.temporary = join(dirname(path), `${basename(path, '.af')}.unfinished-${unique}.af`)
  }

  /** @throws AlreadyExistsError when there is a container, or what is left of one, that may not be replaced */
  async check(overwrite: boolean): Promise<void> {
    const files = overwrite ? [] : await this.#existing()
    if (files.length > 0) throw this.#taken(files)
  }

  /**
   * Moves the finished container, a single file with its statistics, to its place. What was there is put aside first, newest layer first, so
   * that no reader ever sees a layer of the old container on top of the new one; after an error it is back.
   */
  async publish(overwrite: boolean): Promise<void> {
    await this.check(overwrite)
    const aside: { file: string; name: string }[] = []
    const from = new Paths(this.temporary)
    try {
      for (const file of (await this.#existing()).filter((file) => file !== this.#final.base)) {
        const name = `${this.temporary}.${aside.length}.old`
        await rename(file, name)
        aside.unshift({ file, name })
      }
      // Without leave to overwrite, nothing is, however late it came.
      await (overwrite ? rename : link)(from.base, this.#final.base)
    } catch (cause) {
      for (const { file, name } of aside) await rename(name, file)
      if ((cause as NodeJS.ErrnoException).code === 'EEXIST') throw this.#taken([this.#final.base])
      throw new HyperslabError('StoreError', `cannot be written: ${(cause as Error).message}`, { file: this.#final.base, cause })
    }
    // The container is complete; statistics that cannot be moved are computed anew when someone asks.
    await rename(from.stats, this.#final.stats).catch(() => undefined)
    for (const { name } of aside) await unlink(name).catch(() => undefined)
  }

  /** Removes whatever was written under the temporary name. */
  async discard(): Promise<void> {
    const paths = new Paths(this.temporary)
    for (const number of await paths.sidecars(this.#store)) await this.#store.delete(paths.sidecar(number))
    await this.#store.delete(paths.base)
    await this.#store.delete(paths.stats)
  }

  /** An error that speaks of the place, not of the temporary name. */
  named(error: unknown): unknown {
    if (!(error instanceof HyperslabError) || !error.message.includes(this.temporary)) return error
    return new HyperslabError(error.tag, error.message.replaceAll(this.temporary, this.#final.base), { cause: error })
  }

  #taken(files: readonly string[]): HyperslabError {
    const { base } = this.#final
    const what = files.includes(base)
      ? 'the file exists already'
      : `there are files of an earlier container (${files.join(', ')})`
    return new HyperslabError('AlreadyExistsError', `${what}; pass --overwrite to replace it`, { file: base, actual: files })
  }

  /** The files that are there: statistics, sidecars from the newest to the oldest, the base. */
  async #existing(): Promise<string[]> {
    const paths = this.#final
    const sidecars = (await paths.sidecars(this.#store)).reverse().map((number) => paths.sidecar(number))
    const files = [paths.stats, ...sidecars, paths.base]
    const found = await Promise.all(files.map((file) => this.#store.stat(file)))
    return files.filter((_, i) => found[i] !== undefined)
  }
}
