import { ArrayFile } from '../af/file.ts'
import type { CreateOptions } from '../af/layers/file-options.ts'
import { Paths } from '../af/layers/paths.ts'
import { withDefaults } from '../af/settings.ts'
import type { ContainerFiles } from '../af/write/container-files.ts'
import { checkFree, orAlreadyThere } from '../af/write/create.ts'
import { checkAlone } from '../af/write/immutable.ts'
import { checkNewName, removeStats } from '../af/write/occupied.ts'
import { isPublishedAs, partOf, publishParts } from '../af/write/parts.ts'
import { checkCopy } from '../array/iteration.ts'
import { copyRegion, type RegionOptions } from '../array/lazy/rechunk-to.ts'
import { HyperslabError, within } from '../core/errors.ts'
import { lazily } from '../core/lazily.ts'
import { sha256 } from '../core/sha256.ts'
import { countTraffic, type RechunkPlan, type RechunkTraffic } from '../grid/rechunk-plan.ts'
import { MemoryStore } from '../store/memory.ts'
import type { StoreOptions } from '../store/store.ts'
import { readWhole } from '../store/whole.ts'
import { asWritable } from '../store/writer.ts'
import { type Location, resolveLocation } from '../tree/location.ts'
import {
  type ArrayCopy,
  checkChunks,
  containerSettings,
  copyGrids,
  defineCopies,
  FILE_ARRAY,
  type ImportOptions,
  planCopy,
  toImport,
} from './import-arrays.ts'
import { type PackedBytes, PackedParts } from './packed-parts.ts'
import type { Scratch } from './scratch.ts'
import type { ZarrExport } from './stored-arrays.ts'
import type { CopyTask, SharedTarget } from './target.ts'

/** Chunks, blocks, codec and footer version of a container that is written in parts. */
export interface ContainerTargetOptions extends Pick<ImportOptions, 'codec' | 'level' | 'chunks' | 'blockBytes' | 'immutable'> {}

/** Number of digits in the identity of a container. */
const ID_LENGTH = 32
const DRAFT = 'draft.af'

/** Everything that opening a target finds. */
interface ContainerWrite {
  readonly arrays: readonly ArrayCopy[]
  /** Attributes and definitions, without elements. */
  readonly draft: ArrayFile
  readonly files: ContainerFiles
  readonly settings: CreateOptions
  readonly immutable: boolean
  readonly id: string
  /** Undefined for a target that is only planned. */
  readonly scratch: Scratch | undefined
}

/**
 * A container whose blocks are packed region by region, by processes that do not know of each other. One of
 * them publishes it when all blocks are there. Until then, there is no file.
 */
