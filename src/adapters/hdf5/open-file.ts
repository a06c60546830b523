import type { ScalarMode } from '../../array/source.ts'
import type { Codec } from '../../codec/codec.ts'
import type { MemoryBudget } from '../../core/memory-budget.ts'
import type { Signal } from '../../core/signal.ts'
import { type BlockMemory, createMemory } from '../../engine/block-cache.ts'
import { StoredFile } from '../../engine/stored-file.ts'
import { StridedReader } from '../../engine/strided-reader.ts'
import type { WorkerPool } from '../../pool/task.ts'
import type { ObjectStart, StoredAt } from '../../store/store.ts'
import { refuse } from './cursor.ts'
import { Dimensions } from './dimensions.ts'
import type { TypeOptions } from './elements/plan.ts'
import { FileBytes } from './file-bytes.ts'
import { findMessage, MESSAGE, type ObjectHeader, readObjectHeader } from './object-header.ts'
import { Objects } from './objects.ts'
import { readSuperblock, type Superblock } from './superblock.ts'
import { HDF5_WINDOWS } from './windows.ts'

/** Cache for decoded chunks that may be read again, in bytes. */
const BLOCK_BYTES = 64 * 1024 * 1024
/** Structures end behind the page that they begin in, and lie near the next ones. */
const PAGES = { pageBytes: 8 * 1024, smallBytes: 1024 * 1024, withNeighbours: true }

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
  readonly stored: StoredFile
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
    const options = { ...first.options, memory: first.memory, signal: first.stored.ended }
    return OpenFile.#open(place, { options, limits: first.limits, others: first.others, first }, start)
  }

  static async #open(place: StoredAt, { options, limits, ...relations }: Settings, start?: ObjectStart): Promise<OpenFile> {
    const { headBytes = HDF5_WINDOWS.start, signal } = options
    const first = relations.first?.stored
    const windows = { startBytes: headBytes, tailBytes: HDF5_WINDOWS.tail }
    const stored = await StoredFile.open(place, { format: 'hdf5', ...windows, ...PAGES, start, first, signal })
    const bytes = new FileBytes(stored.pages)
    const superblock = await readSuperblock(bytes)
    const extension = superblock.extension === undefined ? undefined : await readExtension(bytes, superblock.extension)
    return new OpenFile({ stored, options, limits, ...relations, bytes, superblock, extension })
  }

  private constructor({ stored, options, limits, others, first, bytes, superblock, extension }: OpenedParts) {
    this.stored = stored
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
  }

  get name(): string {
    return this.stored.name
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

  /** @throws ClosedError */
  checkOpen(): void {
    this.stored.checkOpen()
  }

  async close(): Promise<void> {
    await Promise.all([this.stored.close(), this.others?.close()])
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
  readonly stored: StoredFile
  readonly bytes: FileBytes
  readonly superblock: Superblock
  readonly extension: ObjectHeader | undefined
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
