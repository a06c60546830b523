import { HyperslabError } from '../../core/errors.ts'
import type { ObjectInfo } from '../store.ts'
import { changed, endsBefore } from '../store.ts'
import { errorCode, onFile } from './errors.ts'
import { toEtag } from './local-file.ts'
import type { QuickFile, QuickReads } from './quick-reads.ts'

/** The used part of `node:fs`. */
export type FileSystem = Pick<
  typeof import('node:fs'),
  | 'promises'
  | 'constants'
  | 'open'
  | 'close'
  | 'read'
  | 'readSync'
  | 'statfs'
  | 'openSync'
  | 'writeSync'
  | 'readFileSync'
  | 'fchmodSync'
  | 'fstatSync'
  | 'futimesSync'
  | 'closeSync'
  | 'statSync'
  | 'lstatSync'
  | 'linkSync'
  | 'renameSync'
  | 'unlinkSync'
  | 'readlinkSync'
>

declare const process: { getBuiltinModule?(name: string): unknown } | undefined

/**
 * Returns the file system of Node, Deno or Bun. It is looked up at run time, so that bundlers for browsers
 * see no import of it.
 */
export function fileSystem(): FileSystem {
  const found = typeof process === 'undefined' ? undefined : process.getBuiltinModule?.('node:fs')
  if (found === undefined)
    throw new HyperslabError(
      'UnsupportedError',
      'there is no file system here: instead of a path pass a URL, a Blob or File, an AsyncBuffer or { store, path }',
    )
  return found as FileSystem
}

interface FileStats {
  readonly ino: bigint
  readonly size: bigint
  readonly mtimeNs: bigint
  isFile(): boolean
}

export const fileInfo = (stats: Omit<FileStats, 'isFile'>): ObjectInfo => ({ size: Number(stats.size), etag: toEtag(stats) })

/**
 * Returns size and version of a regular file.
 * @throws FormatError for folders, pipes and devices
 */
export function checkedInfo(key: string, stats: FileStats): ObjectInfo {
  if (!stats.isFile()) throw new HyperslabError('FormatError', 'not a regular file', { file: key })
  return fileInfo(stats)
}

/** Returns the folder of a path with a slash at the end; empty for the current folder. */
export const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/') + 1)

export function orMissingSync<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

/**
 * Opens a file for reading and returns its number, which takes less than half the time of a handle of
 * `node:fs/promises`. The caller closes it with `closeSync` after all reads have ended. A later read could
 * use a number that another file has got.
 */
export function openForReading(fs: FileSystem, path: string): Promise<number> {
  const { O_RDONLY, O_NONBLOCK = 0 } = fs.constants
  return new Promise((resolve, reject) => {
    // Without the flag, opening a named pipe would wait for a writer.
    fs.open(path, O_RDONLY | O_NONBLOCK, (error, file) => (error ? reject(error) : resolve(file)))
  })
}

/** A version of a file, open for reading. */
export interface FileVersion extends ObjectInfo, QuickFile {}

/**
 * Reads exactly the bytes of a range of an open version.
 * @param into memory of that length to read into; by default memory that {@link keepRoom} may get back
 * @param quick reads synchronously what it allows
 * @throws ConflictError if another program has rewritten the file in place: the bytes can be of both versions
 * @throws FormatError if the file ends before
 */
export async function readUnchanged(
  fs: FileSystem,
  version: FileVersion,
  path: string,
  offset: number,
  length: number,
  into?: Uint8Array,
  quick?: QuickReads,
): Promise<Uint8Array> {
  const { file, size, etag } = version
  if (offset + length > size) throw endsBefore(path, size, offset + length)
  const bytes = into ?? roomFor(length)
  return onFile(path, 'read', async () => {
    const end = quick?.read(fs, path, version, bytes, offset) ? length : await fill(fs, file, bytes, offset)
    // A program that rewrites a file changes its time before its bytes, so an unchanged time after the read
    // proves the bytes. The system has just used these data, so the call does not block.
    if (toEtag(fs.fstatSync(file, { bigint: true })) !== etag) throw changed(path)
    if (end < length) throw endsBefore(path, offset + end, offset + length)
    return bytes
  })
}

