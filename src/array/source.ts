import type { PlacedAggregate, Reduction } from '../aggregate/reduction.ts'
import { checkDType, type DType, elementBytes, isFixed, type ScalarOf } from '../core/dtype.ts'
import { type ErrorDetails, HyperslabError } from '../core/errors.ts'
import type { MemoryBudget } from '../core/memory-budget.ts'
import type { Checks } from '../core/options.ts'
import { quoted } from '../core/quoted.ts'
import type { Signal } from '../core/signal.ts'
import type { Tensor } from '../core/tensor.ts'
import { ChunkGrid } from '../grid/chunks.ts'
import type { Transfer } from '../grid/plan.ts'
import type { Box } from '../grid/range.ts'
import type { ResolvedSelection } from '../grid/selection.ts'
import type { Missing } from './missing.ts'

/** Options of all reads and writes; aborting `signal` stops the operation. */
export interface BlockOptions {
  /** Cancels the call when it is aborted. */
  readonly signal?: Signal | undefined
}

/** Options of reading a block. */
export interface BlockReadOptions extends BlockOptions {
  /** Receives the number of touched chunks that are absent from the store. They read as fill. */
  readonly onAbsent?: ((chunks: number) => void) | undefined
  /** Receives the number of sources that a read of a virtual array leads to. Throws if there are too many. */
  readonly onSources?: ((arrays: number) => void) | undefined
}

export const BLOCK_CHECKS: Checks<BlockOptions> = { signal: 'AbortSignal' }

/** Options of reducing a box. */
export interface ReduceBoxOptions extends BlockOptions {
  /**
   * Reduce the elements even if stored statistics suffice; default false. Otherwise `sum`, `min`, `max`,
   * `extrema` and `mean` of a container's array skip chunks that belong to one cell of the result and whose
   * statistics suffice.
   */
  readonly ignoreStats?: boolean
}

/** Attributes by name, as plain values: `get` accepts the names in `keys`. */
export interface NamedValues {
  /** Returns the value of a name; undefined if there is none. */
  get(name: string): unknown
  /** Returns the names. */
  keys(): Iterable<string>
}

/** Statistics of some elements that are known without reading them. */
export interface PartStats {
  /**
   * Minimum and maximum of the elements that are neither NaN nor the fill value (`min`, `max`), and their
   * `count`. Both are meaningless if `count` is 0.
   */
  readonly min: number | bigint | undefined
  readonly max: number | bigint | undefined
  readonly count: number
  /** Number of elements equal to the fill value. */
  readonly fillCount: number
  /**
   * Whether the statistics describe exactly these elements. Otherwise they describe more elements, or are
   * bounds. No element except NaN is outside `min` and `max`, nor, if `fillCount` is not 0, the fill value;
   * counts do not apply.
   */
  readonly exact: boolean
}

/**
 * Callbacks for visiting the elements of a box part by part. Parts are boxes without steps, counted from the
 * start of the box, as its elements would be placed in a result.
 */
export interface PartVisitor<D extends DType, R> {
  /**
   * Decides whether a part is read. Each element belongs to one of these parts. A large unwritten part may be
   * passed as a whole first, and then, if the answer is yes, in pieces.
   */
  shouldRead(part: Box, stats: PartStats | undefined): boolean
  /**
   * Processes a part that was read. Each part is visited once, in any order.
   * @param elements of the part, with any strides; the memory is valid during the call only
   */
  visit(part: Box, elements: Tensor<D>): R
}

/** Rule for reads of single elements: they are read, read with a warning after 1000 of them, or refused. */
export type ScalarMode = 'read' | 'warn' | 'refuse'

/** Rule for reads of single elements of an array. All arrays derived from it share this object. */
export interface ScalarReads {
  /** Whether they are read, reported or refused. */
  readonly mode: ScalarMode
  /** Number of these reads so far. */
  count: number
  /** Rule of the source that this one replaces, which counts the reads, too. */
  readonly below?: ScalarReads | undefined
}

/** Option of opening and making arrays. */
export interface ScalarOptions {
  /**
   * Rule for reads of single elements: `get` with an integer for each axis, one point or one position of
   * `linear`. `'read'` reads them; `'warn'` logs a warning after 1000 of them on one array; `'refuse'` throws
   * a ScalarReadError. Both name the call that reads elements together. Default: `'read'`. Derived arrays
   * follow the rule of their source. Stored arrays without axes are exempt.
   */
  readonly scalar?: ScalarMode | undefined
}

export const SCALAR_CHECKS: Checks<ScalarOptions> = { scalar: ['read', 'warn', 'refuse'] }

