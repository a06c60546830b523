import type { BigIntStats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { HyperslabError } from '../core/errors.js'
import { codeOf, fileError, onFile, orMissing } from './file-errors.js'
import { etagOf } from './local-file.js'
import { changed, endsBefore, exists } from './memory.js'
import type { ObjectInfo, RangeOptions, Stage, Store, Tail } from './store.js'

type FileSystem = typeof import('node:fs/promises')

declare const process: { getBuiltinModule?(name: string): unknown; pid: number } | undefined

/** The file system of Node, Deno and Bun; found at run time, so that bundlers for browsers never see an import of it. */
function fileSystem(): FileSystem {
  const found = typeof process === 'undefined' ? undefined : process.getBuiltinModule?.('node:fs/promises')
  if (found === undefined)
    throw new HyperslabError(
      'UnsupportedError',
      'there is no file system here: instead of a path pass a URL, a Blob or File, an AsyncBuffer or { store, path }',
    )
  return found as FileSystem
}

interface OpenFile extends ObjectInfo {
  readonly handle: FileHandle
}

/** A handle shared by readers; once retired it is closed by the last of them. */
interface Shared {
  readonly file: Promise<OpenFile | undefined>
  readers: number
  retired: boolean
}

/** Handles kept open between reads. An open handle also keeps the bytes it was opened on, when the file is replaced. */
const MAX_HANDLES = 64

/** Clocks of file systems are coarse: a file that has just been changed may be changed again without a change of its version. */
const SETTLED_MS = 2000

/** Files, by path. Objects are published by linking or renaming a finished temporary file, so that no reader ever sees half of one. */
export class FileStore implements Store {
  readonly #fs = fileSystem()
  readonly #open = new Map<string, Shared>()

  describe(key: string): string {
    return key
  }

  identify(key: string, etag: string): string | undefined {
    const age = Date.now() - Number(etag.split('-')[2]) / 1e6
    return age < SETTLED_MS ? undefined : `${key} ${etag}`
  }

  localPath(key: string): string {
    return key
  }

  async stat(key: string): Promise<ObjectInfo | undefined> {
    const stats = await orMissing(key, 'read', () => this.#fs.stat(key, { bigint: true }))
    return stats && checkedInfo(key, stats)
  }

  async getRange(key: string, offset: number, length: number, options: RangeOptions = {}): Promise<Uint8Array | undefined> {
    const etag = options.ifMatch ?? (await this.stat(key))?.etag
    if (etag === undefined) return undefined
    const shared = await this.#share(key, etag)
    try {
      const file = await shared.file
      if (file?.etag === etag) return await readExactly(file.handle, key, offset, length, file.size)
    } finally {
      await release(shared)
    }
    await this.#retire(`${key}\0${etag}`)
    if (options.ifMatch !== undefined) throw changed(key)
    return this.getRange(key, offset, length, options)
  }

  async getTail(key: string, length: number): Promise<Tail | undefined> {
    const file = await this.#openFile(key)
    if (file === undefined) return undefined
    const { size, etag } = file
    const shared = await this.#share(key, etag, file)
    try {
      const wanted = Math.min(length, size)
      return { size, etag, bytes: await readExactly((await shared.file)!.handle, key, size - wanted, wanted, size) }
    } finally {
      await release(shared)
    }
  }

  async list(prefix: string): Promise<string[]> {
    const slash = prefix.lastIndexOf('/') + 1
    const directory = prefix.slice(0, slash)
    const names = (await orMissing(directory || '.', 'listed', () => this.#fs.readdir(directory || '.'))) ?? []
    return names.filter((name) => name.startsWith(prefix.slice(slash))).map((name) => directory + name)
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    const stage = await this.stage(key)
    try {
      await stage.publish(key, bytes, { ifAbsent: false })
    } finally {
      await stage.discard()
    }
  }

  async delete(key: string): Promise<void> {
    await orMissing(key, 'written', () => this.#fs.unlink(key))
  }

  async stage(near: string): Promise<Stage> {
    const path = `${near}.${process!.pid}-${Math.random().toString(36).slice(2, 10)}.tmp`
    return new FileStage(this.#fs, path, await onFile(near, 'written', () => this.#fs.open(path, 'wx+')))
  }

  async close(): Promise<void> {
    for (const version of [...this.#open.keys()]) await this.#retire(version)
  }

  /**
   * A handle on one version of a file, with the caller counted as its reader. Handles are kept by version: whoever opened a file before
   * it was replaced goes on reading what was opened.
   * @param opened a handle on it, taken over
   */
  async #share(key: string, etag: string, opened?: OpenFile): Promise<Shared> {
    const version = `${key}\0${etag}`
    const known = this.#open.get(version)
    const shared = known ?? {
      file: opened === undefined ? this.#openFile(key) : Promise.resolve(opened),
      readers: 0,
      retired: false,
    }
    shared.readers++
    if (known === undefined) {
      this.#open.set(version, shared)
      const [oldest] = this.#open.keys()
      if (this.#open.size > MAX_HANDLES) await this.#retire(oldest!)
    } else await opened?.handle.close()
    return shared
  }

  async #retire(version: string): Promise<void> {
    const shared = this.#open.get(version)
    if (shared === undefined) return
    this.#open.delete(version)
    shared.retired = true
    shared.readers++
    await release(shared)
  }

  async #openFile(key: string): Promise<OpenFile | undefined> {
    const { O_RDONLY, O_NONBLOCK = 0 } = this.#fs.constants
    // A named pipe would keep whoever opens it waiting for a writer.
    const handle = await orMissing(key, 'read', () => this.#fs.open(key, O_RDONLY | O_NONBLOCK))
    if (handle === undefined) return undefined
    try {
      return { handle, ...checkedInfo(key, await onFile(key, 'read', () => handle.stat({ bigint: true }))) }
    } catch (error) {
      await handle.close()
      throw error
    }
  }
}

async function release(shared: Shared): Promise<void> {
  if (--shared.readers > 0 || !shared.retired) return
  await (await shared.file.catch(() => undefined))?.handle.close()
}

/** @throws FormatError when the file has not that many bytes there */
async function readExactly(handle: FileHandle, path: string, offset: number, length: number, size: number): Promise<Uint8Array> {
  if (offset + length > size) throw endsBefore(path, size, offset + length)
  const bytes = roomFor(length)
  await onFile(path, 'read', async () => {
    for (let done = 0; done < length; ) {
      const { bytesRead } = await handle.read(bytes, done, length - done, offset + done)
      if (bytesRead === 0) throw endsBefore(path, offset + done, offset + length)
      done += bytesRead
    }
  })
  return bytes
}

/** Bytes that are about to be read, all of them: clearing them first takes as long as the read. */
function roomFor(length: number): Uint8Array {
  const { Buffer } = process!.getBuiltinModule!('node:buffer') as typeof import('node:buffer')
  return new Uint8Array(Buffer.allocUnsafeSlow(length).buffer, 0, length)
}

class FileStage implements Stage {
  readonly #fs: FileSystem
  readonly #path: string
  #handle: FileHandle | undefined
  size = 0

  constructor(fs: FileSystem, path: string, handle: FileHandle) {
    this.#fs = fs
    this.#path = path
    this.#handle = handle
  }

  async append(bytes: Uint8Array): Promise<void> {
    await this.#write(bytes)
    this.size += bytes.length
  }

  read(offset: number, length: number): Promise<Uint8Array> {
    return readExactly(this.#opened, this.#path, offset, length, this.size)
  }

  async publish(key: string, tail: Uint8Array, { ifAbsent }: { ifAbsent: boolean }): Promise<ObjectInfo> {
    await this.#write(tail)
    // Linking and renaming change neither size nor date: this is what the published file will have.
    const info = await onFile(this.#path, 'written', async () => {
      await this.#opened.truncate(this.size + tail.length)
      await this.#opened.sync()
      return infoOf(await this.#opened.stat({ bigint: true }))
    })
    try {
      if (ifAbsent) await this.#fs.link(this.#path, key)
      else await this.#fs.rename(this.#path, key)
    } catch (cause) {
      throw codeOf(cause) === 'EEXIST' ? exists(key) : fileError(key, 'written', cause)
    }
    await this.discard()
    await syncDirectory(this.#fs, key)
    return info
  }

  async discard(): Promise<void> {
    const handle = this.#handle
    if (handle === undefined) return
    this.#handle = undefined
    await onFile(this.#path, 'written', () => handle.close())
    await orMissing(this.#path, 'written', () => this.#fs.unlink(this.#path))
  }

  get #opened(): FileHandle {
    if (this.#handle === undefined)
      throw new HyperslabError('ClosedError', 'this stage was published or discarded', { file: this.#path })
    return this.#handle
  }

  /** Writes behind what was appended; what a failed write or an earlier tail left there is overwritten or, at last, cut off. */
  async #write(bytes: Uint8Array): Promise<void> {
    await onFile(this.#path, 'written', async () => {
      for (let done = 0; done < bytes.length; ) {
        const { bytesWritten } = await this.#opened.write(bytes, done, bytes.length - done, this.size + done)
        done += bytesWritten
      }
    })
  }
}

/** A name in a directory is durable only once the directory is; not every platform can open one. */
async function syncDirectory(fs: FileSystem, key: string): Promise<void> {
  const directory = await fs.open(key.slice(0, key.lastIndexOf('/') + 1) || '.', 'r').catch(() => undefined)
  await directory?.sync().catch(() => undefined)
  await directory?.close()
}

const infoOf = (stats: { ino: bigint; size: bigint; mtimeNs: bigint }): ObjectInfo => ({
  size: Number(stats.size),
  etag: etagOf(stats),
})

/** @throws FormatError for folders, pipes and devices */
function checkedInfo(key: string, stats: BigIntStats): ObjectInfo {
  if (!stats.isFile()) throw new HyperslabError('FormatError', 'not a regular file', { file: key })
  return infoOf(stats)
}
