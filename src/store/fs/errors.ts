import { type ErrorTag, HyperslabError, isHyperslabError } from '../../core/errors.ts'

export type Doing = 'read' | 'written' | 'listed'

/**
 * Meaning of each error code of a platform, with advice. Codes that do not mean a failure of the place have
 * their own tag.
 */
const MEANINGS: Readonly<Record<string, readonly [string, ErrorTag?]>> = {
  EACCES: ['permission is denied; look at the rights of the file and of the folders above it'],
  EPERM: ['the operation is not permitted; look at the rights and attributes of the file and its folder'],
  EROFS: ['the file system is read-only'],
  ENOENT: ['there is no such folder; make it first'],
  ENOTDIR: ['a part of the path is a file and no folder', 'NotFoundError'],
  EISDIR: ['there is a folder of this name'],
  ENOTEMPTY: ['there is a folder of this name'],
  ELOOP: ['symbolic links on the path lead in a circle'],
  ENAMETOOLONG: ['the name is longer than the file system allows; choose a shorter one', 'InvalidArgumentError'],
  EILSEQ: ['the file system has no such characters in names', 'InvalidArgumentError'],
  EMFILE: ['this process has too many files open; close some, or raise its limit (ulimit -n)'],
  ENFILE: ['the system has too many files open; close some, or raise its limit'],
  ENOSPC: ['the disk is full; make room there and try again'],
  EDQUOT: ['the quota of the disk is used up; make room there and try again'],
  EFBIG: ['the file would be larger than the file system or the limit of the process (ulimit -f) allows'],
  EIO: ['the disk or the network drive has failed; check it before relying on what is there'],
  ENXIO: ['the device is gone'],
  ENODEV: ['the device is gone'],
  ESTALE: ['the network drive was mounted anew; open the file again'],
  ETIMEDOUT: ['the network drive does not answer; try again'],
  EBUSY: ['the file is in use by the system; try again'],
  EXDEV: ['a file cannot be moved to another file system'],
  EMLINK: ['the file system allows no more links'],
}

const READ_ONLY = ['EACCES', 'EPERM', 'EROFS']

export const errorCode = (error: unknown): string => String((error as { code?: unknown } | undefined)?.code ?? '')

/**
 * Converts an error of the platform to a `HyperslabError`, which names the file and gives advice. A
 * `HyperslabError` only gets the name of the file.
 */
export function fileError(file: string, doing: Doing, cause: unknown): HyperslabError {
  if (isHyperslabError(cause)) return cause.within({ file })
  // Platforms report this in different words, some without a code.
  if (file.includes('\0')) {
    const text = `cannot be ${doing}: no path holds a NUL character (\\0)`
    return new HyperslabError('InvalidArgumentError', text, { file, actual: file, cause })
  }
  const code = errorCode(cause)
  const [meaning, tag = doing === 'written' && READ_ONLY.includes(code) ? 'ReadOnlyError' : 'StoreError'] = MEANINGS[code] ?? []
  const reason = meaning === undefined ? reasonOf(cause) : `${meaning} (${code})`
  return new HyperslabError(tag, `cannot be ${doing}: ${reason}`, { file, cause })
}

const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/** Runs `work` on a file, and converts errors of the platform. */
export async function onFile<T>(file: string, doing: Doing, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw fileError(file, doing, cause)
  }
}

/** Runs `work` on a file like {@link onFile}; returns `undefined` if the file does not exist. */
export function orMissing<T>(file: string, doing: Doing, work: () => Promise<T>): Promise<T | undefined> {
  return onFile<T | undefined>(file, doing, async () => {
    try {
      return await work()
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return undefined
      throw error
    }
  })
}
