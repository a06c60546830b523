import type { PlacedAggregate, Reduction } from '../aggregate/reduction.ts'
import { checkDType, type DType, elementBytes, isFixed, type ScalarOf } from '../core/dtype.ts'
import { type ErrorDetails, HyperslabError } from '../core/errors.ts'
import type { MemoryBudget } from '../core/memory-budget.ts'
import { type Checks, checkOptions, checkValue } from '../core/options.ts'
import { quoted } from '../core/quoted.ts'
import { checkShape, sameShape, showShape } from '../core/shape.ts'
import type { Signal } from '../core/signal.ts'
import type { Tensor } from '../core/tensor.ts'
import { ChunkGrid } from '../grid/chunks.ts'
import type { Transfer } from '../grid/plan.ts'
import type { Box } from '../grid/range.ts'
import { type Missing, missingElements } from './missing.ts'

/** Options of everything that reads or writes; an aborted `signal` ends it. */
export interface BlockOptions {
  readonly signal?: Signal | undefined
}

/** Options of reading a block. */
export interface BlockReadOptions extends BlockOptions {
  /** Receives the number of chunks that the read touched and that were absent. They read as fill. */
  readonly onAbsent?: ((chunks: number) => void) | undefined
}

export const BLOCK_CHECKS: Checks<BlockOptions> = { signal: 'AbortSignal' }

/** Options of reducing a box. */
export interface ReduceBoxOptions extends BlockOptions {
  /**
   * Reduce the elements themselves, also where statistics stored beside them have the answer: `sum`, `min`,
   * `max`, `extrema` and `mean` of a container's array otherwise read no chunk that lies in one cell of the
   * result and whose statistics tell.
   */
  readonly ignoreStats?: boolean
}

/** Attributes by name, as plain values: `get` one of `keys`. */
export interface NamedValues {
  get(name: string): unknown
  keys(): Iterable<string>
}

/** Statistics of some elements that are known without reading them. */
export interface PartStats {
  /**
   * Ends of the elements that are neither NaN nor the fill value, `min` and `max`, and their `count`; without
   * any, the ends mean nothing.
   */
  readonly min: number | bigint | undefined
  readonly max: number | bigint | undefined
  readonly count: number
  /** Elements that are the fill value. */
  readonly fillCount: number
  /**
   * True when all of this is of these very elements. Otherwise it is of more, or about others: no element is
   * beyond the ends but NaN, and the fill value where its count is not 0; counts are not theirs.
   */
  readonly exact: boolean
}

/**
 * Choices and work of a walk through the elements of a box, part by part. Parts are boxes without steps; they
 * count from the start of the box, as its elements would lie in a result.
 */
export interface PartVisitor<D extends DType, R> {
  /**
   * This decides whether a part is read. Each element is in one of the parts that are asked for, but that a
   * large part which nobody wrote may be asked for first, and its pieces where the answer is yes.
   */
  shouldRead(part: Box, stats: PartStats | undefined): boolean
  /**
   * It is called once for each part that is read, in any order.
   * @param elements of the part, with any strides, in memory that is theirs during the call only
   */
  visit(part: Box, elements: Tensor<D>): R
}

/** A `box` to read, and where to (`out`). */
export interface BoxRead<D extends DType = DType> {
  readonly box: Box
  readonly out: Tensor<D>
}

/**
 * Operations of a source on much of an array at once, better than reading its boxes one by one. A source
 * gives those operations that it can do; whoever needs another one reads boxes. Lazy arrays pass on what
 * their operation allows, so operations are called without `this`.
 */
