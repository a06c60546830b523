import { allocate, type DataOf, type DType, readElement, type ScalarOf, toElement } from '../core/dtype.ts'
import { HyperslabError, within } from '../core/errors.ts'
import { ahead } from '../core/in-order.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import { Pace } from '../core/pace.ts'
import { sameShape, showShape, sizeOf } from '../core/shape.ts'
import { newController, onAbort, type Signal } from '../core/signal.ts'
import { type Tensor, tensorOf } from '../core/tensor.ts'
import { type AxisChunks, ChunkGrid, chunkBoxes, READ_BYTES, RegularChunks, sameChunks } from '../grid/chunks.ts'
import { commonChunks as alignedChunks } from '../grid/common-chunks.ts'
import { PLAN_CHECKS, type PlanOptions } from '../grid/plan.ts'
import { type Box, boxShape } from '../grid/range.ts'
import type { Selection } from '../grid/selection.ts'
import { checkBytes, MAX_RESULT_BYTES } from './bounds.ts'
import { planSelection, type ReadPlan } from './get.ts'
import { copiedTo } from './lazy/missing-restated.ts'
import { type ArrayOperand, sourceOf } from './operand.ts'
import { createTally, PROGRESS_CHECKS, type ProgressOptions } from './read-whole.ts'
import { divideIntoWrittenRuns } from './reductions/runs.ts'
import {
  BLOCK_CHECKS,
  type BlockOptions,
  type BlockReadOptions,
  type BlockSource,
  bytesOf,
  checkWritable,
  estimateRequests,
  type Writable,
} from './source.ts'
import { checkChunk, checkElements } from './visit.ts'

/** Options of `equals`. */
export interface EqualsOptions extends ProgressOptions {
  /** Whether NaN equals NaN; default false. */
  readonly equalNaN?: boolean
}

/** Options of `blocks`. */
export interface BlocksOptions extends BlockOptions {
  /** Number of chunks that are read ahead of the current one; default 1. */
  readonly prefetch?: number
  /** Largest chunk in bytes; default 2 GiB. */
  readonly maxBytes?: number
}

export const BLOCKS_CHECKS: Checks<BlocksOptions> = { ...BLOCK_CHECKS, prefetch: 'integer from 0', maxBytes: 'number from 0' }
const EQUALS_CHECKS: Checks<EqualsOptions> = { ...PROGRESS_CHECKS, equalNaN: 'boolean' }

const CALLS = {
  blocks: BLOCKS_CHECKS,
  elements: BLOCK_CHECKS,
  equals: EQUALS_CHECKS,
  copyFrom: PROGRESS_CHECKS,
  copyTo: PROGRESS_CHECKS,
  fill: PROGRESS_CHECKS,
}

/** @throws InvalidArgumentError for options that the call does not accept */
export const checkIteration = (call: keyof typeof CALLS, options: unknown, { label }: BlockSource): void =>
  checkOptions(call, options, CALLS[call], label)

/** One chunk of an array with its elements (`data`). */
export interface Block<D extends DType> {
  /** Chunk coordinates. */
  readonly index: readonly number[]
  /** The part of the array that it covers. */
  readonly box: Box
  readonly data: Tensor<D>
}

/**
 * Yields the chunks in C order of the grid. Stopping early leaves no work running.
 * @throws TooLargeError for chunks of more than `maxBytes`
 */
export function blocks<D extends DType>(source: BlockSource<D>, options: BlocksOptions): AsyncGenerator<Block<D>, void> {
  const { chunks } = source
  checkChunk(source, options.maxBytes)
  return readAhead(chunks, options, async (box, signal) => {
    const [data] = (await readParts([source], box, { signal })) as [Tensor<D>]
    return { index: chunks.find(box.map(({ start }) => start)), box, data }
  })
}

/**
 * Number of elements that are yielded before the clock is checked, because each yield takes only microtasks.
 */
export const ELEMENTS_AT_ONCE = 1024

/** Yields the elements in C order of the array. */
export async function* elements<D extends DType>(
  source: BlockSource<D>,
  options: BlockOptions,
): AsyncGenerator<ScalarOf<D>, void> {
  const read = async (box: Box, signal: Signal): Promise<DataOf<D>> =>
    ((await readParts([source], box, { signal })) as [Tensor<D>])[0].data
  const pace = new Pace(options.signal)
  for await (const data of readAhead(arrayOrder(source), options, read)) {
    for (let i = 0; i < data.length; i++) {
      if (i % ELEMENTS_AT_ONCE === 0 && pace.due()) await pace.turn()
      yield readElement(source.dtype, data, i)
    }
  }
}

