import type { FileHandle } from 'node:fs/promises'
import { HyperslabError } from '../../core/errors.ts'
import { checkMatch, exists } from '../conditions.ts'
import type { ObjectInfo, PublishCondition, Stage } from '../store.ts'
import { errorCode, fileError, onFile, orMissing } from './errors.ts'
import { checkedInfo, type FileSystem, fileInfo, folderOf, orMissingSync, readExactly } from './file-system.ts'
import { underLock } from './lock.ts'
import { temporaryName } from './names.ts'

/** Bytes copied at a time. */
const COPY_BYTES = 1024 * 1024

/** Modification times are moved back by up to this, in ms. */
const SPREAD_MS = 1000

interface TemporaryFile {
  readonly path: string
  readonly handle: FileHandle
  /** Whether the path still names this file. */
  hasName: boolean
}

/**
 * Stage in a temporary file beside the final object. Publishing links or renames the file; later changes of
 * the stage go to a copy.
 */
export class FileStage implements Stage {
  readonly #fs: FileSystem
  readonly #near: string
  #file: TemporaryFile | undefined
  /** Whether the file is published or has lost its name. Then it must not be written. */
  #spent = false
  #size = 0
  /** Upper bound for the length of the file. */
  #end = 0
  /** Key and tail for which the file is complete and on disk, with the version of the future object. */
  #prepared: { readonly key: string; readonly tail: Uint8Array; readonly info: ObjectInfo } | undefined
  broken = false

  private constructor(fs: FileSystem, near: string, file: TemporaryFile) {
    this.#fs = fs
    this.#near = near
    this.#file = file
  }

  static async open(fs: FileSystem, near: string): Promise<FileStage> {
    return new FileStage(fs, near, await create(fs, near))
  }

  get size(): number {
    return this.#size
  }

  async append(bytes: Uint8Array): Promise<void> {
    this.#prepared = undefined
    await this.#writable()
    await this.#write(bytes)
    this.#size += bytes.length
  }

  read(offset: number, length: number): Promise<Uint8Array> {
    const { handle, path } = this.#opened
    return readExactly(this.#fs, handle.fd, path, offset, length, this.#size)
  }

  prepare(key: string, tail: Uint8Array): Promise<void> {
    return this.#prepare(key, tail, (handle) => this.#sync(handle))
  }

  async #prepare(key: string, tail: Uint8Array, sync: (handle: FileHandle) => Promise<void>): Promise<void> {
    this.#prepared = undefined
    await this.#writable(key)
    await this.#write(tail)
    this.#prepared = { key, tail, info: await this.#finish(tail.length, sync) }
  }