export class ContainerTarget implements SharedTarget<PackedBytes> {
  readonly arrays: readonly ArrayCopy[]
  readonly #write: ContainerWrite
  readonly #handedOver: PackedParts | undefined
  /** Checks the server once, which takes a test upload. */
  readonly #checked = lazily(async () => {
    await this.#handedOver!.check()
    return true
  })

  private constructor(write: ContainerWrite) {
    this.#write = write
    this.arrays = write.arrays
    const { files, id, scratch } = write
    const target = { store: files.store, key: files.paths.base, mark: id }
    this.#handedOver = scratch && new PackedParts(target, scratch)
  }

  /**
   * @param given the source: the same in all processes
   * @param id id of the write, which all its processes share
   * @param scratch the folder where packed blocks wait; undefined for a target that is only planned
   * @throws InvalidArgumentError for options and names that do not fit
   */
  static async open(
    location: Location,
    given: ZarrExport,
    options: ContainerTargetOptions,
    id = '',
    scratch?: Scratch,
  ): Promise<ContainerTarget> {
    const { store, path } = await resolveLocation(location)
    return within({ file: store.describe(path) }, async () => {
      const paths = new Paths(path)
      await checkNewName({ store, path })
      const source = toImport(given)
      checkChunks('copy', source, options)
      const { chunks, immutable = false } = options
      const settings = containerSettings(options)
      const draft = await ArrayFile.create(new MemoryStore(), DRAFT, settings)
      const { copies: arrays } = defineCopies(draft, source, chunks === undefined ? {} : { chunks })
      const files = { store, paths, options: await withDefaults(settings) }
      return new ContainerTarget({ arrays, draft, files, settings, immutable, id, scratch })
    })
  }

  get mostRegions(): number | undefined {
    const { sharedUploads } = asWritable(this.#write.files.store)
    // The last part of an upload is the footer.
    return sharedUploads && sharedUploads.maxParts - 1
  }

  metadataHash(): Promise<string> {
    const plain = (_: string, value: unknown): unknown =>
      ArrayBuffer.isView(value)
        ? [value.constructor.name, ...Array.from(value as Float64Array, String)]
        : typeof value === 'bigint' || (typeof value === 'number' && !Number.isFinite(value))
          ? `${typeof value} ${value}`
          : value
    const own = this.arrays.map(({ name, defined, to }) => [name, defined, [...to.attrs]])
    return sha256(JSON.stringify([this.#write.settings, [...this.#write.draft.attrs], own], plain))
  }

  plan(name: string, maxBytes: number): RechunkPlan {
    return planCopy(this.#array(name), maxBytes)
  }

  depth(): number {
    return 0
  }

  traffic(name: string, plan: RechunkPlan): RechunkTraffic {
    return countTraffic(plan, copyGrids(this.#array(name)))
  }

  /**
   * @throws AlreadyExistsError for another container, or sidecars of one; for a file of footer version 6 also
   *   for statistics of one; UnsupportedError for a server on which publishing could overwrite the container
   *   of another writer
   */
  claim(): Promise<boolean> {
    return this.#within(async () => {
      const { files, id, immutable } = this.#write
      if (await isPublishedAs(files, identityOf(id))) return true
      if (immutable) await checkAlone(files)
      await checkFree(files.store, files.paths)
      await this.#checked()
      return false
    })
  }

  /** Packs a region of an array, and hands its bytes over. */
  async write({ name, regions, number, index }: CopyTask, options: RegionOptions): Promise<PackedBytes[]> {
    const { array, defined } = this.#array(name)
    const { settings, immutable } = this.#write
    const store = new MemoryStore()
    await using file = await ArrayFile.create(store, DRAFT, settings)
    const to = file.createArray(name, defined)
    checkCopy(array.source, to.source)
    await within(array.source.label ?? {}, () => copyRegion(array.source, to.source, regions.write, number, options))
    await file.flush()
    const part = await partOf(to.state, immutable ? file.stored.blocks : undefined)
    const { bytes } = (await readWhole(store, DRAFT))!
    // Upload parts are numbered from 1.
    return [await this.#handedOver!.add([part], bytes.subarray(0, part.bytes), index + 1, options)]
  }

  combine(receipts: readonly PackedBytes[], options: StoreOptions): Promise<PackedBytes[]> {
    return this.#handedOver!.combine(receipts, options)
  }

  /**
   * @throws AlreadyExistsError if another writer has published a container there; FormatError if parts are
   *   missing; errors of {@link claim}
   */
  async publish(receipts: readonly PackedBytes[], tasks: number, options: StoreOptions): Promise<void> {
    const { files, draft, id, immutable } = this.#write
    const { store, paths } = files
    const found = receipts.reduce((sum, { parts }) => sum + parts.length, 0)
    if (found !== tasks) {
      const text = `the container is to be put together of ${tasks} parts, and there are ${found}`
      throw new HyperslabError('FormatError', text, { file: store.describe(paths.base), actual: found, expected: tasks })
    }
    const { parts, stage } = await this.#handedOver!.assembled(await this.combine(receipts, options), options)
    try {
      await this.#within(async () => {
        if (immutable) await checkAlone(files)
        else await removeStats(store, paths)
        const names = draft.arrays()
        if (draft.attrs.size > 0 && !names.includes(FILE_ARRAY)) names.unshift(FILE_ARRAY)
        const states = names.map((name) => draft.array(name).state)
        options.signal?.throwIfAborted()
        await orAlreadyThere(() => publishParts(files, { states, parts, stage, id: identityOf(id), immutable }))
      })
    } finally {
      await stage.discard()
    }
  }

  async clean(options: StoreOptions): Promise<void> {
    await this.#handedOver!.clean(options)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { draft, files, scratch } = this.#write
    await scratch?.close()
    await draft.close()
    await files.store.close?.()
  }

  #array(name: string): ArrayCopy {
    return this.arrays.find((each) => each.name === name)!
  }

  #within<T>(work: () => Promise<T>): Promise<T> {
    const { store, paths } = this.#write.files
    return within({ file: store.describe(paths.base) }, work)
  }
}

const identityOf = (id: string): string => id.slice(0, ID_LENGTH)