/** The same `box` of several arrays of one shape, with the elements of each (`data`). */
export interface ZippedBlocks {
  readonly box: Box
  readonly data: readonly Tensor[]
}

export function zipped(
  sources: readonly BlockSource[],
  grid: ChunkGrid,
  { onAbsent, ...options }: BlocksOptions & BlockReadOptions,
): AsyncGenerator<ZippedBlocks, void> {
  const largest = sizeOf(grid.chunkShape.map((length, axis) => Math.min(length, grid.shape[axis]!)))
  const bytes = sources.reduce((sum, { dtype }) => sum + largest * bytesOf(dtype), 0)
  checkBytes(sources[0]!, bytes, options.maxBytes ?? MAX_RESULT_BYTES, 'a chunk of all arrays', 'read parts of them with get()')
  return readAhead(grid, options, async (box, signal) => ({ box, data: await readParts(sources, box, { signal, onAbsent }) }))
}

/**
 * Reads the same part of several arrays. If they share a budget, it accounts for the memory until all parts
 * are read.
 */
async function readParts(sources: readonly BlockSource[], box: Box, options: BlockReadOptions): Promise<Tensor[]> {
  const shape = boxShape(box)
  const read = async (): Promise<Tensor[]> => {
    const data: Tensor[] = sources.map(({ dtype }) => tensorOf(dtype, shape))
    const reads = await Promise.allSettled(sources.map(async (source, i) => source.readBlock(box, data[i]!, options)))
    for (const read of reads) if (read.status === 'rejected') throw read.reason
    return data
  }
  const bytes = sizeOf(shape) * sources.reduce((sum, { dtype }) => sum + bytesOf(dtype), 0)
  const [budget, ...others] = new Set(sources.map((source) => source.budget))
  return budget === undefined || others.length > 0 ? read() : budget.result(bytes, read, options.signal)
}

/**
 * Yields the results of `read` for the chunks of a grid, reading some ahead. When it ends, for whatever
 * reason, no read is under way.
 */
async function* readAhead<T>(
  grid: ChunkGrid,
  { prefetch = 1, signal }: BlocksOptions,
  read: (box: Box, signal: Signal) => Promise<T>,
): AsyncGenerator<T, void> {
  const controller = newController()
  const forget = signal && onAbort(signal, () => controller.abort(signal.reason))
  const start = (box: Box): Promise<T> => {
    signal?.throwIfAborted()
    return read(box, controller.signal)
  }
  const giveUp = (): void => {
    forget?.()
    controller.abort()
  }
  yield* ahead(chunkBoxes(grid), { count: prefetch + 1 }, start, giveUp)
}

/** Plans reading a selection, without any I/O. */
export async function planRead<D extends DType>(
  source: BlockSource<D>,
  selection: Selection | undefined,
  options: PlanOptions,
): Promise<ReadPlan> {
  const [base, { plan }] = await planSelection('plan', source, selection, options, PLAN_CHECKS)
  const boxes = plan.transfers.map(({ box }) => box)
  return { ...plan, bytes: plan.elements * bytesOf(source.dtype), requests: await estimateRequests(base, boxes) }
}

/**
 * Copies an array to another one; errors name the target.
 * @throws InvalidArgumentError for operands that are not arrays, and as {@link copyWhole}
 */
export async function assignWhole(call: string, from: ArrayOperand, to: ArrayOperand, options: ProgressOptions): Promise<void> {
  const [source, target] = [sourceOf(call, from), sourceOf(call, to)]
  await within(target.label ?? {}, () => copyWhole(source, target, options))
}

/**
 * Copies `from` to `to`, some chunks of `to` at a time; the next are read while some are written. Missing
 * elements stay missing (see {@link copiedTo}).
 * @throws InvalidArgumentError if shapes or types differ; ReadOnlyError if the target is read-only
 */
async function copyWhole(from: BlockSource, to: BlockSource, options: ProgressOptions & BlocksOptions): Promise<void> {
  checkCopy(from, to)
  const { tally, onAbsent } = createTally(to, options)
  const { signal, prefetch = 1 } = options
  for await (const { box, data } of zipped([copiedTo(from, to)], divideIntoWrittenRuns(to), { signal, prefetch, onAbsent })) {
    await to.writeBlock(box, data[0]!, options)
    tally(box)
  }
}

/** @throws InvalidArgumentError if shapes or types differ; ReadOnlyError if the target is read-only */
export function checkCopy(from: BlockSource, to: BlockSource): asserts to is Writable {
  if (!sameShape(from.shape, to.shape) || from.dtype !== to.dtype) {
    const [actual, expected] = [`${from.dtype} ${showShape(from.shape)}`, `${to.dtype} ${showShape(to.shape)}`]
    throw new HyperslabError('InvalidArgumentError', `${actual} cannot be copied to ${expected}`, {
      ...to.label,
      actual,
      expected,
    })
  }
  checkWritable(to)
  for (const source of [from, to]) checkElements(source)
}

