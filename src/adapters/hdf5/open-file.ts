import type { Origins, ScalarMode } from '../../array/source.ts'
import type { Codec } from '../../codec/codec.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { MemoryBudget } from '../../core/memory-budget.ts'
import { newController, type Signal } from '../../core/signal.ts'
import type { BlockOrigin } from '../../engine/block.ts'
import { type BlockMemory, createMemory } from '../../engine/block-cache.ts'
import { StridedReader } from '../../engine/strided-reader.ts'
import type { WorkerPool } from '../../pool/task.ts'
import type { ObjectTail, Store } from '../../store/store.ts'
import { refuse } from './cursor.ts'
import { Dimensions } from './dimensions.ts'
import type { TypeOptions } from './elements/plan.ts'
import { FileBytes } from './file-bytes.ts'
import { findMessage, MESSAGE, type ObjectHeader, readObjectHeader } from './object-header.ts'
import { Objects } from './objects.ts'
import { readSuperblock, type Superblock } from './superblock.ts'

/** Bytes of the first request. */
const HEAD_BYTES = 128 * 1024
/** Files up to this size are read at once. */
const SMALL_BYTES = 1024 * 1024
/** Cache for decoded chunks that may be read again, in bytes. */
const BLOCK_BYTES = 64 * 1024 * 1024

/** Options shared by all arrays of a file. */
export interface Hdf5FileOptions extends TypeOptions {
  readonly pool?: WorkerPool | undefined
  readonly budget?: MemoryBudget | undefined
  readonly scalar?: ScalarMode | undefined
  readonly codecs?: readonly Codec[] | undefined
  readonly memory?: BlockMemory | undefined
  readonly signal?: Signal | undefined
}

/** Limits of what a file may make reads do. */
export interface FileLimits {
  readonly blockBytes: number
  readonly elements: number
}

/** An open HDF5 file. */
export class OpenFile {
  readonly name: string
  readonly options: Hdf5FileOptions
  readonly limits: FileLimits
  readonly bytes: FileBytes
  readonly objects: Objects
  readonly dimensions: Dimensions
  readonly superblock: Superblock
  readonly strided: StridedReader
  readonly memory: BlockMemory
  readonly origins: Origins
  readonly #store: Store
  readonly #path: string
  readonly #etag: string
  readonly #open = newController()

  /**
   * Opens a file of a store, which it closes with the file.
   * @param start first bytes of the file, if they are known
   */
  static async open(
    store: Store,
    path: string,
    options: Hdf5FileOptions,
    limits: FileLimits,
    start?: ObjectTail,
  ): Promise<OpenFile> {
    const info = start ?? (await store.stat(path, { signal: options.signal })) ?? missing(store, path)
    const wanted = info.size <= SMALL_BYTES ? info.size : HEAD_BYTES
    const known = start !== undefined && start.bytes.length >= Math.min(wanted, 64 * 1024) ? start.bytes : undefined
    const head =
      known !== undefined && (known.length >= wanted || info.size > SMALL_BYTES)
        ? known
        : ((await store.getRange(path, 0, wanted, { ifMatch: info.etag, signal: options.signal })) ?? missing(store, path))
    const open = newController()
    const bytes = new FileBytes(info.size, head, async (offset, length) => {
      return (await store.getRange(path, offset, length, { ifMatch: info.etag, signal: open.signal })) ?? missing(store, path)
    })
    const superblock = await readSuperblock(bytes)
    const extension = superblock.extension === undefined ? undefined : await readExtension(bytes, superblock.extension)
    return new OpenFile({ store, path, etag: info.etag, options, limits, bytes, superblock, extension, open })
  }

  private constructor({ store, path, etag, options, limits, bytes, superblock, extension, open }: OpenedParts) {
    this.name = store.describe(path)
    this.options = options
    this.limits = limits
    this.bytes = bytes
    this.superblock = superblock
    this.objects = new Objects(bytes, superblock.root, extension)
    this.dimensions = new Dimensions(this.objects, superblock.root)
    this.strided = new StridedReader(options.pool, options.budget)
    this.memory = options.memory ?? createMemory(BLOCK_BYTES)
    this.origins = { place: { store, path } }
    this.#store = store
    this.#path = path
    this.#etag = etag
    this.#open = open
  }

  /**
   * Returns the bytes of the file, for one array.
   * @param part name of the array within the file, for caches
   */
  createOrigin(part: string): BlockOrigin {
    const [store, path, etag] = [this.#store, this.#path, this.#etag]
    const options = { ifMatch: etag }
    const identity = store.identify?.(path, etag)
    const name = `hdf5 ${this.name} ${etag}${part}`
    return {
      file: this.name,
      version: name,
      ...(identity !== undefined && { cacheKey: `hdf5 ${identity}${part}` }),
      local: store.files?.localPath && { path: store.files.localPath(path), etag },
      recycle: store.files?.recycle,
      read: async (offset, length, signal, into) => {
        this.checkOpen()
        const range = { ...options, signal: signal ?? this.#open.signal, into }
        return (await store.getRange(path, offset, length, range)) ?? missing(store, path)
      },
      readMany:
        store.getRanges &&
        (async (ranges, signal) => {
          this.checkOpen()
          const found = await store.getRanges!(path, ranges, { ...options, signal: signal ?? this.#open.signal })
          return found ?? missing(store, path)
        }),
    }
  }

  /** @throws ClosedError */
  checkOpen(): void {
    if (this.#open.signal.aborted) throw new HyperslabError('ClosedError', 'the file was closed', { file: this.name })
  }

  async close(): Promise<void> {
    this.#open.abort(new HyperslabError('ClosedError', 'the file was closed', { file: this.name }))
    await this.#store.close?.()
  }
}

interface OpenedParts {
  readonly store: Store
  readonly path: string
  readonly etag: string
  readonly options: Hdf5FileOptions
  readonly limits: FileLimits
  readonly bytes: FileBytes
  readonly superblock: Superblock
  readonly extension: ObjectHeader | undefined
  readonly open: ReturnType<typeof newController>
}

/** @throws UnsupportedError if the metadata of the file are elsewhere */
async function readExtension(bytes: FileBytes, address: number): Promise<ObjectHeader> {
  const header = await readObjectHeader(bytes, address)
  if (findMessage(header, MESSAGE.driver) !== undefined)
    refuse('the file is a part of several (family, split or multi files), which are not read here; join them with h5repack')
  if (findMessage(header, MESSAGE.cacheImage) !== undefined)
    refuse('the file has an image of the metadata cache, which replaces its metadata and is not read here; copy it with h5repack')
  return header
}

function missing(store: Store, path: string): never {
  throw new HyperslabError('NotFoundError', 'there is no such file', { file: store.describe(path) })
}
