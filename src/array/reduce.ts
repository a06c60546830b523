import {
  allocate,
  type DataOf,
  type DType,
  elementBytes,
  type FixedDType,
  isBigInt,
  isFixed,
  readElement,
  type ScalarOf,
  type TypedArray,
  toBytes,
  toElement,
} from '../core/dtype.js'
import { HyperslabError } from '../core/errors.js'
import { inOrder } from '../core/in-order.js'
import { sizeOf } from '../core/shape.js'
import { type Tensor, tensorOf } from '../core/tensor.js'
import { type ChunkGrid, READ_BYTES } from '../grid/chunks.js'
import { type Box, boxShape, wholeBox } from '../grid/range.js'
import { withArena } from '../kernels/arena.js'
import type { ReduceOp, Skip } from '../kernels/reduce.js'
import { type Accumulator, AxisAccumulator, type Cells, WholeAccumulator } from './accumulator.js'
import { type AxisOption, resolveAxes } from './axes.js'
import { Assembly, isWhole, type Reduction } from './parts.js'
import type { BlockOptions, BlockSource } from './source.js'

export interface ReduceOptions extends BlockOptions {
  /** Axes to reduce, by number (negative ones count from the end) or dimension name; all of them when left out. */
  readonly axis?: AxisOption
  /** Leave out elements equal to the fill value, NaN included when that is the fill value. */
  readonly skipFill?: boolean
  /** Keep reduced axes with length 1. */
  readonly keepDims?: boolean
}

export type ReductionKind = 'sum' | 'min' | 'max' | 'mean'

/** The type of sums. A table rather than a condition, which would keep `DiskArray<'int8'>` from being a `DiskArray`. */
type SumDTypes = { [D in DType]: D extends 'int64' | 'uint64' ? D : 'float64' }

export type ReducedDType<D extends DType, K extends ReductionKind> = { sum: SumDTypes[D]; min: D; max: D; mean: 'float64' }[K]

/** A scalar for a reduction of everything, a tensor for one along axes. */
export type Reduced<D extends DType, K extends ReductionKind, O> = O extends { readonly axis: AxisOption }
  ? Tensor<ReducedDType<D, K>>
  : ScalarOf<ReducedDType<D, K>>

/**
 * Reduces a source, reading each chunk once. Where the source reduces its own boxes, it is left to that; otherwise chunks come in runs of
 * some MiB, of which two are held at a time.
 *
 * A sum of n floats has a relative error (against the sum of absolute values) of about log2(n) * 2^-53 over everything; along axes, where
 * each cell is added to once a row, of at most n * 2^-53.
 */
export async function reduce(
  source: BlockSource,
  kind: ReductionKind,
  options: ReduceOptions,
): Promise<Tensor | ScalarOf<DType>> {
  const dtype = checkReducible(source, kind)
  const axes = resolveAxes(options.axis, source)
  const op: ReduceOp = kind === 'mean' ? 'sum' : kind
  const whole = options.axis === undefined
  const cellShape = source.shape.map((length, axis) => (axes.has(axis) ? 1 : length))
  const reduction = { op, dtype, skip: skipOf(source, options), reduced: source.shape.map((_, axis) => axes.has(axis)) }
  const cells = await reduceCells(source as BlockSource<FixedDType>, reduction, cellShape, options)
  const resultType = op !== 'sum' ? dtype : kind === 'sum' && isBigInt(dtype) ? dtype : 'float64'
  const data =
    kind === 'mean'
      ? means(cells)
      : op === 'sum'
        ? sums(resultType, cells)
        : extremes(dtype, cells, whole ? undefined : missing(source, options))
  if (whole) return readElement(resultType, data, 0)
  const shape = options.keepDims ? cellShape : cellShape.filter((_, axis) => !axes.has(axis))
  return tensorOf(resultType, shape, data)
}

/** Elements that have to come on one cell for parts to be smaller than what they are made of, by a wide margin. */
const WORTHWHILE = 32

