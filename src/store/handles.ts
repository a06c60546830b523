import type { AsyncBuffer } from '../core/async-buffer.ts'

/** The part of a `FileSystemFileHandle` that is used. */
export interface FileHandleLike {
  readonly kind: 'file'
  readonly name: string
  /** Returns a snapshot of the file. It can no longer be read after the file has changed. */
  getFile(): Promise<Snapshot>
  /** Opens a stream. Closing it replaces the file with the written bytes. */
  createWritable?(): Promise<WritableLike>
  /** Moves the file, replacing any file of that name. */
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

/** The part of a `Blob` that is used. A `File` also has a name and a date. */
export interface BlobLike {
  readonly size: number
  readonly name?: string
  /** Time of the last change, in ms since 1970. */
  readonly lastModified?: number
  slice(start: number, end: number): { arrayBuffer(): Promise<ArrayBuffer> }
  arrayBuffer(): Promise<ArrayBuffer>
}

/** A `File`. */
export type Snapshot = BlobLike & { readonly lastModified: number }

export const isBlob = (value: object): value is BlobLike =>
  'size' in value && 'slice' in value && 'arrayBuffer' in value && Number.isSafeInteger(value.size)

export const isAsyncBuffer = (value: object): value is AsyncBuffer =>
  'byteLength' in value && 'slice' in value && Number.isSafeInteger(value.byteLength) && typeof value.slice === 'function'
