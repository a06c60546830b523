import { ArrayFile } from '../af/file.ts'
import type { CreateOptions } from '../af/layers/file-options.ts'
import { Paths } from '../af/layers/paths.ts'
import { withDefaults } from '../af/settings.ts'
import type { ContainerFiles } from '../af/write/container-files.ts'
import { checkFree, checkName, orAlreadyThere } from '../af/write/create.ts'
import { checkAlone } from '../af/write/immutable.ts'
import { type ContainerPart, isPublishedAs, partOf, publishParts } from '../af/write/parts.ts'
import { checkCopy } from '../array/iteration.ts'
import { copyRegion } from '../array/lazy/rechunk-to.ts'
import { bytesOf } from '../array/source.ts'
import { within } from '../core/errors.ts'
import { sha256 } from '../core/sha256.ts'
import type { Signal } from '../core/signal.ts'
import { planRechunk, type RechunkPlan, type RechunkRequest, type RechunkTraffic, trafficOf } from '../grid/rechunk-plan.ts'
import { MemoryStore } from '../store/memory.ts'
import { readWhole, type Stage, type Store } from '../store/store.ts'
import { type Location, resolveLocation } from '../tree/location.ts'
import type { ZarrExport } from './export-zarr.ts'
import {
  type ArrayCopy,
  checkChunks,
  DEFAULT_BLOCK_BYTES,
  defineCopies,
  FILE_ARRAY,
  type ImportOptions,
  importOf,
} from './import-arrays.ts'

/** Chunks, blocks, codec and footer version of a container that is written in parts. */
export interface ContainerPartsOptions extends Pick<ImportOptions, 'codec' | 'level' | 'chunks' | 'blockBytes' | 'immutable'> {}

/** Number of digits in the identity of a container. */
const ID_LENGTH = 32
const DRAFT = 'draft.af'

/** An array to be written, with its name. */
interface WrittenArray extends ArrayCopy {
  readonly name: string
  /** Array that is read: another name for `from`, as in parts of Zarr. */
  readonly array: ArrayCopy['from']
  readonly heldTimes: number
}

/**
 * A container whose blocks are packed region by region, by independent processes. One of them publishes it
 * when all regions are packed; before that, the file does not exist.
 */
export class ContainerParts implements AsyncDisposable {
  readonly arrays: readonly WrittenArray[]
  readonly store: Store
  /** Key of the container in its store. */
  readonly path: string
  readonly #settings: CreateOptions
  readonly #draft: ArrayFile
  readonly #files: ContainerFiles
  readonly #immutable: boolean

  private constructor(
    arrays: readonly WrittenArray[],
    draft: ArrayFile,
    files: ContainerFiles,
    settings: CreateOptions,
    immutable: boolean,
  ) {
    this.arrays = arrays
    this.store = files.store
    this.path = files.paths.base
    this.#draft = draft
    this.#files = files
    this.#settings = settings
    this.#immutable = immutable
  }

  /**
   * @param given content of the target, the same in all processes
   * @throws InvalidArgumentError for invalid options and names
   */
  static async open(target: Location, given: ZarrExport, options: ContainerPartsOptions): Promise<ContainerParts> {
    const { store, path } = await resolveLocation(target)
    return within({ file: store.describe(path) }, async () => {
      const paths = new Paths(path)
      checkName(paths)
      const source = importOf(given)
      checkChunks('copy', source, options)
      const { codec, level, blockBytes = DEFAULT_BLOCK_BYTES, chunks, immutable = false } = options
      const settings: CreateOptions = { blockBytes, ...(codec !== undefined && { codec }), ...(level !== undefined && { level }) }
      const draft = await ArrayFile.create(new MemoryStore(), DRAFT, settings)
      const { copies } = defineCopies(draft, source, chunks === undefined ? {} : { chunks })
      const arrays = copies.map((copy, i) => {
        const { name, heldTimes = 1 } = given.arrays[i]!
        return { ...copy, name, array: copy.from, heldTimes }
      })
      const files = { store, paths, options: await withDefaults(settings) }
      return new ContainerParts(arrays, draft, files, settings, immutable)
    })
  }