/** Fills memory from a version without waiting. Returns false if that is not allowed, or fails. */
export function fillQuickly(
  quick: QuickReads,
  fs: FileSystem,
  path: string,
  version: FileVersion,
  into: Uint8Array,
  position: number,
): boolean {
  try {
    return quick.readAll(fs, path, version, into, position)
  } catch {
    // An asynchronous read reports the failure.
    return false
  }
}

/** Whether an open file still has its version. */
export function hasVersion(fs: FileSystem, { file, etag }: FileVersion): boolean {
  try {
    return toEtag(fs.fstatSync(file, { bigint: true })) === etag
  } catch {
    return false
  }
}

/**
 * Reads exactly the bytes of a range.
 * @throws FormatError if the file ends before
 */
export async function readExactly(
  fs: FileSystem,
  file: number,
  path: string,
  offset: number,
  length: number,
  size: number,
): Promise<Uint8Array> {
  if (offset + length > size) throw endsBefore(path, size, offset + length)
  const bytes = roomFor(length)
  const end = await onFile(path, 'read', () => fill(fs, file, bytes, offset))
  if (end < length) throw endsBefore(path, offset + end, offset + length)
  return bytes
}

/** Reads into `bytes` until they are full or the file ends. Returns the number of bytes. */
async function fill(fs: FileSystem, file: number, bytes: Uint8Array, offset: number): Promise<number> {
  let done = 0
  for (let count = -1; done < bytes.length && count !== 0; done += count)
    count = await readSome(fs, file, bytes, done, offset + done)
  return done
}

/** Reads bytes into `bytes` from `done` on, as many as one call returns. Returns their number. */
function readSome(fs: FileSystem, file: number, bytes: Uint8Array, done: number, position: number): Promise<number> {
  return new Promise((resolve, reject) =>
    fs.read(file, bytes, done, bytes.length - done, position, (error, count) => (error ? reject(error) : resolve(count))),
  )
}

/**
 * Buffers for reuse, the latest at the end. The garbage collector scans the whole heap for every few
 * megabytes of new buffers.
 */
const spare: ArrayBuffer[] = []
let spareBytes = 0
/** Limit for reusable buffers, about the size of all blocks in flight at the default block size. */
const MOST_SPARE_BYTES = 64 * 1024 * 1024
/** Smallest buffer that is reused. */
const LEAST_ROOM = 32 * 1024
/** Arrays that {@link keepRoom} accepts, once each. */
const lent = new WeakSet<Uint8Array>()

/** Keeps the memory of bytes that {@link readUnchanged} returned and that are no longer read. */
export function keepRoom(bytes: Uint8Array): void {
  if (!lent.delete(bytes) || bytes.buffer.byteLength > MOST_SPARE_BYTES) return
  spare.push(bytes.buffer as ArrayBuffer)
  spareBytes += bytes.buffer.byteLength
  while (spareBytes > MOST_SPARE_BYTES) spareBytes -= spare.shift()!.byteLength
}

/** Allocates memory that a read fills completely. Clearing it first would take as long as the read. */
function roomFor(length: number): Uint8Array {
  if (length < LEAST_ROOM) return newRoom(length)
  const at = spare.findLastIndex(({ byteLength }) => byteLength >= length && byteLength <= 2 * length)
  const [buffer = newRoom(roundedUp(length)).buffer] = at < 0 ? [] : spare.splice(at, 1)
  if (at >= 0) spareBytes -= buffer.byteLength
  const bytes = new Uint8Array(buffer, 0, length)
  lent.add(bytes)
  return bytes
}

/**
 * Rounds up to a sixteenth of the power of two below, because compressed blocks have similar but different
 * sizes.
 */
function roundedUp(length: number): number {
  const step = 2 ** (Math.floor(Math.log2(length)) - 4)
  return Math.ceil(length / step) * step
}

function newRoom(length: number): Uint8Array {
  const { Buffer } = process!.getBuiltinModule!('node:buffer') as typeof import('node:buffer')
  return new Uint8Array(Buffer.allocUnsafeSlow(length).buffer, 0, length)
}
