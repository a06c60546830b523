import type { ByteRange } from '../store.ts'

/** A range of one version of a local file. */
export interface LocalRange extends ByteRange {
  readonly path: string
  /** Version, as returned by {@link toEtag}. */
  readonly etag: string
}

interface FileSystem {
  openSync(path: string, flags: 'r'): number
  fstatSync(file: number, options: { bigint: true }): FileStats
  readSync(file: number, into: Uint8Array, at: number, length: number, position: number): number
  closeSync(file: number): void
}

interface FileStats {
  readonly ino: bigint
  readonly size: bigint
  readonly mtimeNs: bigint
}

declare const process: { getBuiltinModule?(name: string): unknown } | undefined

/**
 * Returns the version of a file. A replaced file has a new inode, and a rewritten file a new modification
 * time.
 */
export const toEtag = ({ ino, size, mtimeNs }: FileStats): string => `${ino}-${size}-${mtimeNs}`

/**
 * Reads a range synchronously, for worker threads. It opens the file for each read, which is cheap compared
 * to a block and needs no coordination between threads.
 * @returns false if there is no file system, the file has another version, or it ends before
 */
export function readLocal({ path, etag, offset, length }: LocalRange, into: Uint8Array): boolean {
  const fs = typeof process === 'undefined' ? undefined : (process.getBuiltinModule?.('node:fs') as FileSystem | undefined)
  if (fs === undefined) return false
  let file: number | undefined
  try {
    file = fs.openSync(path, 'r')
    if (toEtag(fs.fstatSync(file, { bigint: true })) !== etag) return false
    let done = 0
    while (done < length) {
      const more = fs.readSync(file, into, done, length - done, offset + done)
      if (more === 0) return false
      done += more
    }
    // A program can have rewritten the file during the read.
    return toEtag(fs.fstatSync(file, { bigint: true })) === etag
  } catch {
    // The caller repeats the read through the store, which reports the error.
    return false
  } finally {
    if (file !== undefined) fs.closeSync(file)
  }
}