  /** Maximum number of regions of all arrays together; undefined if the store has no limit. */
  get mostRegions(): number | undefined {
    // The highest part number is that of the footer.
    return this.store.sharedUploads && this.store.sharedUploads.maxParts - 1
  }

  /** Returns a hash of the definitions and attributes. */
  metadataHash(): Promise<string> {
    const plain = (_: string, value: unknown): unknown =>
      ArrayBuffer.isView(value)
        ? [value.constructor.name, ...Array.from(value as Float64Array, String)]
        : typeof value === 'bigint' || (typeof value === 'number' && !Number.isFinite(value))
          ? `${typeof value} ${value}`
          : value
    const own = this.arrays.map(({ name, defined, to }) => [name, defined, [...to.attrs]])
    return sha256(JSON.stringify([this.#settings, [...this.#draft.attrs], own], plain))
  }

  /**
   * Divides an array into the regions to be copied.
   * @param maxBytes limit of the elements held in memory while a region is copied
   */
  plan(name: string, maxBytes: number): RechunkPlan {
    return planRechunk({ ...this.#copied(name), maxBytes: maxBytes / this.#array(name).heldTimes, mostPasses: 1 })
  }

  /** Returns 0, because no array is computed from another one. */
  depth(): number {
    return 0
  }

  /** Returns the requests and bytes for copying an array by these regions. */
  traffic(name: string, plan: RechunkPlan): RechunkTraffic {
    return trafficOf(plan, this.#copied(name))
  }

  /**
   * Whether the container is published already.
   * @param id id of the write
   * @throws AlreadyExistsError if another container or a sidecar exists; for footer version 6, also if
   *   statistics of a container exist
   */
  async isPublished(id: string): Promise<boolean> {
    return within({ file: this.store.describe(this.path) }, async () => {
      if (await isPublishedAs(this.#files, identityOf(id))) return true
      if (this.#immutable) await checkAlone(this.#files)
      await checkFree(this.store, this.#files.paths)
      return false
    })
  }

  /** Packs a region of an array. */
  async pack(
    name: string,
    { write }: RechunkPlan,
    number: number,
    signal: Signal | undefined,
  ): Promise<{ readonly part: ContainerPart; readonly bytes: Uint8Array }> {
    const { from, defined } = this.#array(name)
    const store = new MemoryStore()
    await using file = await ArrayFile.create(store, DRAFT, this.#settings)
    const to = file.define(name, defined)
    checkCopy(from.source, to.source)
    await within(from.source.label ?? {}, () => copyRegion(from.source, to.source, write, number, signal))
    await file.flush()
    const part = await partOf(to.state, this.#immutable ? file.stored.blocks : undefined)
    const { bytes } = (await readWhole(store, DRAFT))!
    return { part, bytes: bytes.subarray(0, part.bytes) }
  }

  /**
   * Publishes the container, which does not exist yet. Its parts lie in the stage in this order.
   * @throws AlreadyExistsError if another writer has published a container there; errors of {@link
   *   isPublished}
   */
  async publish(id: string, parts: readonly ContainerPart[], stage: Pick<Stage, 'publish'>): Promise<void> {
    const { store, paths } = this.#files
    await within({ file: store.describe(paths.base) }, async () => {
      if (this.#immutable) await checkAlone(this.#files)
      // Left over from an earlier container of this name.
      else await store.delete!(paths.stats)
      const names = this.#draft.arrays()
      if (this.#draft.attrs.size > 0 && !names.includes(FILE_ARRAY)) names.unshift(FILE_ARRAY)
      const states = names.map((name) => this.#draft.array(name).state)
      await orAlreadyThere(() =>
        publishParts(this.#files, { states, parts, stage, id: identityOf(id), immutable: this.#immutable }),
      )
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#draft.close()
    await this.store.close?.()
  }

  #copied(name: string): Pick<RechunkRequest, 'from' | 'to' | 'elementBytes'> {
    const { from, to } = this.#array(name)
    return { from: from.chunks, to: to.chunks, elementBytes: bytesOf(from.dtype) }
  }

  #array(name: string): WrittenArray {
    return this.arrays.find((each) => each.name === name)!
  }
}

const identityOf = (id: string): string => id.slice(0, ID_LENGTH)
