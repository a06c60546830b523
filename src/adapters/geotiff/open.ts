/// <reference lib="esnext.disposable" preserve="true" />
import { SCALAR_CHECKS, type ScalarOptions } from '../../array/source.ts'
import type { Codec } from '../../codec/codec.ts'
import { codecsByName } from '../../codec/registry.ts'
import { HyperslabError, within } from '../../core/errors.ts'
import { counted, Printable } from '../../core/inspect.ts'
import type { MemoryBudget } from '../../core/memory-budget.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import type { Signal } from '../../core/signal.ts'
import { type BlockCache, createMemory } from '../../engine/block-cache.ts'
import { READ_LIMIT_CHECKS, READ_LIMITS } from '../../engine/limits.ts'
import { StoredFile } from '../../engine/stored-file.ts'
import { StridedReader } from '../../engine/strided-reader.ts'
import type { WorkerPool } from '../../pool/task.ts'
import type { ObjectStart, StoredAt } from '../../store/store.ts'
import { GeotiffImage } from './image.ts'
import { readImages } from './images.ts'
import { TiffBytes } from './tiff-bytes.ts'
import { TIFF_WINDOWS } from './windows.ts'

/** Tables of tiles are read in parts, so pages are small. */
const PAGES = { pageBytes: 4096, smallBytes: 128 * 1024, withNeighbours: false }
/** Cache for decoded tiles that may be read again, in bytes. */
const BLOCK_BYTES = 64 * 1024 * 1024

/**
 * Limits of the resources that a file can request. Larger requests are rejected before anything is
 * allocated.
 */
export interface GeotiffLimits {
  /** Bytes of a tile, stored and decoded. Decoding takes several times as much memory. Default: 1 GiB. */
  readonly blockBytes?: number
  /** Elements that one operation may visit. Default: 2^40. */
  readonly elements?: number
}

/** Options of `openGeotiff`. Aborting `signal` cancels the opening. */
export interface OpenGeotiffOptions extends ScalarOptions {
  /**
   * Codecs of your own, by the names of compressions: `jpeg`, `webp`, `lerc`. They take precedence. `decode`
   * receives a stored tile: a JPEG stream with its tables, the bytes of LERC without a compression around
   * them. It returns the samples pixel by pixel, little-endian.
   */
  readonly codecs?: readonly Codec[] | undefined
  /** Whether samples of 1 bit are booleans. Default: they are `uint8`, 0 or 1. */
  readonly bool?: boolean | undefined
  /** Workers that decode and reduce, from `createPool`. Default: the calling thread does all work. */
  readonly pool?: WorkerPool | undefined
  /** Limit of the memory that reads take at once, shared by all that have this budget. */
  readonly budget?: MemoryBudget | undefined
  /** Cache of fetched and decoded blocks, shared with other files. */
  readonly cache?: BlockCache | undefined
  /** Limits of the resources that the file can request. */
  readonly limits?: GeotiffLimits | undefined
  /** Cancels the call when it is aborted. */
  readonly signal?: Signal | undefined
}

export const GEOTIFF_CHECKS: Checks<OpenGeotiffOptions> = {
  ...SCALAR_CHECKS,
  codecs: 'list',
  bool: 'boolean',
  pool: 'WorkerPool',
  budget: 'MemoryBudget',
  cache: 'BlockCache',
  limits: 'object',
  signal: 'AbortSignal',
}

/** An open TIFF file, with its `images`. */
export class GeotiffFile extends Printable implements AsyncDisposable {
  /** Images in the order of the file. Reduced versions and masks belong to their image. */
  readonly images: readonly GeotiffImage[]
  readonly #stored: StoredFile

  /** @internal */
  constructor(stored: StoredFile, images: readonly GeotiffImage[]) {
    super()
    this.#stored = stored
    this.images = images
  }

  /**
   * Returns an image by its position from 0.
   * @throws UnknownArrayError
   */
  image(position: number): GeotiffImage {
    const found = this.images[position]
    if (found !== undefined) return found
    const text = `there is no image ${position}; the file has ${counted(this.images.length, 'image')}, numbered from 0`
    throw new HyperslabError('UnknownArrayError', text, {
      file: this.#stored.name,
      actual: position,
      expected: this.images.length,
    })
  }

  /** Returns the name and the contents: `GeotiffFile { 'cog.tif', 1 image }`. */
  override toString(): string {
    return `GeotiffFile { '${this.#stored.name}', ${counted(this.images.length, 'image')} }`
  }

  /** Releases all handles. Later reads throw a ClosedError. */
  close(): Promise<void> {
    return this.#stored.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** Opens a file of a store, which it closes with the file, and after an error. */
export async function openGeotiffFile(place: StoredAt, options: OpenGeotiffOptions, start?: ObjectStart): Promise<GeotiffFile> {
  const { store, path } = place
  try {
    const { limits = {}, cache, codecs = [], bool = false, pool, budget, scalar, signal } = options
    checkOptions('limits', limits, READ_LIMIT_CHECKS)
    codecsByName(codecs)
    return await within({ file: store.describe(path) }, async () => {
      const windows = { startBytes: TIFF_WINDOWS.start, tailBytes: TIFF_WINDOWS.tail }
      const stored = await StoredFile.open(place, { format: 'geotiff', ...windows, ...PAGES, start, signal })
      const bytes = await TiffBytes.open(stored.pages)
      const file = {
        name: stored.name,
        stored,
        bytes,
        strided: new StridedReader(pool, budget),
        memory: cache ?? createMemory(BLOCK_BYTES),
        limits: { ...READ_LIMITS, ...limits },
        options: { pool, budget, scalar, codecs, bool },
      }
      const images = (await readImages(bytes)).map((headers, i) => GeotiffImage.from(file, `image ${i}`, headers))
      return new GeotiffFile(stored, images)
    })
  } catch (error) {
    await store.close?.()
    throw error
  }
}