export interface BulkAccess<D extends DType = DType> {
  /**
   * Reads several boxes, for sources that can share work between them: requests for neighbours, a block that
   * several boxes lie in.
   */
  read?(reads: readonly BoxRead<D>[], options?: BlockReadOptions): Promise<void>
  /**
   * Reads what some transfers want, each straight to its places in `out`, for sources that need not hold
   * their boxes to do so.
   * @param out of the plan's `fullShape`
   */
  gather?(transfers: readonly Transfer[], out: Tensor<D>, options?: BlockReadOptions): Promise<void>
  /**
   * Number of blocks that reading some boxes would fetch while nothing is cached, for plans; undefined where
   * that is not known.
   */
  requests?(boxes: readonly Box[]): Promise<number | undefined>
  /**
   * Reduces the elements of a box where they are decoded, for sources that can do so without handing them
   * over. `take` gets parts that together are made of each element once, and of the same box always the same
   * parts in the same order, so that sums of floats do not depend on what happens to be ready first.
   */
  reduce?(box: Box, reduction: Reduction, take: (part: PlacedAggregate) => void, options?: ReduceBoxOptions): Promise<void>
  /**
   * Numbers of the chunks of a grid over the array that hold anything that somebody wrote, ascending;
   * undefined where all of them may. The others are full of the fill value, or of zeros: reductions take
   * these without reading them.
   */
  written?(grid: ChunkGrid, options?: BlockOptions): Promise<Float64Array | undefined>
  /**
   * Goes through a box in the parts that suit the source, chunks as a rule, for sources that know something
   * of them without reading them, or read several at once: hands out what the visitor makes of each.
   */
  visit?<R>(box: Box, visitor: PartVisitor<D, R>, options?: BlockOptions): AsyncIterable<R>
}

/**
 * Whatever can read a hyper-rectangle of an array of some `dtype`, `shape`, `chunks` and, where it has some,
 * `dimensionNames`. This is all the author of a backend writes: `new DiskArray(source)` gives the rest.
 *
 * Boxes are inside the shape, never empty, one range per axis with start <= stop; their step is 1 unless the
 * source declares so in `capabilities`. `readBlock` writes the elements straight to their final place, `out`,
 * `writeBlock` takes them from `source`; both have the shape of the box and any strides.
 */
export interface BlockSource<D extends DType = DType> {
  readonly dtype: D
  readonly shape: readonly number[]
  readonly chunks: ChunkGrid
  /** The grid of what is stored as one and best written at once, where that is not a chunk. */
  readonly writeGrid?: ChunkGrid | undefined
  readonly dimensionNames?: readonly string[] | undefined
  /** The value that elements nobody wrote read as. */
  readonly fillValue?: ScalarOf<D> | undefined
  /**
   * The values of elements that are missing; the fill value when left out, none where there is no fill value
   * either.
   */
  readonly missing?: Missing<D> | undefined
  /**
   * The attributes of the elements, such as their unit and how they are packed. Lazy arrays of the same
   * elements have them, too.
   */
  readonly attrs?: NamedValues | undefined
  readonly capabilities?: {
    /** True when boxes with a step above 1 may be asked for. */
    readonly steps?: boolean | undefined
    /** Boxes it likes to be asked for at the same time; 8 unless given, and 1 for writing. */
    readonly concurrency?: number | undefined
  }
  /** Memory that results of reading it share; its reads must wait for no other results of the budget. */
  readonly budget?: Pick<MemoryBudget, 'result'> | undefined
  /**
   * Elements that one operation may go through; more are refused with TooLargeError. Without it there is no
   * bound.
   */
  readonly maxElements?: number | undefined
  /** Names of file and array for error messages. */
  readonly label?: { readonly file?: string; readonly array?: string }
  readBlock(box: Box, out: Tensor<D>, options?: BlockReadOptions): Promise<void> | void
  writeBlock?(box: Box, source: Tensor<D>, options?: BlockOptions): Promise<void> | void
  /**
   * Writes those elements of a box whose `mask` is 1, and leaves the others as they are when that is done:
   * for sources that others write to at the same time. Without it, boxes are read, changed and written.
   */
  writeMasked?(box: Box, source: Tensor<D>, mask: Tensor<'bool'>, options?: BlockOptions): Promise<void>
  /**
   * Operations on many boxes at once; without them, boxes are read one by one and reduced where they arrive.
   */
  readonly bulk?: BulkAccess<D> | undefined
}

/** Blocks that reading some boxes fetches; of a source that does not tell, a box is a request. */
export const requestsOf = async ({ bulk }: BlockSource, boxes: readonly Box[]): Promise<number | undefined> =>
  bulk?.requests === undefined ? boxes.length : bulk.requests(boxes)

