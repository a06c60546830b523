import type { AsyncBuffer } from '../core/async-buffer.ts'
import { HyperslabError, isHyperslabError } from '../core/errors.ts'
import type { Snapshot } from './snapshots.ts'

/** The part of a `FileSystemFileHandle` that is used. */
export interface FileHandleLike {
  readonly kind: 'file'
  readonly name: string
  /** The file as it is now; once it is changed, what was given can no longer be read. */
  getFile(): Promise<Snapshot>
  /** What is written replaces the file when the stream is closed. */
  createWritable?(): Promise<WritableLike>
  /** Takes the place of whatever has that name. */
  move?(directory: DirectoryHandleLike, name: string): Promise<void>
}

/** The part of a `FileSystemWritableFileStream` that is used. */
export interface WritableLike {
  write(data: unknown): Promise<void>
  close(): Promise<void>
  abort(): Promise<void>
}

/** The part of a `FileSystemDirectoryHandle` that is used. */
export interface DirectoryHandleLike {
  readonly kind: 'directory'
  readonly name: string
  getFileHandle(name: string, options?: { create?: boolean }): Promise<FileHandleLike>
  getDirectoryHandle(name: string, options?: { create?: boolean }): Promise<DirectoryHandleLike>
  removeEntry(name: string, options?: { recursive?: boolean }): Promise<void>
  values(): AsyncIterable<{ readonly kind: string; readonly name: string }>
}

export const isFileHandle = (value: object): value is FileHandleLike =>
  'getFile' in value && 'kind' in value && value.kind === 'file' && typeof value.getFile === 'function'

export const nameOf = (error: unknown): string => (error instanceof Error ? error.name : '')

export const handleOrMissing = <T>(work: Promise<T>): Promise<T | undefined> => orUndefined(work, 'NotFoundError')

/** A file in place of a folder, or the other way round, is none of what was asked for. */
export const orNoSuch = <T>(work: Promise<T>): Promise<T | undefined> => orUndefined(work, 'NotFoundError', 'TypeMismatchError')

async function orUndefined<T>(work: Promise<T>, ...names: string[]): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (names.includes(nameOf(error))) return undefined
    throw error
  }
}

/** An error of the browser as one of ours. */
export function failed(file: string, what: 'read' | 'written', cause: unknown): HyperslabError {
  if (isHyperslabError(cause)) return cause.within({ file })
  const reason = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)
  const text = `cannot be ${what}: ${reason}`
  // Of a name; what else would be a mistake of ours.
  if (cause instanceof TypeError) return new HyperslabError('InvalidArgumentError', text, { file, cause })
  const readOnly = what === 'written' && nameOf(cause) === 'NotAllowedError'
  return new HyperslabError(readOnly ? 'ReadOnlyError' : 'StoreError', text, { file, cause })
}

/** Replaces the contents of a file with `parts`, one after the other, all or nothing. */
export async function writeHandle(handle: FileHandleLike, parts: Iterable<unknown> | AsyncIterable<unknown>): Promise<void> {
  if (handle.createWritable === undefined)
    throw new HyperslabError('UnsupportedError', 'this browser cannot write files: its handles have no createWritable')
  const stream = await handle.createWritable()
  try {
    for await (const part of parts) await stream.write(part)
    await stream.close()
  } catch (error) {
    // After a failed write the stream is beyond aborting, too.
    await stream.abort().catch(() => undefined)
    throw error
  }
}

/** The part of a `Blob` that is used; a `File` has a name and a date, too. */
export interface BlobLike {
  readonly size: number
  readonly name?: string
  /** In ms. */
  readonly lastModified?: number
  slice(start: number, end: number): { arrayBuffer(): Promise<ArrayBuffer> }
  arrayBuffer(): Promise<ArrayBuffer>
}

export const isBlob = (value: object): value is BlobLike =>
  'size' in value && 'slice' in value && 'arrayBuffer' in value && Number.isSafeInteger(value.size)

export const isAsyncBuffer = (value: object): value is AsyncBuffer =>
  'byteLength' in value && 'slice' in value && Number.isSafeInteger(value.byteLength) && typeof value.slice === 'function'

/** The key of a single file: that of a container ends in `.af`. */
export const keyFor = (name: string): string => (name.endsWith('.af') && name !== '.af' ? name : `${name}.af`)