async function reduceCells(
  source: BlockSource<FixedDType>,
  reduction: Reduction,
  cellShape: readonly number[],
  options: BlockOptions,
): Promise<Cells> {
  const runs = source.chunks.coarsen(READ_BYTES / elementBytes(source.dtype))
  const largest = runs.chunkShape.map((length, axis) => Math.min(length, source.shape[axis]!))
  const cellsOfRun = largest.map((length, axis) => (reduction.reduced[axis] ? 1 : length))
  const shrinks = isWhole(reduction) || sizeOf(largest) >= WORTHWHILE * sizeOf(cellsOfRun)
  if (source.reduceBox !== undefined && shrinks) {
    const assembly = new Assembly(reduction, cellShape)
    await source.reduceBox(wholeBox(source.shape), reduction, (part) => assembly.take(part), options)
    return assembly.finish()
  }
  const { op, dtype, skip } = reduction
  const accumulator = isWhole(reduction) ? new WholeAccumulator(op, dtype, skip) : new AxisAccumulator(op, dtype, skip, cellShape)
  await addRuns(source, runs, sizeOf(largest), accumulator, options)
  return accumulator.finish()
}

/** Reads the next run while one is reduced. */
async function addRuns(
  source: BlockSource<FixedDType>,
  runs: ChunkGrid,
  largest: number,
  accumulator: Accumulator,
  options: BlockOptions,
): Promise<void> {
  const { dtype } = source
  const free: TypedArray[] = []
  const read = async (number: number): Promise<{ box: Box; shape: number[]; buffer: TypedArray; data: TypedArray }> => {
    options.signal?.throwIfAborted()
    const box = runs.box(runs.index(number))
    const shape = boxShape(box)
    const buffer = free.pop() ?? (allocate(dtype, largest) as TypedArray)
    const data = buffer.subarray(0, sizeOf(shape)) as TypedArray
    await source.readBlock(box, tensorOf(dtype, shape, data as DataOf<FixedDType>), options)
    return { box, shape, buffer, data }
  }
  const limits = { count: 2, bytes: 4 * READ_BYTES, bytesOf: () => largest * elementBytes(dtype) }
  await inOrder(numbersBelow(runs.count), limits, read, ({ box, shape, buffer, data }) => {
    withArena((arena) => accumulator.add(arena, box, shape, arena.put(toBytes(data))))
    free.push(buffer)
  })
}

function* numbersBelow(count: number): Generator<number> {
  for (let number = 0; number < count; number++) yield number
}

function checkReducible({ dtype }: BlockSource, kind: ReductionKind): FixedDType {
  const adds = kind === 'sum' || kind === 'mean'
  if (isFixed(dtype) && !(adds && dtype === 'timestamp_ns')) return dtype
  throw new HyperslabError('UnsupportedError', `there is no ${kind} of ${dtype} values`, { actual: dtype })
}

function skipOf({ dtype, fillValue }: BlockSource, { skipFill }: ReduceOptions): Skip {
  if (!skipFill || fillValue === undefined) return 'none'
  return { fill: toElement(dtype, fillValue) as number | bigint }
}

/** What stands for an extreme of nothing along an axis: the fill value, when everything that was skipped is that. */
function missing({ dtype, fillValue }: BlockSource, { skipFill }: ReduceOptions): unknown {
  return skipFill && fillValue !== undefined ? toElement(dtype, fillValue) : undefined
}

/** @param missing what a cell made of no elements becomes; undefined when there is nothing it could be */
function extremes(dtype: FixedDType, { values, counts }: Cells, missing: unknown): TypedArray {
  const data = allocate(dtype, values.length) as TypedArray
  counts.forEach((count, cell) => {
    if (count === 0 && missing === undefined) {
      throw new HyperslabError('EmptyReductionError', 'there is no element to take the minimum or maximum of', { actual: 0 })
    }
    data[cell] = (count === 0 ? missing : values[cell]) as never
  })
  return data
}

function sums(dtype: FixedDType, { values }: Cells): TypedArray {
  const data = allocate(dtype, values.length) as TypedArray
  for (let cell = 0; cell < data.length; cell++) {
    const value = values[cell]!
    if (typeof value === 'bigint') checkFits(value, dtype)
    data[cell] = value as never
  }
  return data
}

function checkFits(value: bigint, dtype: FixedDType): void {
  const fits = dtype === 'uint64' ? BigInt.asUintN(64, value) === value : BigInt.asIntN(64, value) === value
  if (!fits)
    throw new HyperslabError('OverflowError', `the sum ${value} does not fit ${dtype}`, { actual: value, expected: dtype })
}

const means = ({ values, counts }: Cells): Float64Array =>
  Float64Array.from(counts, (count, cell) => Number(values[cell]) / count)
