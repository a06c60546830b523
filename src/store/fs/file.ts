import { isHyperslabError } from '../../core/errors.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import { exists } from '../conditions.ts'
import type {
  ConditionalWrites,
  DeleteOptions,
  ListOptions,
  LocalFiles,
  ObjectInfo,
  ObjectTail,
  PutOptions,
  QuickRanges,
  RangeOptions,
  RenameOptions,
  Stage,
  WholeOptions,
  WritableStore,
} from '../store.ts'
import { changed } from '../store.ts'
import { checkWhole } from '../whole.ts'
import { onFile, orMissing } from './errors.ts'
import {
  checkedInfo,
  type FileSystem,
  type FileVersion,
  fileInfo,
  fileSystem,
  fillQuickly,
  folderOf,
  hasVersion,
  openForReading,
  orMissingSync,
  readUnchanged,
} from './file-system.ts'
import { entriesInFolder, FilesOfMachine } from './local-files.ts'
import { underLock } from './lock.ts'
import { isTemporary } from './names.ts'
import { type QuickReads, quickReads } from './quick-reads.ts'
import { checkVersion, FileStage, withFolder } from './stage.ts'

/** A handle shared by readers. After it is retired, the last reader closes it. */
interface Shared {
  readonly opened: Promise<FileVersion | undefined>
  /** Version of the open file, known after the first read. */
  version?: FileVersion
  readers: number
  retired: boolean
}

/** Number of handles kept open between reads. An open handle also keeps the bytes of a replaced file. */
const MAX_HANDLES = 64

/**
 * Age of a file after which its version is reliable, in ms. Clocks of file systems are coarse, so two quick
 * changes can leave the same version.
 */
const SETTLED_MS = 2000

/** Number of attempts to read a file that other programs rewrite. */
const MAX_ATTEMPTS = 8

/** Age after which an unchanged temporary file counts as abandoned, in ms: 7 days. */
const ABANDONED_MS = 7 * 24 * 3600 * 1000

/** Options of {@link FileStore}. */
export interface FileStoreOptions {
  /**
   * Whether short reads of local file systems may be synchronous, which takes a tenth of the time. A read
   * that the system delays then delays the whole thread. Default: true.
   */
  readonly syncReads?: boolean
}

const CHECKS: Checks<FileStoreOptions> = { syncReads: 'boolean' }

/**
 * Store of files, by path. An object is published by linking or renaming a finished temporary file, so
 * readers never see a part of it.
 *
 * A writer that replaces or removes a file holds a lock, the file `{path}.lock`, for some system calls. A
 * lock left by a killed process is taken over, at once if the process is known to be dead, otherwise after 30
 * seconds. Other programs are not blocked by the lock. Temporary files of killed processes are removed after
 * 7 days, by the next writer in the folder.
 * @example
 * const info = await new FileStore().stat('climate.af')
 * console.log(info !== undefined) // true
 */
export class FileStore implements WritableStore {
  readonly files: LocalFiles
  readonly #fs: FileSystem
  readonly #quick: QuickReads | undefined
  readonly #open = new Map<string, Shared>()
  /** Folders already searched for abandoned files. */
  readonly #swept = new Set<string>()

