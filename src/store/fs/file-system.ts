import { HyperslabError } from '../../core/errors.ts'
import type { ObjectInfo } from '../store.ts'
import { endsBefore } from '../store.ts'
import { errorCode, onFile } from './errors.ts'
import { etagOf } from './local-file.ts'

/** What is used of `node:fs`. */
export type FileSystem = Pick<
  typeof import('node:fs'),
  | 'promises'
  | 'constants'
  | 'open'
  | 'close'
  | 'read'
  | 'openSync'
  | 'writeSync'
  | 'readFileSync'
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
 * The file system of Node, Deno and Bun; found at run time, so that bundlers for browsers never see an import
 * of it.
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

export const fileInfo = (stats: Omit<FileStats, 'isFile'>): ObjectInfo => ({ size: Number(stats.size), etag: etagOf(stats) })

/** @throws FormatError for folders, pipes and devices */
export function checkedInfo(key: string, stats: FileStats): ObjectInfo {
  if (!stats.isFile()) throw new HyperslabError('FormatError', 'not a regular file', { file: key })
  return fileInfo(stats)
}

/** Of a path, with the slash at its end; empty for the current one. */
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
 * Opens a file for reading: by number, as that takes less than half the time that handles of
 * `node:fs/promises` do. It is to be closed with `closeSync`, when nothing is being read of it: what is read
 * later would come from another file.
 */
export function openForReading(fs: FileSystem, path: string): Promise<number> {
  const { O_RDONLY, O_NONBLOCK = 0 } = fs.constants
  return new Promise((resolve, reject) => {
    // A named pipe would keep whoever opens it waiting for a writer.
    fs.open(path, O_RDONLY | O_NONBLOCK, (error, file) => (error ? reject(error) : resolve(file)))
  })
}

/** @throws FormatError when the file has not that many bytes there */
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
  await onFile(path, 'read', async () => {
    for (let done = 0; done < length; ) {
      const count = await readSome(fs, file, bytes, done, offset + done)
      if (count === 0) throw endsBefore(path, offset + done, offset + length)
      done += count
    }
  })
  return bytes
}

/** Reads to `bytes` from `done` on what can be read at once; returns how many bytes that was. */
function readSome(fs: FileSystem, file: number, bytes: Uint8Array, done: number, position: number): Promise<number> {
  return new Promise((resolve, reject) =>
    fs.read(file, bytes, done, bytes.length - done, position, (error, count) => (error ? reject(error) : resolve(count))),
  )
}

/**
 * Memory that was read into and given back, the last at the end. The garbage collector goes through the whole
 * heap for every few megabytes of new memory, whatever else a process holds in its heap.
 */
const spare: ArrayBuffer[] = []
let spareBytes = 0
/** As much as blocks of the default size that are under way at once. */
const MOST_SPARE_BYTES = 64 * 1024 * 1024
/** Less is not worth keeping. */
const LEAST_ROOM = 32 * 1024
/** What was given away and may be given back, once. */
const lent = new WeakSet<Uint8Array>()

/** Keeps the memory of bytes that {@link readExactly} gave and nobody reads any more, for others. */
export function keepRoom(bytes: Uint8Array): void {
  if (!lent.delete(bytes) || bytes.buffer.byteLength > MOST_SPARE_BYTES) return
  spare.push(bytes.buffer as ArrayBuffer)
  spareBytes += bytes.buffer.byteLength
  while (spareBytes > MOST_SPARE_BYTES) spareBytes -= spare.shift()!.byteLength
}

/** Bytes that are about to be read, all of them: clearing them first takes as long as the read. */
function roomFor(length: number): Uint8Array {
  if (length < LEAST_ROOM) return newRoom(length)
  const at = spare.findLastIndex(({ byteLength }) => byteLength >= length && byteLength <= 2 * length)
  const [buffer = newRoom(roundedUp(length)).buffer] = at < 0 ? [] : spare.splice(at, 1)
  if (at >= 0) spareBytes -= buffer.byteLength
  const bytes = new Uint8Array(buffer, 0, length)
  lent.add(bytes)
  return bytes
}

/** To a sixteenth of the power of two below: blocks that are compressed come in all sizes about the same. */
function roundedUp(length: number): number {
  const step = 2 ** (Math.floor(Math.log2(length)) - 4)
  return Math.ceil(length / step) * step
}

function newRoom(length: number): Uint8Array {
  const { Buffer } = process!.getBuiltinModule!('node:buffer') as typeof import('node:buffer')
  return new Uint8Array(Buffer.allocUnsafeSlow(length).buffer, 0, length)
}
