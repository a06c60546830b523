import { HyperslabError } from '../../core/errors.ts'
import { checkCondition, checkMatch } from '../conditions.ts'
import type { DirectoryHandleLike, FileHandleLike, Snapshot } from '../handles.ts'
import { failed, handleOrMissing, orNoSuch, Snapshots, snapshotInfo, writeHandle } from '../snapshots.ts'
import type {
  ConditionalWrites,
  DeleteOptions,
  ObjectInfo,
  PublishCondition,
  RangeOptions,
  Stage,
  WritableStore,
} from '../store.ts'
import { OpfsStage, removeAbandoned, STAGE_PREFIX } from './stage.ts'
import { withLock } from './web-locks.ts'

declare const navigator: { readonly storage?: { getDirectory?(): Promise<DirectoryHandleLike> } } | undefined
declare function setTimeout(callback: () => void, ms: number): unknown

/**
 * Wait before a file is replaced, in ms, so that it gets another date. Dates have whole ms, and the clock
 * behind them may lag by a tick.
 */
const TICK_MS = 20

/**
 * Store of files in the origin private file system, or in any folder of a `FileSystemDirectoryHandle`. Works
 * in pages and workers. Keys are paths with `/`; the first file in a folder creates it.
 *
 * Size and date name a version. All stores of an origin, in any tab or worker, serialize changes of a file
 * through Web Locks, and ensure that its date changes. Code that writes the same files without this store is
 * not blocked.
 * @example
 * // In a page or a worker of one.
 * const file = await open({ store: new OpfsStore(), path: 'climate.af' })
 * console.log(await file.array('tas').get([0, 0, 0])) // 280
 */
export class OpfsStore implements WritableStore {
  readonly #given: DirectoryHandleLike | undefined
  readonly #snapshots: Snapshots
  #root: Promise<DirectoryHandleLike> | undefined
  #swept: Promise<void> | undefined

  /** @param directory by default the root of the origin private file system, which is opened on first use */
  constructor(directory?: DirectoryHandleLike) {
    this.#given = directory
    this.#snapshots = new Snapshots(
      (key) => this.#find(key),
      (key) => this.describe(key),
    )
  }

  describe(key: string): string {
    return this.#given?.name ? `${this.#given.name}/${key}` : `opfs:${key}`
  }

  stat(key: string): Promise<ObjectInfo | undefined> {
    return this.#snapshots.stat(key)
  }

  getRange(key: string, offset: number, length: number, options?: RangeOptions): Promise<Uint8Array | undefined> {
    return this.#snapshots.getRange(key, offset, length, options)
  }

  async list(prefix: string): Promise<string[]> {
    const slash = prefix.lastIndexOf('/') + 1
    const folders = prefix.slice(0, slash)
    try {
      const directory = await this.#folder(slash === 0 ? [] : this.#segments(folders.slice(0, -1)), { create: false })
      return directory === undefined ? [] : await keysIn(directory, folders, prefix)
    } catch (cause) {
      throw failed(this.describe(prefix), 'read', cause)
    }
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    const stage = await this.stage(key)
    try {
      await stage.publish(key, bytes, { ifAbsent: false })
    } finally {
      await stage.discard()
    }
  }

  delete(key: string, { ifMatch }: DeleteOptions = {}): Promise<void> {
    return this.#changing(key, { create: false }, async (directory, name) => {
      // `removeEntry` alone would also remove a folder.
      const old = await this.#snapshots.take(key)
      if (old === undefined) return
      checkMatch(this.describe(key), ifMatch, snapshotInfo(old))
      // A new file of this name must get another date.
      await outlast(old)
      await handleOrMissing(directory.removeEntry(name))
    })
  }

  async stage(near: string): Promise<Stage> {
    this.#segments(near)
    try {
      const root = await this.#open()
      this.#swept ??= removeAbandoned(root)
      await this.#swept
      return await OpfsStage.open(root, this.describe(near), (key, condition, write) => this.#publish(key, condition, write))
    } catch (cause) {
      this.#swept = undefined
      throw failed(this.describe(near), 'written', cause)
    }
  }

  async close(): Promise<void> {
    this.#snapshots.forget()
  }

  async conditionalWrites(): Promise<ConditionalWrites> {
    return { replace: true, remove: true }
  }

  /** @param complete creates the file to publish */
  async #publish(key: string, condition: PublishCondition, complete: () => Promise<FileHandleLike>): Promise<ObjectInfo> {
    const info = await this.#changing(key, { create: true }, async (directory, name) => {
      // This fails for a folder, which a file might otherwise replace with all its content.
      const old = await handleOrMissing(fileIn(directory, name))
      checkCondition(this.describe(key), condition, old && snapshotInfo(old))
      if (old !== undefined) await outlast(old)
      const file = await complete()
      if (file.move !== undefined) await file.move(directory, name)
      else await copy(file, directory, name, { isNew: old === undefined })
      return this.#snapshots.stat(key)
    })
    return info!
  }

  /** Runs `work` on the folder and name of a key, while no other store of this origin changes the file. */
  async #changing<T>(
    key: string,
    options: { create: boolean },
    work: (directory: DirectoryHandleLike, name: string) => Promise<T>,
  ): Promise<T | undefined> {
    const segments = this.#segments(key)
    const name = segments.pop()!
    try {
      const directory = await this.#folder(segments, options)
      // The lock does not contain the whole key, because other stores may reach the file from other folders.
      return directory && (await withLock(`${directory.name}/${name}`, () => work(directory, name)))
    } catch (cause) {
      throw failed(this.describe(key), 'written', cause)
    }
  }

  async #find(key: string): Promise<Snapshot | undefined> {
    const segments = this.#segments(key)
    const name = segments.pop()!
    const directory = await this.#folder(segments, { create: false })
    return directory && fileIn(directory, name)
  }

  async #folder(names: readonly string[], { create }: { create: boolean }): Promise<DirectoryHandleLike | undefined> {
    let directory: DirectoryHandleLike | undefined = await this.#open()
    for (const name of names) {
      const next: Promise<DirectoryHandleLike> = directory.getDirectoryHandle(name, { create })
      directory = create ? await next : await orNoSuch(next)
      if (directory === undefined) return undefined
    }
    return directory
  }

  #open(): Promise<DirectoryHandleLike> {
    this.#root ??= this.#given === undefined ? originPrivate() : Promise.resolve(this.#given)
    return this.#root
  }

  /** @throws InvalidArgumentError for a key that is no path of a file */
  #segments(key: string): string[] {
    const segments = key.split('/')
    if (!segments.some((segment) => ['', '.', '..'].includes(segment) || segment.startsWith(STAGE_PREFIX))) return segments
    const text = `a key is a path without empty parts, '.', '..' and names that start with ${STAGE_PREFIX}`
    throw new HyperslabError('InvalidArgumentError', text, { file: this.describe(key), actual: key })
  }
}

