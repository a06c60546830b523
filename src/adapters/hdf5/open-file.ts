import type { Origins, ScalarMode } from '../../array/source.ts'
import type { Codec } from '../../codec/codec.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { MemoryBudget } from '../../core/memory-budget.ts'
import { newController, type Signal } from '../../core/signal.ts'
import type { BlockOrigin } from '../../engine/block.ts'
import { type BlockMemory, createMemory } from '../../engine/block-cache.ts'
import { StridedReader } from '../../engine/strided-reader.ts'
import type { WorkerPool } from '../../pool/task.ts'
import { type ByteRange, type ObjectStart, readStart, type Store, type StoredAt } from '../../store/store.ts'
import { refuse } from './cursor.ts'
import { Dimensions } from './dimensions.ts'
import type { TypeOptions } from './elements/plan.ts'
import { FileBytes } from './file-bytes.ts'
import { findMessage, MESSAGE, type ObjectHeader, readObjectHeader } from './object-header.ts'
import { Objects } from './objects.ts'
import { readSuperblock, type Superblock } from './superblock.ts'
import { WINDOWS } from './windows.ts'

/** Cache for decoded chunks that may be read again, in bytes. */
const BLOCK_BYTES = 64 * 1024 * 1024

/** Options shared by all arrays of a file. */
export interface Hdf5FileOptions extends TypeOptions {
  readonly pool?: WorkerPool | undefined
  readonly budget?: MemoryBudget | undefined
  readonly scalar?: ScalarMode | undefined
  readonly headBytes?: number | undefined
  readonly codecs?: readonly Codec[] | undefined
  readonly memory?: BlockMemory | undefined
  readonly signal?: Signal | undefined
}

/** Limits of what a file may make reads do. */
export interface FileLimits {
  readonly blockBytes: number
  readonly elements: number
}

/** Folder of the files that may be followed. Its store refuses what leads out of it. */
export interface FollowedFolder extends StoredAt {
  /** Whether it is the folder of the file, in the file's own store. */
  readonly isOwn: boolean
}

/** Other files that links, external raw data and virtual arrays lead to. */
export interface OtherFiles {
  /**
   * Returns the place of a file.
   * @param from file that contains the name
   * @param what start of a message, which says what leads to the file
   * @throws UnsupportedError for a name that is not followed
   */
  find(name: string, from: OpenFile, what: string): StoredAt
  /**
   * Opens a file.
   * @returns undefined if the store reports that there is no such file
   * @throws as `find`, and errors of opening the file
   */
  open(name: string, from: OpenFile, what: string): Promise<OpenFile | undefined>
  close(): Promise<void>
}

/** An open HDF5 file. */
export class OpenFile {
  readonly name: string
  readonly path: string
  /** File that was opened first, which led here. */
  readonly first: OpenFile
  readonly others: OtherFiles | undefined
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
  readonly #etag: string
  readonly #controller: ReturnType<typeof newController>

  /**
   * Opens a file of a store, which it closes with the file.
   * @param start first bytes of the file, if they are known
   * @param others files that it may lead to. Optional: it leads to no other files then
   */
  static open(
    { store, path }: StoredAt,
    options: Hdf5FileOptions,
    limits: FileLimits,
    start?: ObjectStart,
    others?: OtherFiles,
  ): Promise<OpenFile> {
    return OpenFile.#open({ store, path }, { options, limits, others }, start)
  }

  /** Opens a file that another one leads to. They are closed together. */
  static openBeside({ first }: OpenFile, place: StoredAt, start: ObjectStart): Promise<OpenFile> {
    const options = { ...first.options, memory: first.memory, signal: first.ended }
    return OpenFile.#open(place, { options, limits: first.limits, others: first.others, first }, start)
  }

  static async #open(
    { store, path }: StoredAt,
    { options, limits, ...relations }: Settings,
    known?: ObjectStart,
  ): Promise<OpenFile> {
    const { headBytes = WINDOWS.start, signal } = options
    const start = known ?? (await readStart(store, path, headBytes, { tailBytes: WINDOWS.tail, signal })) ?? missing(store, path)
    const { etag } = start
    const open = relations.first === undefined ? newController() : relations.first.#controller
    const bytes = new FileBytes(start, async (offset, length) => {
      return (await store.getRange(path, offset, length, { ifMatch: etag, signal: open.signal })) ?? missing(store, path)
    })
    const superblock = await readSuperblock(bytes)
    const extension = superblock.extension === undefined ? undefined : await readExtension(bytes, superblock.extension)
    return new OpenFile({ store, path, etag, options, limits, ...relations, bytes, superblock, extension, open })
  }

  private constructor({ store, path, etag, options, limits, others, first, bytes, superblock, extension, open }: OpenedParts) {
    this.name = store.describe(path)
    this.path = path
    this.first = first ?? this
    this.others = others
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
    this.#etag = etag
    this.#controller = open
  }

  /**
   * Returns the bytes of the file, for one array.
   * @param part name of the array within the file, for caches
   */
  createOrigin(part: string): BlockOrigin {
    const { path } = this
    const [store, etag] = [this.#store, this.#etag]
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
        const held = await this.#held([{ offset, length }])
        if (held !== undefined) return held[0]!
        const range = { ...options, signal: signal ?? this.#controller.signal, into }
        return (await store.getRange(path, offset, length, range)) ?? missing(store, path)
      },
      readMany:
        store.getRanges &&
        (async (ranges, signal) => {
          this.checkOpen()
          const held = await this.#held(ranges)
          if (held !== undefined) return held
          const found = await store.getRanges!(path, ranges, { ...options, signal: signal ?? this.#controller.signal })
          return found ?? missing(store, path)
        }),
    }
  }

  /** Aborted when the file is closed. */
  get ended(): Signal {
    return this.#controller.signal
  }

  /**
   * Opens a file that this one leads to.
   * @returns undefined if the store reports that there is no such file
   * @param what start of a message, which says what leads to the file
   * @throws UnsupportedError for a file that is not followed
   */
  async openOther(name: string, what: string): Promise<OpenFile | undefined> {
    return checkOthers(this, name, what).open(name, this, what)
  }

  /** Returns copies of ranges that need no request of their own; undefined if one of them does. */
  async #held(ranges: readonly ByteRange[]): Promise<Uint8Array[] | undefined> {
    // Reading local files costs no round trip, and can reuse memory.
    if (this.#store.files !== undefined) return undefined
    const held = ranges.map(({ offset, length }) => this.bytes.held(offset, length))
    if (!held.every((each) => each !== undefined)) return undefined
    return (await Promise.all(held)).map((each) => each!.slice())
  }

  /** @throws ClosedError */
  checkOpen(): void {
    if (this.#controller.signal.aborted) throw new HyperslabError('ClosedError', 'the file was closed', { file: this.name })
  }

  async close(): Promise<void> {
    this.#controller.abort(new HyperslabError('ClosedError', 'the file was closed', { file: this.name }))
    await Promise.all([this.#store.close?.(), this.others?.close()])
  }
}

/**
 * Returns the files that a file may lead to.
 * @throws UnsupportedError without the option
 */
export function checkOthers({ others }: OpenFile, name: string, what: string): OtherFiles {
  return others ?? refuse(`${what}, which is followed only with the option \`external\``, name)
}

interface Settings {
  readonly options: Hdf5FileOptions
  readonly limits: FileLimits
  readonly others?: OtherFiles | undefined
  /** File that led to this one. */
  readonly first?: OpenFile | undefined
}

interface OpenedParts extends Settings {
  readonly store: Store
  readonly path: string
  readonly etag: string
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
