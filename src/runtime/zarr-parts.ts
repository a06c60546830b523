import { hiddenArray, newNodes } from '../adapters/zarr/create.ts'
import { rootOf } from '../adapters/zarr/open.ts'
import { newArray } from '../adapters/zarr/write/new-array.ts'
import type { DiskArray } from '../array/disk-array.ts'
import { checkCopy } from '../array/iteration.ts'
import { copyRegion } from '../array/lazy/rechunk-to.ts'
import type { BlockSource } from '../array/source.ts'
import { bytesOf } from '../array/source.ts'
import { isFixed } from '../core/dtype.ts'
import { HyperslabError, isHyperslabError, within } from '../core/errors.ts'
import { writeJson } from '../core/json.ts'
import { sha256 } from '../core/sha256.ts'
import type { Signal } from '../core/signal.ts'
import { ChunkGrid } from '../grid/chunks.ts'
import { planRechunk, type RechunkPlan, type RechunkRequest, type RechunkTraffic, trafficOf } from '../grid/rechunk-plan.ts'
import type { Store } from '../store/store.ts'
import type { Location } from '../tree/location.ts'
import { resolveTarget } from '../tree/target.ts'
import {
  type ExportOptions,
  groupDocuments,
  inLevels,
  type PlannedArray,
  planArrays,
  writeMetadata,
  type ZarrExport,
} from './export-zarr.ts'
import { SCRATCH, Scratch } from './scratch.ts'
import { claimRecord, completeRecord } from './write-record.ts'

/**
 * A Zarr store that is written region by region, by independent processes. Each region consists of whole
 * objects, so it may be written twice, or concurrently. Metadata are written last; before that, the group
 * does not exist.
 */
export class ZarrParts implements AsyncDisposable {
  readonly arrays: readonly PlannedArray[]
  readonly #source: ZarrExport
  readonly #store: Store
  readonly #root: string
  readonly #targets = new Map<string, Promise<BlockSource>>()

  private constructor(source: ZarrExport, arrays: readonly PlannedArray[], store: Store, root: string) {
    this.#source = source
    this.arrays = arrays
    this.#store = store
    this.#root = root
  }

  /**
   * @param given content of the target, the same in all processes
   * @throws InvalidArgumentError for invalid options
   */
  static async open(target: Location, given: ZarrExport, options: ExportOptions): Promise<ZarrParts> {
    const { store, path } = await resolveTarget(target, options)
    const root = rootOf(path)
    return within({ file: store.describe(root) }, async () => {
      const source = await inLevels(given, options.levels)
      return new ZarrParts(source, await planArrays(source, { store, root }, options), store, root)
    })
  }

