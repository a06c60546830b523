import { type FileHandle, open as openFile } from 'node:fs/promises'
import { type NetcdfFile, openNetcdf } from '../adapters/netcdf/index.js'
import type { ArrayFile } from '../af/file.js'
import type { DiskArray } from '../array/disk-array.js'
import { bytesOf } from '../array/source.js'
import type { Progress } from '../array/transfers.js'
import type { AsyncBuffer } from '../core/async-buffer.js'
import { HyperslabError } from '../core/errors.js'
import type { Signal } from '../core/signal.js'
import { ChunkGrid } from '../grid/chunks.js'
import { create } from '../runtime/index.js'
import { Place } from './place.js'

export interface ImportOptions {
  /** Codec of the blocks: `'lz4'` (the default), `'zstd'` or `'none'`. */
  readonly codec?: string
  /** How hard `'zstd'` tries, 1 to 22; 3 by default. */
  readonly level?: number
  /** Size that chunks should have; 128 KiB by default. */
  readonly chunkBytes?: number
  /** Size of blocks before compression, the least that is fetched to read a point; 256 KiB by default. */
  readonly blockBytes?: number
  /** Replace a container that exists instead of refusing. */
  readonly overwrite?: boolean
  readonly signal?: Signal
  /** Told after every chunk of the copy. */
  readonly onProgress?: (progress: Progress) => void
}

export interface Imported {
  readonly arrays: number
  /** Size of the NetCDF file, and of the container. */
  readonly sourceBytes: number
  readonly bytes: number
}

export const DEFAULT_CHUNK_BYTES = 128 * 1024
export const DEFAULT_BLOCK_BYTES = 256 * 1024

/**
 * Copies a NetCDF file into a container of a single file. The container appears when it is finished; after an error there is nothing new, and
 * what was there before is untouched.
 * @throws AlreadyExistsError unless `overwrite` is set; NotFoundError; FormatError and UnsupportedError for what is not classic NetCDF
 */
export async function importNetcdf(input: string, output: string, options: ImportOptions = {}): Promise<Imported> {
  const { overwrite = false } = options
  const place = new Place(output)
  await place.check(overwrite)
  const source = await openSource(input)
  try {
    const netcdf = await openNetcdf(source, { name: input, signal: options.signal })
    const bytes = await write(netcdf, place.temporary, options)
    options.signal?.throwIfAborted()
    await place.publish(overwrite)
    return { arrays: netcdf.variables.length, sourceBytes: source.byteLength, bytes }
  } catch (error) {
    throw place.named(error)
  } finally {
    await source.close()
    await place.discard()
  }
}

/** @returns the size of the container */
async function write(netcdf: NetcdfFile, path: string, options: ImportOptions): Promise<number> {
  const { codec = 'lz4', level, chunkBytes = DEFAULT_CHUNK_BYTES, blockBytes = DEFAULT_BLOCK_BYTES, signal, onProgress } = options
  await using file = await create(path, { codec, blockBytes, ...(level === undefined ? {} : { level }) })
  for (const [name, attribute] of netcdf.attributes) file.attrs.set(name, attribute)
  const copies = netcdf.variables.map(({ name, array, attributes }) => {
    const copy = defineLike(file, name, array, chunkBytes)
    for (const [key, attribute] of attributes) copy.attrs.set(key, attribute)
    return { from: array, to: copy }
  })
  const total = copies.reduce((sum, { to }) => sum + to.chunks.count, 0)
  let before = 0
  for (const { from, to } of copies) {
    await to.assign(from, { signal, onProgress: ({ done }) => onProgress?.({ done: before + done, total }) })
    before += to.chunks.count
  }
  await file.flush()
  await file.compact()
  return file.layers().reduce((sum, { bytes }) => sum + bytes, 0)
}

function defineLike(file: ArrayFile, name: string, { dtype, shape, dimensionNames, fillValue }: DiskArray, chunkBytes: number) {
  return file.define(name, {
    dtype,
    shape,
    chunkShape: ChunkGrid.estimate(shape, bytesOf(dtype), chunkBytes).chunkShape,
    ...(dimensionNames && { dimensionNames }),
    ...(fillValue !== undefined && { fillValue }),
  })
}

/** A file on disk, read where it is asked for. */
async function openSource(path: string): Promise<AsyncBuffer & { close(): Promise<void> }> {
  const handle = await openFile(path, 'r').catch((cause: NodeJS.ErrnoException) => {
    const [tag, why] =
      cause.code === 'ENOENT' ? (['NotFoundError', 'there is no such file'] as const) : (['StoreError', cause.message] as const)
    throw new HyperslabError(tag, why, { file: path, cause })
  })
  const stats = await handle.stat()
  if (!stats.isFile()) {
    await handle.close()
    throw new HyperslabError('FormatError', 'not a regular file', { file: path })
  }
  return {
    byteLength: stats.size,
    slice: (start, end) => readFully(handle, start, end, path),
    close: () => handle.close(),
  }
}

async function readFully(handle: FileHandle, start: number, end: number, file: string): Promise<Uint8Array> {
  const bytes = new Uint8Array(end - start)
  for (let done = 0; done < bytes.length; ) {
    const { bytesRead } = await handle.read(bytes, done, bytes.length - done, start + done)
    if (bytesRead === 0)
      throw new HyperslabError('FormatError', `the file ends at byte ${start + done}, before byte ${end}`, { file })
    done += bytesRead
  }
  return bytes
}
