import type { DiskArray } from '../array/disk-array.ts'
import type { RegionOptions } from '../array/lazy/rechunk-to.ts'
import type { ChunkGrid } from '../grid/chunks.ts'
import type { RechunkPlan, RechunkTraffic } from '../grid/rechunk-plan.ts'
import type { StoreOptions } from '../store/store.ts'

/** A region of an array, in the first of two passes or in the pass that writes the target. */
export interface CopyTask {
  readonly name: string
  readonly regions: RechunkPlan
  readonly pass: 'first' | 'write'
  readonly number: number
  /** Number of the task among all tasks of the copy. */
  readonly index: number
}

/** The tasks of an array that read the source, or of its second pass. */
export interface CopyPass extends Pick<CopyTask, 'name' | 'regions' | 'pass'> {
  /** Regions, each of which is a task. */
  readonly grid: ChunkGrid
  /** Number of tasks before. */
  readonly start: number
}

/** An array of a copy. */
export interface TargetArray {
  /** Name in the target. */
  readonly name: string
  /** Array that is read. */
  readonly array: DiskArray
  /** Number of chunks of the copy. */
  readonly count: number
  /** Bytes of its elements held in memory at a time, unless the copy sets them. */
  readonly maxBytes?: number | undefined
  /** Memory of a read, in multiples of its result. Default: 1. */
  readonly heldTimes?: number | undefined
}

/**
 * A place that named arrays are copied to, region by region. It is published at the end; until then, readers
 * see nothing.
 */
export interface CopyTarget<Receipt = unknown> {
  /** The arrays by the names that they get, as they are read. */
  readonly arrays: readonly TargetArray[]
  /**
   * Returns the regions that an array is copied by.
   * @param maxBytes bytes of the elements of a region
   */
  plan(name: string, maxBytes: number): RechunkPlan
  /**
   * Takes the place for this write, or finds that it has been taken for it.
   * @returns whether the copy is complete
   * @throws AlreadyExistsError if the place contains anything else; ReadOnlyError
   */
  claim(): Promise<boolean>
  /**
   * Copies a region.
   * @returns receipts, which {@link publish} needs
   */
  write(task: CopyTask, options: RegionOptions): Promise<readonly Receipt[]>
  /**
   * Publishes the copy after all regions were written.
   * @param tasks number of tasks that have written it
   */
  publish(receipts: readonly Receipt[], tasks: number, options: StoreOptions): Promise<void>
  /** Removes what tasks have left, after the publication. */
  clean(options: StoreOptions): Promise<void>
}

/** A target that several processes write, which do not know of each other. */
export interface SharedTarget<Receipt = unknown> extends CopyTarget<Receipt>, AsyncDisposable {
  /** Maximum number of regions of all arrays together; undefined if it is not limited. */
  readonly mostRegions?: number | undefined
  /** Returns a hash of all that the target gets besides elements. */
  metadataHash(): Promise<string>
  /** Returns an upper bound of the I/O of copying an array by these regions. */
  traffic(name: string, plan: RechunkPlan): RechunkTraffic
  /** Returns how many arrays are written before an array, because each is made of the one before. */
  depth(name: string): number
  /** Combines receipts of several tasks. */
  combine(receipts: readonly Receipt[], options: StoreOptions): Promise<readonly Receipt[]>
}

/** A target that one process writes alone, task by task in their order. */
export interface OwnTarget<Receipt = unknown> extends CopyTarget<Receipt> {
  /**
   * Returns the number of leading tasks that an earlier process has done. Optional: all tasks are to be done.
   * @param passes passes of the copy, which decide what a number of tasks means
   */
  resume?(passes: readonly CopyPass[]): Promise<number>
  /** Takes note of a task, after those before it. Optional: the copy is not resumed. */
  done?(task: CopyTask): Promise<void>
  /** Removes what was written, or keeps it for a later process, after an error. */
  abandon(): Promise<void>
}
