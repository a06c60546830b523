import { HyperslabError } from '../../core/errors.ts'
import type { FoldedNames } from '../store.ts'
import { errorCode, onFile } from './errors.ts'
import { type FileSystem, folderOf } from './file-system.ts'

declare const process: { getBuiltinModule(name: string): unknown }

const paths = (): typeof import('node:path') => process.getBuiltinModule('node:path') as typeof import('node:path')

/** Maximum number of links in one path, as operating systems limit it. */
const MOST_LINKS = 40

/**
 * Joins a folder and a path as the operating system reads them. POSIX follows a link before `..`, which thus
 * means the folder above the link's target. Windows takes `..` out of the text first.
 */
export function joinUnresolved(folder: string, path: string): string {
  const { resolve, isAbsolute, sep } = paths()
  if (sep === '\\') return resolve(folder, path)
  return isAbsolute(path) ? path : `${folder}/${path}`
}

/** Returns the absolute path with all links followed, even if they lead to nothing. */
export async function resolvePath(fs: FileSystem, path: string, left = MOST_LINKS): Promise<string> {
  const { resolve, dirname, basename } = paths()
  const absolute = joinUnresolved(resolve(), path)
  try {
    return await fs.promises.realpath(absolute)
  } catch (error) {
    if (errorCode(error) !== 'ENOENT' || dirname(absolute) === absolute) throw error
  }
  const folder = await resolvePath(fs, dirname(absolute), left)
  const entry = resolve(folder, basename(absolute))
  const target = await fs.promises.readlink(entry).catch(() => undefined)
  if (target === undefined) return entry
  if (left === 0) throw new HyperslabError('StoreError', 'symbolic links on the path lead in a circle', { file: path })
  return resolvePath(fs, joinUnresolved(folder, target), left - 1)
}

/**
 * Tests which names a file system treats as equal. Uses a temporary folder beside `near`, or in the nearest
 * existing parent folder.
 */
export async function probeNames(fs: FileSystem, near: string): Promise<FoldedNames> {
  const { join, dirname } = paths()
  const { mkdtemp, writeFile, access, rm, stat } = fs.promises
  let above = folderOf(near) || '.'
  const isThere = (path: string): Promise<boolean> =>
    access(path).then(
      () => true,
      () => false,
    )
  while (!(await stat(above).catch(() => undefined))?.isDirectory() && dirname(above) !== above) above = dirname(above)
  return onFile(above, 'written', async () => {
    const folder = await mkdtemp(join(above, '.hyperslab-names-'))
    try {
      await writeFile(join(folder, 'name-\u00e9'), '')
      const [upper, decomposed] = [join(folder, 'NAME-\u00e9'), join(folder, 'name-e\u0301')]
      return { case: await isThere(upper), unicode: await isThere(decomposed) }
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
}
