import { withoutEndings } from '../../core/text.ts'
import { errorCode } from '../fs/errors.ts'
import { type FileSystem, fileSystem } from '../fs/file-system.ts'
import type { CacheBackend, StoredEntry } from './backend.ts'

/** The used part of `node:fs`. */
type Files = Pick<FileSystem, 'promises'>

/** Age after which a temporary file counts as abandoned, in ms. */
const ABANDONED_MS = 3600 * 1000

const ENTRY = /^([0-9a-f]{64})\.cache$/
const TEMPORARY = /^[0-9a-f]{64}\.[0-9a-f-]{36}\.tmp$/

/**
 * Entries as files in a folder, which the first write creates. Other files in the folder are neither read nor
 * removed. The modification time of a file is the time of its last use.
 */
export class FolderBackend implements CacheBackend {
  readonly #folder: string
  readonly #files: Files['promises']

  /** @throws UnsupportedError if there is no file system */
  constructor(folder: string, fs: Files = fileSystem()) {
    this.#folder = withoutEndings(folder, '/', '\\') || folder
    this.#files = fs.promises
  }

  read(name: string): Promise<Uint8Array | undefined> {
    return ifPresent(this.#files.readFile(this.#pathOf(name)))
  }

  async write(name: string, bytes: Uint8Array): Promise<void> {
    await this.#files.mkdir(this.#folder, { recursive: true, mode: 0o700 })
    const temporary = `${this.#folder}/${name}.${crypto.randomUUID()}.tmp`
    try {
      await this.#files.writeFile(temporary, bytes, { flag: 'wx', mode: 0o600 })
      await this.#files.rename(temporary, this.#pathOf(name))
    } catch (error) {
      await this.#files.unlink(temporary).catch(() => undefined)
      throw error
    }
  }

  async remove(name: string): Promise<void> {
    await ifPresent(this.#files.unlink(this.#pathOf(name)))
  }

  async list(): Promise<StoredEntry[]> {
    const names = (await ifPresent(this.#files.readdir(this.#folder))) ?? []
    const entries: StoredEntry[] = []
    for (const file of names) {
      const name = ENTRY.exec(file)?.[1]
      if (name === undefined && !TEMPORARY.test(file)) continue
      const path = `${this.#folder}/${file}`
      const stats = await ifPresent(this.#files.lstat(path))
      if (stats === undefined || !stats.isFile()) continue
      if (name !== undefined) entries.push({ name, bytes: stats.size, used: stats.mtimeMs })
      else if (Date.now() - stats.mtimeMs > ABANDONED_MS) await ifPresent(this.#files.unlink(path))
    }
    return entries
  }

  async touch(uses: ReadonlyMap<string, number>): Promise<void> {
    for (const [name, used] of uses) await ifPresent(this.#files.utimes(this.#pathOf(name), used / 1000, used / 1000))
  }

  #pathOf(name: string): string {
    return `${this.#folder}/${name}.cache`
  }
}

/** Returns the result of the work; undefined if the file or folder does not exist. */
async function ifPresent<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}
