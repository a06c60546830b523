import type { DiskArray } from '../array/disk-array.ts'
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

/**
 * A place that named arrays are copied to, region by region and in any order. Several processes that do not
 * know of each other may write it. One of them publishes it; until then, readers see nothing.
 */
export interface CopyTarget<Receipt = unknown> extends AsyncDisposable {
  /** The arrays by the names that they get, as they are read. */
  readonly arrays: readonly { readonly name: string; readonly array: DiskArray }[]
  /** Maximum number of regions of all arrays together; undefined if it is not limited. */
  readonly mostRegions?: number | undefined
  /** Returns a hash of all that the target gets besides elements. */
  metadataHash(): Promise<string>
  /**
   * Returns the regions that an array is copied by.
   * @param maxBytes bytes of elements of a region that are held while it is copied
   */
  plan(name: string, maxBytes: number): RechunkPlan
  /** Returns an upper bound of the I/O of copying an array by these regions. */
  traffic(name: string, plan: RechunkPlan): RechunkTraffic
  /** Returns how many arrays are written before an array, because each is made of the one before. */
  depth(name: string): number
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
  write(task: CopyTask, options: StoreOptions): Promise<readonly Receipt[]>
  /** Combines receipts of several tasks. */
  combine(receipts: readonly Receipt[], options: StoreOptions): Promise<readonly Receipt[]>
  /**
   * Publishes the copy after all regions were written.
   * @param tasks number of tasks that have written it
   */
  publish(receipts: readonly Receipt[], tasks: number, options: StoreOptions): Promise<void>
  /** Removes what tasks have left, after the publication. */
  clean(options: StoreOptions): Promise<void>
}