  /**
   * @param fs replaces `node:fs` of the platform in tests
   * @param quick replaces the clock of synchronous reads in tests
   */
  constructor(options: FileStoreOptions = {}, fs: object = fileSystem(), quick: QuickReads = quickReads) {
    checkOptions('FileStore', options, CHECKS)
    this.#fs = fs as FileSystem
    this.#quick = options.syncReads === false ? undefined : quick
    this.files = new FilesOfMachine(this.#fs, (key, etag) => this.#quickRanges(key, etag))
  }

  describe(key: string): string {
    return key
  }

  identify(key: string, etag: string): string | undefined {
    const age = Date.now() - Number(etag.split('-')[2]) / 1e6
    return age < SETTLED_MS ? undefined : `${key} ${etag}`
  }

  async stat(key: string): Promise<ObjectInfo | undefined> {
    const stats = await orMissing(key, 'read', () => this.#fs.promises.stat(key, { bigint: true }))
    return stats && checkedInfo(key, stats)
  }

  async getRange(
    key: string,
    offset: number,
    length: number,
    { ifMatch, into, signal }: RangeOptions = {},
  ): Promise<Uint8Array | undefined> {
    signal?.throwIfAborted()
    if (ifMatch !== undefined) return this.#readRange(await this.#share(key, ifMatch), key, ifMatch, offset, length, into)
    return repeated(async () => {
      const etag = (await this.stat(key))?.etag
      if (etag === undefined) return undefined
      return this.#readRange(await this.#share(key, etag), key, etag, offset, length, into)
    })
  }

  async getTail(key: string, length: number): Promise<ObjectTail | undefined> {
    return repeated(async () => {
      const opened = await this.#openFile(key)
      if (opened === undefined) return undefined
      const { size, etag } = opened
      const wanted = Math.min(length, size)
      const bytes = await this.#readRange(await this.#share(key, etag, opened), key, etag, size - wanted, wanted)
      return { size, etag, bytes }
    })
  }

  async get(key: string, { maxBytes, signal }: WholeOptions = {}): Promise<ObjectTail | undefined> {
    return repeated(async () => {
      signal?.throwIfAborted()
      const opened = await this.#openFile(key)
      if (opened === undefined) return undefined
      const { file, size, etag } = opened
      try {
        checkWhole(key, size, maxBytes)
        return { size, etag, bytes: await readUnchanged(this.#fs, opened, key, 0, size) }
      } finally {
        this.#fs.closeSync(file)
      }
    })
  }

  async list(prefix: string, { deep = false }: ListOptions = {}): Promise<string[]> {
    const directory = folderOf(prefix)
    if (deep) return (await this.#below(directory)).filter((key) => key.startsWith(prefix))
    const names = (await orMissing(directory || '.', 'listed', () => this.#fs.promises.readdir(directory || '.'))) ?? []
    return names.filter((name) => name.startsWith(prefix.slice(directory.length))).map((name) => directory + name)
  }

  async put(key: string, bytes: Uint8Array, options?: PutOptions): Promise<void> {
    const stage = await this.stage(key)
    try {
      await stage.publish(key, bytes, { ...options, ifAbsent: false })
    } finally {
      await stage.discard()
    }
  }

  async delete(key: string, { ifMatch, signal }: DeleteOptions = {}): Promise<void> {
    const fs = this.#fs
    // A missing file needs no lock.
    if ((await orMissing(key, 'written', () => fs.promises.lstat(key))) === undefined) return
    const work = (): void => {
      if (orMissingSync(() => fs.lstatSync(key)) === undefined) return
      checkVersion(fs, key, ifMatch)
      orMissingSync(() => fs.unlinkSync(key))
    }
    await underLock(fs, key, work, { signal })
  }

  async rename(from: string, to: string, { ifMatch, signal }: RenameOptions = {}): Promise<boolean> {
    const fs = this.#fs
    if ((await orMissing(from, 'read', () => fs.promises.lstat(from))) === undefined) return false
    await this.files.makeFolder(to)
    const work = (): void => {
      if (ifMatch !== undefined) checkVersion(fs, to, ifMatch)
      else if (orMissingSync(() => fs.lstatSync(to)) !== undefined) throw exists(to)
      fs.renameSync(from, to)
    }
    if (ifMatch === undefined) await onFile(to, 'written', async () => work())
    // This syncs the folder, which also makes earlier renames in it durable.
    else
      await withFolder(fs, to, async () => {
        await underLock(fs, to, work, { signal })
        return onFile(to, 'read', async () => fileInfo(fs.statSync(to, { bigint: true })))
      })
    return true
  }

  async stage(near: string): Promise<Stage> {
    await this.#sweep(near)
    return FileStage.open(this.#fs, near)
  }

  async conditionalWrites(): Promise<ConditionalWrites> {
    return { replace: true, remove: true }
  }

  async close(): Promise<void> {
    for (const version of [...this.#open.keys()]) await this.#retire(version)
  }

  /** Returns the files in a folder and in all folders below, without temporary files. */
  async #below(folder: string): Promise<string[]> {
    const keys: string[] = []
    for (const entry of await entriesInFolder(this.#fs, folder, ({ name }) => !isTemporary(name)))
      if (entry.isDirectory()) for (const key of await this.#below(`${folder}${entry.name}/`)) keys.push(key)
      else keys.push(folder + entry.name)
    return keys
  }

  /** Removes abandoned temporary files, once for each folder. */
  async #sweep(near: string): Promise<void> {
    const folder = folderOf(near)
    if (this.#swept.has(folder)) return
    this.#swept.add(folder)
    try {
      for (const { key, modified } of await this.files.leftovers(near))
        if (Date.now() - modified > ABANDONED_MS) await orMissing(key, 'written', () => this.#fs.promises.unlink(key))
    } catch {
      // Ignored: if the folder has a problem, the write reports it, and these files can be removed later.
    }
  }

  /**
   * Returns the handle of one version of a file, and counts the caller as its reader. A reader that opened a
   * file before its replacement continues to read the old version.
   * @param opened open handle of this version, which the store takes over
   */
  async #share(key: string, etag: string, opened?: FileVersion): Promise<Shared> {
    const version = `${key}\0${etag}`
    const known = this.#open.get(version)
    const shared = known ?? {
      opened: opened === undefined ? this.#openFile(key) : Promise.resolve(opened),
      readers: 0,
      retired: false,
    }
    shared.readers++
    if (known === undefined) {
      this.#open.set(version, shared)
      const [oldest] = this.#open.keys()
      if (this.#open.size > MAX_HANDLES) await this.#retire(oldest!)
    } else if (opened !== undefined) this.#fs.closeSync(opened.file)
    return shared
  }

  /**
   * Reads a range by a shared handle, and gives the handle back.
   * @throws ConflictError if the file has another version than `etag`
   */
  async #readRange(
    shared: Shared,
    key: string,
    etag: string,
    offset: number,
    length: number,
    into?: Uint8Array,
  ): Promise<Uint8Array> {
    try {
      const opened = await shared.opened
      if (opened?.etag !== etag) throw changed(key)
      shared.version = opened
      return await readUnchanged(this.#fs, opened, key, offset, length, into, this.#quick)
    } catch (error) {
      if (isHyperslabError(error, 'ConflictError')) await this.#retire(`${key}\0${etag}`)
      throw error
    } finally {
      await this.#release(shared)
    }
  }

  /** Returns synchronous reads of a version that is open. */
  #quickRanges(key: string, etag: string): QuickRanges | undefined {
    const shared = this.#open.get(`${key}\0${etag}`)
    const version = shared?.version
    const [fs, quick] = [this.#fs, this.#quick]
    if (version === undefined || !quick?.allows(fs, key, version)) return undefined
    return {
      ready: () => quick.ready(),
      read: (into, position) => !shared!.retired && fillQuickly(quick, fs, key, version, into, position),
      isUnchanged: () => !shared!.retired && hasVersion(fs, version),
    }
  }

  async #retire(version: string): Promise<void> {
    const shared = this.#open.get(version)
    if (shared === undefined) return
    this.#open.delete(version)
    shared.retired = true
    shared.readers++
    await this.#release(shared)
  }

  async #openFile(key: string): Promise<FileVersion | undefined> {
    const fs = this.#fs
    const file = await orMissing(key, 'read', () => openForReading(fs, key))
    if (file === undefined) return undefined
    try {
      // Opening has loaded these data, so the call does not block.
      return { file, ...checkedInfo(key, await onFile(key, 'read', async () => fs.fstatSync(file, { bigint: true }))) }
    } catch (error) {
      fs.closeSync(file)
      throw error
    }
  }

  async #release(shared: Shared): Promise<void> {
    if (--shared.readers > 0 || !shared.retired) return
    const opened = await shared.opened.catch(() => undefined)
    if (opened !== undefined) this.#fs.closeSync(opened.file)
  }
}

/** Repeats a read of the newest version if another program has rewritten the file during the read. */
async function repeated<T>(read: () => Promise<T>): Promise<T> {
  for (let attempts = 1; ; attempts++)
    try {
      return await read()
    } catch (error) {
      if (attempts === MAX_ATTEMPTS || !isHyperslabError(error, 'ConflictError')) throw error
    }
}