/** Writes one value to the whole array, some chunks at a time. */
export async function fillWhole<D extends DType>(
  to: BlockSource<D>,
  value: ScalarOf<D>,
  options: ProgressOptions,
): Promise<void> {
  checkWritable(to)
  checkElements(to)
  const { tally } = createTally(to, options)
  const one = allocate(to.dtype, 1)
  one[0] = toElement(to.dtype, value) as never
  const pace = new Pace(options.signal)
  for (const box of chunkBoxes(divideIntoWrittenRuns(to))) {
    options.signal?.throwIfAborted()
    if (pace.due()) await pace.turn()
    const shape = boxShape(box)
    await to.writeBlock(box, { data: one, shape, stride: shape.map(() => 0), offset: 0 }, options)
    tally(box)
  }
}

/** Whether two arrays have one shape, one type and the same elements; stops at the first different part. */
export async function equalElements(a: BlockSource, other: ArrayOperand, options: EqualsOptions): Promise<boolean> {
  const b = sourceOf('equals', other)
  if (!sameShape(a.shape, b.shape) || a.dtype !== b.dtype) return false
  const { tally } = createTally(a, options)
  for (const source of [a, b]) checkElements(source)
  for await (const { box, data } of zipped([a, b], traversalChunks([a, b]), { signal: options.signal, prefetch: 0 })) {
    if (!sameElements(data[0]!.data, data[1]!.data, options.equalNaN ?? false)) return false
    tally(box)
  }
  return true
}

function sameElements(a: ArrayLike<unknown>, b: ArrayLike<unknown>, equalNaN: boolean): boolean {
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i], b[i]]
    if (x === y || (equalNaN && Number.isNaN(x) && Number.isNaN(y))) continue
    if (!(x instanceof Uint8Array && y instanceof Uint8Array && x.length === y.length && x.every((byte, k) => byte === y[k])))
      return false
  }
  return true
}

/**
 * Returns parts of an array that follow each other in C order of its elements, as large as fits into some
 * MiB. If rows of chunks fit, parts are whole rows of them. Otherwise, each chunk is read once for each part
 * of it.
 */
export function arrayOrder({ shape, chunks, dtype }: BlockSource, maxBytes = 4 * READ_BYTES): ChunkGrid {
  const room = Math.floor(maxBytes / bytesOf(dtype))
  const rests = new Array<number>(shape.length)
  for (let axis = shape.length - 1, rest = 1; axis >= 0; rest *= Math.max(1, shape[axis]!), axis--) rests[axis] = rest
  return new ChunkGrid(
    shape.map((length, axis) => {
      const fits = Math.max(1, Math.min(Math.floor(room / rests[axis]!), Math.max(1, length)))
      // One axis is cut: axes before it advance position by position, axes after it are whole.
      if (fits >= length) return new RegularChunks(Math.max(1, length), length)
      const own = chunks.axes[axis]!
      return fits >= own.chunkLength ? own.coarsen(fits) : new RegularChunks(fits, length)
    }),
  )
}

/**
 * Returns chunks for processing arrays of one shape together: unions of whole chunks of all of them, so that
 * each is read once. If these do not fit into some MiB, the chunks of the first array are used.
 */
export function traversalChunks(sources: readonly [BlockSource, ...BlockSource[]]): ChunkGrid {
  const [{ shape, chunks }, ...others] = sources
  const grid = new ChunkGrid(
    shape.map((length, axis) =>
      others.reduce((common, other) => union(common, other.chunks.axes[axis]!, length), chunks.axes[axis]!),
    ),
  )
  const size = grid.chunkShape.reduce((product, length, axis) => product * Math.min(length, shape[axis]!), 1)
  const bytes = sources.reduce((sum, { dtype }) => sum + bytesOf(dtype), 0)
  return size * bytes <= 4 * READ_BYTES ? grid.coarsen(READ_BYTES / bytes) : chunks
}

function union(a: AxisChunks, b: AxisChunks, length: number): AxisChunks {
  if (sameChunks(a, b)) return a
  if (!(a instanceof RegularChunks && b instanceof RegularChunks)) return alignedChunks([a, b])
  const common = (a.chunkLength / divisor(a.chunkLength, b.chunkLength)) * b.chunkLength
  if (a.offset === 0 && b.offset === 0 && common < length) return new RegularChunks(common, length)
  return new RegularChunks(Math.max(1, length), length)
}

const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b))