/** Returns the rule for an array of a shape; undefined if there is none. */
export const scalarReadsOf = (
  mode: ScalarMode | undefined,
  { length }: readonly number[],
  below?: ScalarReads,
): ScalarReads | undefined => (mode && length > 0 ? { mode, count: 0, below } : below)

/** A `box` to read, and the tensor that receives it (`out`). */
export interface BoxRead<D extends DType = DType> {
  readonly box: Box
  readonly out: Tensor<D>
}

/**
 * Bulk operations of a source, which are better than reading boxes one by one. Sources omit operations that
 * they do not support; callers then read boxes. Lazy arrays pass on the operations that remain valid, so
 * operations are called without `this`.
 */
export interface BulkAccess<D extends DType = DType> {
  /**
   * Reads several boxes. For sources that can share work between them: requests for neighbours, or a block
   * that several boxes touch.
   */
  read?(reads: readonly BoxRead<D>[], options?: BlockReadOptions): Promise<void>
  /**
   * Reads the selected elements of some transfers directly into `out`. For sources that need not read their
   * whole boxes.
   * @param out has the plan's `fullShape`
   */
  gather?(transfers: readonly Transfer[], out: Tensor<D>, options?: BlockReadOptions): Promise<void>
  /**
   * Returns the same elements as a selection of the array that this one is a view of. For views: a list or
   * points of a view then cost what they cost there.
   */
  below?(selection: ResolvedSelection): Promise<SelectionBelow<D>>
  /**
   * Returns the number of blocks that reading some boxes would fetch while nothing is cached; undefined if it
   * is unknown. Used by plans.
   */
  requests?(boxes: readonly Box[]): Promise<number | undefined>
  /**
   * Reduces the elements of a box where they are decoded. `take` receives parts that together include each
   * element once. The same box yields the same parts in the same order, so that sums of floats do not depend
   * on timing.
   */
  reduce?(box: Box, reduction: Reduction, take: (part: PlacedAggregate) => void, options?: ReduceBoxOptions): Promise<void>
  /**
   * Returns the chunks of `grid` that contain any written element, as ascending numbers; undefined if all
   * may. All other chunks contain the fill value, or zeros. Reductions process these without reading them.
   */
  written?(grid: ChunkGrid, options?: BlockOptions): Promise<Float64Array | undefined>
  /**
   * Visits a box in the parts that suit the source, usually chunks, and yields the visitor's results. For
   * sources that know something of the parts without reading them, or that read several at once.
   */
  visit?<R>(box: Box, visitor: PartVisitor<D, R>, options?: BlockOptions): AsyncIterable<R>
}

/** A selection of an array, in place of one of a view of it. */
export interface SelectionBelow<D extends DType = DType> {
  readonly source: BlockSource<D>
  readonly selection: ResolvedSelection
}

/**
 * Places that an array is read from: its own, and those of the arrays that it is computed from. A writer that
 * replaces a place looks here whether it is being read.
 */
export interface Origins {
  readonly place?: {
    readonly store: object
    readonly path: string
    /** Whether it is a folder of Zarr, whose objects change one by one. Readers of files pin a version. */
    readonly isFolder?: boolean
  }
  readonly below?: readonly Origins[]
}

/**
 * A backend: reads boxes of an array of some `dtype`, `shape`, `chunks` and, optionally, `dimensionNames`.
 * This is all that an author of a backend implements; `new DiskArray(source)` adds the rest.
 *
 * Boxes are inside the shape, never empty, with one range per axis and start <= stop. Their step is 1 unless
 * `capabilities` allow steps. `readBlock` writes the elements directly to `out`; `writeBlock` reads them from
 * `source`. Both have the shape of the box and any strides.
 */