  /** Returns a hash of the metadata. */
  metadataHash(): Promise<string> {
    const arrays = this.arrays.map(({ name, options }) => [name, writeJson(newArray(options, []).content)])
    return sha256(JSON.stringify([arrays, groupDocuments(this.#source)]))
  }

  /**
   * Divides an array into the regions to be copied.
   * @param maxBytes limit of the elements held in memory while a region is copied
   */
  plan(name: string, maxBytes: number): RechunkPlan {
    const { array, heldTimes = 1, step } = this.#array(name)
    const mostPasses = isFixed(array.dtype) && step === undefined ? 2 : 1
    return planRechunk({ ...this.#copied(name), maxBytes: maxBytes / heldTimes, mostPasses })
  }

  /**
   * Returns the number of finer levels that must be written before an array, because each level is computed
   * from the one before.
   */
  depth(name: string): number {
    const { step } = this.#array(name)
    return step === undefined ? 0 : 1 + this.depth(step.finer)
  }

  /** Returns the requests and bytes for copying an array by these regions. */
  traffic(name: string, plan: RechunkPlan): RechunkTraffic {
    return trafficOf(plan, this.#copied(name))
  }

  /**
   * Claims the location for a write, or finds that it is claimed for this write already.
   * @returns whether the write is complete
   * @throws AlreadyExistsError for any other content; ReadOnlyError
   */
  claim(id: string): Promise<boolean> {
    return this.#within(() => claimRecord(this.#store, this.#root, id))
  }

  /** Copies a region of the first of two passes, into the intermediate array. */
  async copyFirst(name: string, { first }: RechunkPlan, number: number, signal: Signal | undefined): Promise<void> {
    const { array } = this.#array(name)
    const between = await this.#scratch(name).array({ dtype: array.dtype, shape: array.shape, chunks: first!.chunks.chunkShape })
    await within(array.source.label ?? {}, () => copyRegion(array.source, between.source, first!.read, number, signal))
  }

  /** Copies a region to the target, from the intermediate array if there is one. */
  async copyWrite(name: string, { first, write }: RechunkPlan, number: number, signal: Signal | undefined): Promise<void> {
    const array = await this.#sourceOf(name)
    const target = await this.#target(name)
    checkCopy(array.source, target)
    await within(array.source.label ?? {}, async () => {
      if (first === undefined) return copyRegion(array.source, target, write, number, signal)
      const scratch = this.#scratch(name)
      scratch.seal()
      const between = await scratch.array({ dtype: array.dtype, shape: array.shape, chunks: first.chunks.chunkShape })
      return copyRegion(between.source, target, write, number, signal)
    })
  }

  /** Removes the intermediate arrays. */
  async removeScratch(): Promise<void> {
    await new Scratch(this.#store, this.#folder(SCRATCH)).remove()
  }

  /** Writes the metadata, once all regions are written. From then on, other readers see the store. */
  async publish(id: string): Promise<void> {
    await this.#within(async () => {
      const nodes = newNodes(this.#store, this.#root)
      await writeMetadata(this.#source, this.arrays, { store: this.#store, root: this.#root, nodes }).catch((error: unknown) => {
        // Another process writes the same metadata at the same time. A retry completes the rest.
        if (!isHyperslabError(error, 'AlreadyExistsError')) throw error
        throw new HyperslabError('StoreError', error.text, { ...error.details, cause: error })
      })
      await this.removeScratch()
      // A process that still writes only repeats finished work.
      for (const { key } of (await this.#store.leftovers?.(this.#folder(''), { deep: true })) ?? [])
        await this.#store.delete!(key)
      await completeRecord(this.#store, this.#root, id)
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store.close?.()
  }

  /** Returns the chunks of the source, and the objects of the target. */
  #copied(name: string): Pick<RechunkRequest, 'from' | 'to' | 'elementBytes'> {
    const { array, options } = this.#array(name)
    const { dtype, shape, chunks } = array
    return { from: chunks, to: ChunkGrid.regular(shape, options.shards ?? options.chunks!), elementBytes: bytesOf(dtype) }
  }

  #array(name: string): PlannedArray {
    return this.arrays.find((each) => each.name === name)!
  }

  /** Returns the source of an array: for a coarser level, the written finer level. */
  async #sourceOf(name: string): Promise<DiskArray> {
    const { array, step } = this.#array(name)
    if (step === undefined) return array
    // A separate array, because the one for writing may remember objects as absent that other processes have
    // written since.
    return step.halve(await hiddenArray(this.#store, this.#root, step.finer, this.#array(step.finer).options, {}))
  }

  #target(name: string): Promise<BlockSource> {
    let target = this.#targets.get(name)
    if (target === undefined) {
      target = hiddenArray(this.#store, this.#root, name, this.#array(name).options, {}).then(({ source }) => source)
      this.#targets.set(name, target)
    }
    return target
  }

  /**
   * Returns the intermediate array of an array. It is durable, because its writers may have disappeared with
   * their machines.
   */
  #scratch(name: string): Scratch {
    const number = this.arrays.findIndex((each) => each.name === name)
    return new Scratch(this.#store, this.#folder(`${SCRATCH}${number}/`), { isDurable: true })
  }

  #folder(name: string): string {
    return this.#root === '' ? name : `${this.#root}/${name}`
  }

  #within<T>(work: () => Promise<T>): Promise<T> {
    return within({ file: this.#store.describe(this.#root) }, work)
  }
}