const fileIn = async (directory: DirectoryHandleLike, name: string): Promise<Snapshot> =>
  (await directory.getFileHandle(name)).getFile()

async function originPrivate(): Promise<DirectoryHandleLike> {
  const storage = typeof navigator === 'undefined' ? undefined : navigator.storage
  if (storage?.getDirectory !== undefined) return storage.getDirectory()
  const text = 'this runtime has no origin private file system: it requires a browser, and a page from https: or localhost'
  throw new HyperslabError('UnsupportedError', text)
}

/** @param prefix prefix of the keys; starts with `folder`, which is empty or ends with `/` */
async function keysIn(directory: DirectoryHandleLike, folder: string, prefix: string): Promise<string[]> {
  const keys: string[] = []
  for await (const { kind, name } of directory.values()) {
    const key = folder + name
    if (!key.startsWith(prefix) || name.startsWith(STAGE_PREFIX)) continue
    if (kind === 'file') keys.push(key)
    else {
      const inner = await orNoSuch(directory.getDirectoryHandle(name))
      if (inner !== undefined) keys.push(...(await keysIn(inner, `${key}/`, prefix)))
    }
  }
  return keys
}

/** Replaces a file on platforms that cannot move files. A new file is empty for a moment. */
async function copy(
  from: FileHandleLike,
  directory: DirectoryHandleLike,
  name: string,
  { isNew }: { isNew: boolean },
): Promise<void> {
  const file = await from.getFile()
  const target = await directory.getFileHandle(name, { create: true })
  try {
    await writeHandle(target, [file])
  } catch (error) {
    if (isNew) await handleOrMissing(directory.removeEntry(name))
    throw error
  }
}

/** Waits until a new write gets another date. */
async function outlast({ lastModified }: { readonly lastModified: number }): Promise<void> {
  if (Date.now() - lastModified < TICK_MS) await new Promise<void>((resolve) => setTimeout(resolve, TICK_MS))
}