export interface BlockSource<D extends DType = DType> {
  readonly dtype: D
  readonly shape: readonly number[]
  readonly chunks: ChunkGrid
  /** Grid of stored objects, if they are larger than chunks and best written at once. */
  readonly writeGrid?: ChunkGrid | undefined
  readonly dimensionNames?: readonly string[] | undefined
  /** Value of unwritten elements. */
  readonly fillValue?: ScalarOf<D> | undefined
  /** Values of missing elements; by default the fill value, if there is one. */
  readonly missing?: Missing<D> | undefined
  /**
   * Attributes of the elements, such as their unit and packing. Lazy arrays of the same elements have them,
   * too.
   */
  readonly attrs?: NamedValues | undefined
  readonly capabilities?: {
    /** Whether boxes may have a step above 1; default false. */
    readonly steps?: boolean | undefined
    /** Number of boxes that are best requested at the same time; default 8, and 1 for writing. */
    readonly concurrency?: number | undefined
  }
  /**
   * Memory budget shared by results of reading. Reads of the source must not wait for other results of the
   * budget.
   */
  readonly budget?: Pick<MemoryBudget, 'result'> | undefined
  /**
   * Largest number of elements that one operation may process; more are rejected with TooLargeError. By
   * default, there is no limit.
   */
  readonly maxElements?: number | undefined
  /** Rule for reads of single elements, with their number. By default, they are read and not counted. */
  readonly scalarReads?: ScalarReads | undefined
  /** Names of file and array for error messages. */
  readonly label?: { readonly file?: string; readonly array?: string }
  /** Places that elements are read from; derived sources inherit them. Optional: arrays in memory omit it. */
  readonly origins?: Origins | undefined
  /** Reads the elements of a box into a tensor of its shape. */
  readBlock(box: Box, out: Tensor<D>, options?: BlockReadOptions): Promise<void> | void
  /** Writes the elements of a tensor to the box of its shape. Optional: read-only sources omit it. */
  writeBlock?(box: Box, source: Tensor<D>, options?: BlockOptions): Promise<void> | void
  /**
   * Writes the elements of a box whose `mask` is 1, and leaves the others unchanged. For sources with
   * concurrent writers. Without it, boxes are read, changed and written.
   */
  writeMasked?(box: Box, source: Tensor<D>, mask: Tensor<'bool'>, options?: BlockOptions): Promise<void>
  /** Operations on many boxes at once. Without them, boxes are read one by one and reduced afterwards. */
  readonly bulk?: BulkAccess<D> | undefined
}

/** Returns the number of blocks that reading some boxes fetches; by default one per box. */
export const estimateRequests = async ({ bulk }: BlockSource, boxes: readonly Box[]): Promise<number | undefined> =>
  bulk?.requests === undefined ? boxes.length : bulk.requests(boxes)

/** @throws ReadOnlyError if the source is read-only */
export function checkWritable<D extends DType>(source: BlockSource<D>): asserts source is Writable<D> {
  if (source.writeBlock === undefined) throw new HyperslabError('ReadOnlyError', 'this array cannot be written', source.label)
}

/** A source that accepts writes. */
export type Writable<D extends DType = DType> = BlockSource<D> & Required<Pick<BlockSource<D>, 'writeBlock'>>

/** A source as its author may pass it: `chunks` may be a chunk shape, or omitted. */
export type SourceLike<D extends DType> = Omit<BlockSource<D>, 'chunks'> & { readonly chunks?: ChunkGrid | readonly number[] }

/** Assumed size of strings and binaries when chunk sizes are estimated. */
const VARIABLE_ELEMENT_BYTES = 64

/** Options of `new DiskArray`, most for estimating the chunks of a source that has none. */
export interface SourceOptions extends ScalarOptions {
  /** Approximate chunk size; default 8 MiB. */
  readonly defaultChunkBytes?: number
  /** Bytes of an element; default is the size of the data type, an estimate for strings and binaries. */
  readonly elementBytes?: number
}

/** @throws InvalidArgumentError if the array has another type or rank than requested */
export function checkArrayKind(
  { dtype, shape }: Pick<BlockSource, 'dtype' | 'shape'>,
  type?: DType,
  rank?: number,
  label?: ErrorDetails,
): void {
  if ((type ?? dtype) === dtype && (rank ?? shape.length) === shape.length) return
  if (type !== undefined) checkDType(type)
  const actual = `${dtype} of ${shape.length} axes`
  const expected = `${type ?? 'any type'} of ${rank === undefined ? 'any number of' : quoted(rank)} axes`
  throw new HyperslabError('InvalidArgumentError', `the array is ${actual}, not ${expected}`, { ...label, actual, expected })
}

/** Returns the grid of a source, estimated if it has none. */
export function gridOf<D extends DType>({ chunks, shape, dtype }: SourceLike<D>, options: SourceOptions = {}): ChunkGrid {
  if (chunks instanceof ChunkGrid) return chunks
  if (chunks !== undefined) return ChunkGrid.regular(shape, chunks)
  return ChunkGrid.estimate(shape, options.elementBytes ?? bytesOf(dtype), options.defaultChunkBytes)
}

/** Returns the bytes of an element, estimated for strings and binaries. */
export const bytesOf = (dtype: DType): number => (isFixed(dtype) ? elementBytes(dtype) : VARIABLE_ELEMENT_BYTES)
