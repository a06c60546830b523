import { HyperslabError } from '../../core/errors.ts'
import type { DirectoryHandleLike, FileHandleLike } from '../handles.ts'
import { failed, handleOrMissing, nameOf, writeHandle } from '../snapshots.ts'
import type { ObjectInfo, PublishCondition, Stage } from '../store.ts'
import { endsBefore } from '../store.ts'
import { hold, ifUnlocked } from './web-locks.ts'

/** Prefix of temporary file names. Keys cannot start with it, and listings omit these files. */
export const STAGE_PREFIX = '.hyperslab-stage-'

/** Suffix of the file to be published. Suffixes of pieces are numbers. */
const WHOLE = 'whole'

interface Part {
  readonly offset: number
  readonly size: number
  readonly file: FileHandleLike
}

/** Publishes the file that `complete` creates as `key`. */
type Publish = (key: string, condition: PublishCondition, complete: () => Promise<FileHandleLike>) => Promise<ObjectInfo>

/**
 * Stage with a file for each piece. A file can only be read after its stream is closed, and appending to a
 * closed file copies it. Publishing copies the pieces into one file and moves it.
 *
 * A lock marks the files as used. It ends with its tab or worker, so the leftovers of a crash can be removed.
 */
export class OpfsStage implements Stage {
  readonly #folder: DirectoryHandleLike
  readonly #label: string
  readonly #publish: Publish
  readonly #name: string
  readonly #parts: Part[] = []
  /** Names of the existing files. */
  readonly #files = new Set<string>()
  #release: (() => void) | undefined
  size = 0

  private constructor(folder: DirectoryHandleLike, label: string, publish: Publish, name: string, release: () => void) {
    this.#folder = folder
    this.#label = label
    this.#publish = publish
    this.#name = name
    this.#release = release
  }

  /**
   * @param folder folder of the temporary files
   * @param label name of the stage in errors
   */
  static async open(folder: DirectoryHandleLike, label: string, publish: Publish): Promise<OpfsStage> {
    const name = STAGE_PREFIX + Math.random().toString(36).slice(2)
    // The lock precedes the files, so that no other stage takes them for abandoned.
    return new OpfsStage(folder, label, publish, name, await hold(name))
  }

  async append(bytes: Uint8Array): Promise<void> {
    const file = await this.#write(String(this.#parts.length), [bytes])
    this.#parts.push({ offset: this.size, size: bytes.length, file })
    this.size += bytes.length
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    this.#checkOpen()
    if (offset + length > this.size) throw endsBefore(this.#label, this.size, offset + length)
    const out = new Uint8Array(length)
    for (const part of this.#parts) {
      const start = Math.max(offset, part.offset)
      const stop = Math.min(offset + length, part.offset + part.size)
      if (start < stop) out.set(await this.#read(part, start - part.offset, stop - part.offset), start - offset)
    }
    return out
  }

  async publish(key: string, tail: Uint8Array, condition: PublishCondition): Promise<ObjectInfo> {
    this.#checkOpen()
    return this.#publish(key, condition, () => this.#write(WHOLE, this.#contents(tail)))
  }

  async discard(): Promise<void> {
    const release = this.#release
    if (release === undefined) return
    this.#release = undefined
    try {
      for (const name of this.#files) await handleOrMissing(this.#folder.removeEntry(name))
    } catch (cause) {
      throw failed(this.#label, 'written', cause)
    } finally {
      release()
    }
  }

  async *#contents(tail: Uint8Array): AsyncGenerator<Uint8Array> {
    for (const part of this.#parts) yield await this.#read(part, 0, part.size)
    yield tail
  }

  async #read({ file }: Part, start: number, stop: number): Promise<Uint8Array> {
    try {
      return new Uint8Array(await (await file.getFile()).slice(start, stop).arrayBuffer())
    } catch (cause) {
      throw failed(this.#label, 'read', cause)
    }
  }

  async #write(suffix: string, parts: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<FileHandleLike> {
    this.#checkOpen()
    const name = this.#nameOf(suffix)
    try {
      const file = await this.#folder.getFileHandle(name, { create: true })
      this.#files.add(name)
      await writeHandle(file, parts)
      return file
    } catch (cause) {
      throw failed(this.#label, 'written', cause)
    }
  }

  #nameOf(suffix: string): string {
    return `${this.#name}.${suffix}`
  }

  #checkOpen(): void {
    if (this.#release === undefined) throw new HyperslabError('ClosedError', 'this stage was discarded', { file: this.#label })
  }
}

/** Removes files of stages whose tab or worker has ended. */
export async function removeAbandoned(folder: DirectoryHandleLike): Promise<void> {
  const names: string[] = []
  for await (const { name } of folder.values()) if (name.startsWith(STAGE_PREFIX)) names.push(name)
  for (const name of names) await ifUnlocked(name.slice(0, name.indexOf('.', 1)), () => remove(folder, name))
}

async function remove(folder: DirectoryHandleLike, name: string): Promise<void> {
  try {
    await handleOrMissing(folder.removeEntry(name))
  } catch (error) {
    // The browser has not released the file yet; a later stage removes it.
    if (nameOf(error) !== 'NoModificationAllowedError') throw error
  }
}
