import type { ByteRange } from '../store.ts'

/** A range of one version of a file on this machine. */
export interface LocalRange extends ByteRange {
  readonly path: string
  /** As {@link etagOf} tells it. */
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

/** Replacing a file gives a new inode, rewriting it in place a new modification time. */
export const etagOf = ({ ino, size, mtimeNs }: FileStats): string => `${ino}-${size}-${mtimeNs}`

/**
 * Reads a range at once, for threads that have nothing else to do. The file is opened for each: that costs
 * little beside a block, and nobody has to tell other threads when to close it.
 * @returns false where this cannot be done: there is no file system, or not this version of the file, or it
 *   ends before
 */
export function readLocal({ path, etag, offset, length }: LocalRange, into: Uint8Array): boolean {
  const fs = typeof process === 'undefined' ? undefined : (process.getBuiltinModule?.('node:fs') as FileSystem | undefined)
  if (fs === undefined) return false
  let file: number | undefined
  try {
    file = fs.openSync(path, 'r')
    if (etagOf(fs.fstatSync(file, { bigint: true })) !== etag) return false
    let done = 0
    while (done < length) {
      const more = fs.readSync(file, into, done, length - done, offset + done)
      if (more === 0) return false
      done += more
    }
    return true
  } catch {
    // Whoever asked reads it again by the way that reports what is wrong.
    return false
  } finally {
    if (file !== undefined) fs.closeSync(file)
  }
}
