import type { Dirent } from 'node:fs'
import type { FoldedNames, Leftover, ListOptions, LocalFiles, QuickRanges } from '../store.ts'
import { errorCode, fileError, onFile, orMissing } from './errors.ts'
import { type FileSystem, folderOf, keepRoom } from './file-system.ts'
import { isTemporary } from './names.ts'
import { probeNames, resolvePath } from './paths.ts'

declare const process: { readonly platform: string }

/** Folders, links and paths of the files of this machine. */
export class FilesOfMachine implements LocalFiles {
  readonly #fs: FileSystem
  readonly recycle = keepRoom
  readonly quickReads: (key: string, etag: string) => QuickRanges | undefined

  /** @param quickReads see {@link LocalFiles.quickReads} */
  constructor(fs: FileSystem, quickReads: (key: string, etag: string) => QuickRanges | undefined) {
    this.#fs = fs
    this.quickReads = quickReads
  }

  get windowsNames(): boolean {
    return process.platform === 'win32'
  }

  localPath(key: string): string {
    return key
  }

  async makeFolder(near: string): Promise<void> {
    const folder = folderOf(near)
    if (folder !== '') await onFile(folder, 'written', () => this.#fs.promises.mkdir(folder, { recursive: true }))
  }

  async removeFolder(folder: string): Promise<void> {
    for (const { name } of await entriesInFolder(this.#fs, folder, (entry) => entry.isDirectory()))
      await this.removeFolder(`${folder}${name}/`)
    try {
      await this.#fs.promises.rmdir(folder)
    } catch (cause) {
      if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(errorCode(cause))) throw fileError(folder, 'written', cause)
    }
  }

  async leftovers(near: string, { deep = false }: Pick<ListOptions, 'deep'> = {}): Promise<Leftover[]> {
    const found: Leftover[] = []
    const folder = folderOf(near)
    if (deep)
      for (const { name } of await entriesInFolder(this.#fs, folder, (entry) => entry.isDirectory()))
        for (const each of await this.leftovers(`${folder}${name}/`, { deep })) found.push(each)
    for (const { name } of await entriesInFolder(this.#fs, folder, (entry) => isTemporary(entry.name))) {
      const key = folder + name
      const stats = await orMissing(key, 'read', () => this.#fs.promises.lstat(key))
      if (stats?.isFile()) found.push({ key, size: stats.size, modified: stats.mtimeMs })
    }
    return found
  }

  foldedNames(near: string): Promise<FoldedNames> {
    return probeNames(this.#fs, near)
  }

  realPath(key: string): Promise<string> {
    return onFile(key, 'read', () => resolvePath(this.#fs, key))
  }

  async isLink(key: string): Promise<boolean> {
    return (await orMissing(key, 'read', () => this.#fs.promises.lstat(key)))?.isSymbolicLink() === true
  }
}

/** Returns the entries of a folder that `isWanted` accepts; none if the folder does not exist. */
export async function entriesInFolder(fs: FileSystem, folder: string, isWanted: (entry: Dirent) => boolean): Promise<Dirent[]> {
  const read = (): Promise<Dirent[]> => fs.promises.readdir(folder || '.', { withFileTypes: true })
  return ((await orMissing(folder || '.', 'listed', read)) ?? []).filter(isWanted)
}