/** @throws ReadOnlyError for a source that takes no writes */
export function checkWritable<D extends DType>(source: BlockSource<D>): asserts source is Writable<D> {
  if (source.writeBlock === undefined) throw new HyperslabError('ReadOnlyError', 'this array cannot be written', source.label)
}

/** A source that takes writes. */
export type Writable<D extends DType = DType> = BlockSource<D> & Required<Pick<BlockSource<D>, 'writeBlock'>>

/** A source as its author may give it: `chunks` as a chunk shape, or left out for a source without chunks. */
export type SourceLike<D extends DType> = Omit<BlockSource<D>, 'chunks'> & { readonly chunks?: ChunkGrid | readonly number[] }

/**
 * Elements of strings and binaries have no fixed size; this stands in for it when chunk sizes are estimated.
 */
const VARIABLE_ELEMENT_BYTES = 64

/** Options of estimating the chunks of a source that has none. */
export interface EstimateOptions {
  /** About how large they become; 8 MiB when left out. */
  readonly defaultChunkBytes?: number
  /** Bytes of an element; what the data type says, and for strings and binaries a guess, when left out. */
  readonly elementBytes?: number
}

const ESTIMATE_CHECKS: Checks<EstimateOptions> = { defaultChunkBytes: 'number from 0', elementBytes: 'number from 0' }

/** @throws InvalidArgumentError for an array of another type or rank than is asked for, where either is */
export function checkKindOf(
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

/** The grid of a source, estimated where it names none. */
export function gridOf<D extends DType>({ chunks, shape, dtype }: SourceLike<D>, options: EstimateOptions = {}): ChunkGrid {
  if (chunks instanceof ChunkGrid) return chunks
  if (chunks !== undefined) return ChunkGrid.regular(shape, chunks)
  return ChunkGrid.estimate(shape, options.elementBytes ?? bytesOf(dtype), options.defaultChunkBytes)
}

/**
 * A source with its grid, once it is checked.
 * @throws InvalidArgumentError for what is no source, and for a grid of another shape
 */
export function completeSource<D extends DType>(source: SourceLike<D>, options: EstimateOptions | undefined): BlockSource<D> {
  checkValue('DiskArray', 'source', source, 'object')
  checkValue('DiskArray', 'readBlock', source.readBlock, 'function')
  checkDType(source.dtype)
  checkShape(source.shape, 'shape')
  if (source.dimensionNames !== undefined) checkValue('DiskArray', 'dimensionNames', source.dimensionNames, 'list of strings')
  checkOptions('DiskArray', options, ESTIMATE_CHECKS)
  const chunks = gridOf(source, options)
  if (!sameShape(chunks.shape, source.shape)) {
    throw new HyperslabError(
      'InvalidArgumentError',
      `the chunk grid covers ${showShape(chunks.shape)}, the array is ${showShape(source.shape)}`,
      { ...source.label, actual: chunks.shape, expected: source.shape },
    )
  }
  if (source.missing !== undefined) missingElements(source)
  return source.chunks === chunks ? (source as BlockSource<D>) : withChunks(source, chunks)
}

/** What a source may say and do. */
const FACTS = 'dtype shape dimensionNames fillValue missing attrs capabilities budget maxElements label bulk'.split(' ')
const ABILITIES = ['readBlock', 'writeBlock']

function withChunks<D extends DType>(source: SourceLike<D>, chunks: ChunkGrid): BlockSource<D> {
  const own = source as unknown as Record<string, (() => unknown) | undefined>
  const given = (names: string[]): string[] => names.filter((name) => own[name] !== undefined)
  return {
    ...Object.fromEntries(given(FACTS).map((name) => [name, own[name]])),
    ...Object.fromEntries(given(ABILITIES).map((name) => [name, own[name]!.bind(source)])),
    chunks,
  } as unknown as BlockSource<D>
}

/** Bytes of an element, guessed for strings and binaries. */
export const bytesOf = (dtype: DType): number => (isFixed(dtype) ? elementBytes(dtype) : VARIABLE_ELEMENT_BYTES)