  async publish(key: string, tail: Uint8Array, condition: PublishCondition): Promise<ObjectInfo> {
    const isPrepared = this.#prepared?.key === key && this.#prepared.tail === tail && !this.#spent
    const { scratch = false, durable = !scratch } = condition
    if (!isPrepared) await (scratch ? this.#prepare(key, tail, async () => undefined) : this.prepare(key, tail))
    const { info } = this.#prepared!
    const work = async (): Promise<ObjectInfo> => {
      await (condition.ifAbsent ? this.#link(key, info, condition) : this.#rename(key, info, condition))
      return info
    }
    return durable ? withFolder(this.#fs, key, work) : work()
  }

  async discard(): Promise<void> {
    const file = this.#file
    if (file === undefined) return
    this.#file = undefined
    await remove(this.#fs, file)
  }

  /** Completes the file and makes it durable by `sync`. */
  async #finish(tailBytes: number, sync: (handle: FileHandle) => Promise<void>): Promise<ObjectInfo> {
    const { handle, path } = this.#opened
    return onFile(path, 'written', async () => {
      const size = this.#size + tailBytes
      if (this.#end > size) await handle.truncate(size)
      this.#end = size
      spread(this.#fs, handle)
      await sync(handle)
      // Linking and renaming keep size and date, so this is the version of the object. The system has the
      // data in memory, so the call does not block.
      return fileInfo(this.#fs.fstatSync(handle.fd, { bigint: true }))
    })
  }

  async #sync(handle: FileHandle): Promise<void> {
    try {
      await handle.sync()
    } catch (error) {
      // The system may have dropped data that it could not write, and reports this only once.
      this.broken = true
      throw error
    }
  }

  async #link(key: string, info: ObjectInfo, condition: PublishCondition): Promise<void> {
    const { path } = this.#opened
    try {
      // Even after an error the file may be published from here on.
      this.#spent = true
      await this.#fs.promises.link(path, key)
    } catch (cause) {
      const code = errorCode(cause)
      if (NO_LINKS.includes(code)) return this.#rename(key, info, condition)
      // On network file systems, a request that seems to have failed may have been carried out.
      const found = await orMissing(key, 'read', () => this.#fs.promises.stat(key, { bigint: true }))
      if (found !== undefined && fileInfo(found).etag === info.etag) return
      if (code === 'ENOENT') throw this.#lost(cause)
      if (code !== 'EEXIST') throw fileError(key, 'written', cause)
      this.#spent = false
      throw exists(key)
    }
  }

  /** Renames the file to the key, replacing an existing file under the condition. */
  #rename(key: string, info: ObjectInfo, condition: PublishCondition): Promise<void> {
    const file = this.#opened
    const { path } = file
    const fs = this.#fs
    const work = (): void => {
      this.#spent = false
      if (condition.ifAbsent && orMissingSync(() => fs.lstatSync(key)) !== undefined) throw exists(key)
      checkVersion(fs, key, condition.ifMatch)
      keepMode(fs, key, file.handle)
      try {
        this.#spent = true
        fs.renameSync(path, key)
        file.hasName = false
      } catch (cause) {
        const found = orMissingSync(() => fs.statSync(key, { bigint: true }))
        if (found !== undefined && fileInfo(found).etag === info.etag) return
        throw errorCode(cause) === 'ENOENT' ? this.#lost(cause) : cause
      }
    }
    return underLock(fs, key, work, { staged: path })
  }

  #lost(cause: unknown): HyperslabError {
    const text =
      'the temporary file was removed, maybe by a process that took this one for dead, as it was stopped for long; publish again'
    return new HyperslabError('StoreError', text, { file: this.#near, cause })
  }

  get #opened(): TemporaryFile {
    if (this.#file !== undefined) return this.#file
    throw new HyperslabError('ClosedError', 'this stage was discarded', { file: this.#near })
  }

  /** Ensures a writable temporary file, in the folder of `key` if given. */
  async #writable(key?: string): Promise<void> {
    const old = this.#opened
    if (this.broken) {
      const text = 'what was staged may be gone, because the disk failed to take it: stage it again'
      throw new HyperslabError('StoreError', text, { file: this.#near })
    }
    if (!this.#spent && (key === undefined || folderOf(old.path) === folderOf(key))) return
    const file = await create(this.#fs, key ?? this.#near)
    try {
      for (let done = 0; done < this.#size; ) {
        const bytes = await this.read(done, Math.min(COPY_BYTES, this.#size - done))
        await writeAll(file, bytes, done)
        done += bytes.length
      }
    } catch (error) {
      await remove(this.#fs, file)
      throw error
    }
    this.#file = file
    this.#spent = false
    this.#end = this.#size
    await remove(this.#fs, old)
  }

  /**
   * Writes after the appended bytes. This overwrites leftovers of a failed write or an earlier tail; the rest
   * of them is cut off in the end.
   */
  #write(bytes: Uint8Array): Promise<void> {
    this.#end = Math.max(this.#end, this.#size + bytes.length)
    return writeAll(this.#opened, bytes, this.#size)
  }
}

/** Error codes of file systems without links, and of links that they refuse. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EXDEV', 'EMLINK', 'EINVAL']

/** Error codes of systems that cannot open or sync folders. */
const NO_FOLDER_SYNC = ['EISDIR', 'EPERM', 'EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']

/** Creates a temporary file. Users who cannot read the file `near`, if it exists, cannot read it either. */
async function create(fs: FileSystem, near: string): Promise<TemporaryFile> {
  const path = temporaryName(near)
  const old = await orMissing(near, 'read', () => fs.promises.stat(near)).catch(() => undefined)
  const hidden = old === undefined ? 0 : (old.mode & 0o040 ? 0 : 0o060) | (old.mode & 0o004 ? 0 : 0o006)
  return { path, handle: await onFile(near, 'written', () => fs.promises.open(path, 'wx+', 0o666 & ~hidden)), hasName: true }
}

/** Gives a file the permissions of the one that it replaces, if there is one. */
function keepMode(fs: FileSystem, key: string, { fd }: FileHandle): void {
  const old = orMissingSync(() => fs.statSync(key))
  if (old === undefined) return
  try {
    if ((fs.fstatSync(fd).mode ^ old.mode) & PERMISSIONS) fs.fchmodSync(fd, old.mode & PERMISSIONS)
  } catch {
    // Some file systems have no permissions.
  }
}

/** Bits of a mode that are permissions, without those that change the user of a program. */
const PERMISSIONS = 0o777

async function remove(fs: FileSystem, { path, handle, hasName }: TemporaryFile): Promise<void> {
  try {
    if (hasName) await orMissing(path, 'written', () => fs.promises.unlink(path))
  } finally {
    await onFile(path, 'written', () => handle.close())
  }
}

/**
 * Gives a file an almost unique modification time. A new file may get the inode of a removed file and, within
 * one tick of a coarse clock, its date. Then it would pass for the old version.
 */
function spread(fs: FileSystem, { fd }: FileHandle): void {
  try {
    const date = (Date.now() - Math.random() * SPREAD_MS) / 1000
    fs.futimesSync(fd, date, date)
  } catch {
    // If the date cannot be set, the date of the clock remains.
  }
}

/**
 * Checks that a file has the version `ifMatch`, if one is given.
 * @throws ConflictError
 */
export function checkVersion(fs: FileSystem, key: string, ifMatch: string | undefined): void {
  if (ifMatch === undefined) return
  const found = orMissingSync(() => fs.statSync(key, { bigint: true }))
  checkMatch(key, ifMatch, found && checkedInfo(key, found))
}

async function writeAll({ handle, path }: TemporaryFile, bytes: Uint8Array, at: number): Promise<void> {
  await onFile(path, 'written', async () => {
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, at + done)
      done += bytesWritten
    }
  })
}

/** Runs the work that gives a file its name, and syncs its folder. */
export async function withFolder(fs: FileSystem, key: string, work: () => Promise<ObjectInfo>): Promise<ObjectInfo> {
  const folder = await openFolder(fs, key)
  try {
    const info = await work()
    await syncFolder(folder, key, info)
    return info
  } finally {
    // A failure to close is ignored: the object exists, or an error is already thrown.
    await folder?.close().catch(() => undefined)
  }
}

/** Opens the folder before publishing, so that a failure to open it leaves nothing published. */
async function openFolder(fs: FileSystem, key: string): Promise<FileHandle | undefined> {
  try {
    return await fs.promises.open(folderOf(key) || '.', 'r')
  } catch (cause) {
    // Windows cannot open folders, and denies access.
    if (NO_FOLDER_SYNC.includes(errorCode(cause)) || (fs.constants.O_NONBLOCK === undefined && errorCode(cause) === 'EACCES'))
      return undefined
    throw fileError(key, 'written', cause)
  }
}

/** Syncs the folder, because only this makes the name durable. */
async function syncFolder(folder: FileHandle | undefined, key: string, info: ObjectInfo): Promise<void> {
  try {
    await folder?.sync()
  } catch (cause) {
    if (NO_FOLDER_SYNC.includes(errorCode(cause))) return
    const reason = cause instanceof Error ? cause.message : String(cause)
    const text = `the file is in its place, but may be gone after a power failure, because its folder could not be synchronized: ${reason}`
    throw new HyperslabError('StoreError', text, { file: key, cause, published: { ...info } })
  }
}
