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
import { sizeOf } from '../core/shape.js'
import { type Tensor, tensorOf } from '../core/tensor.js'
import { READ_BYTES } from '../grid/chunks.js'
import { boxShape } from '../grid/range.js'
import { withArena } from '../kernels/arena.js'
import type { ReduceOp, Skip } from '../kernels/reduce.js'
import { type Accumulator, AxisAccumulator, type Cells, WholeAccumulator } from './accumulator.js'
import { type AxisOption, resolveAxes } from './axes.js'
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
 * Reduces a source, reading each chunk once, in runs of some MiB, and holding one run at a time.
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
  const accumulator = whole
    ? new WholeAccumulator(op, dtype, skipOf(source, options))
    : new AxisAccumulator(op, dtype, skipOf(source, options), cellShape)
  await addBlocks(source as BlockSource<FixedDType>, accumulator, options)
  const cells = accumulator.finish()
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

async function addBlocks(source: BlockSource<FixedDType>, accumulator: Accumulator, options: BlockOptions): Promise<void> {
  const { dtype } = source
  const chunks = source.chunks.coarsen(READ_BYTES / elementBytes(dtype))
  const largest = chunks.chunkShape.reduce((size, length, axis) => size * Math.min(length, source.shape[axis]!), 1)
  const buffer = tensorOf(dtype, [chunks.count === 0 ? 0 : largest]).data as TypedArray
  for (let number = 0; number < chunks.count; number++) {
    options.signal?.throwIfAborted()
    const box = chunks.box(chunks.index(number))
    const shape = boxShape(box)
    const block = tensorOf(dtype, shape, buffer.subarray(0, sizeOf(shape)) as DataOf<FixedDType>)
    await source.readBlock(box, block, options)
    withArena((arena) => accumulator.add(arena, box, shape, arena.put(toBytes(block.data as TypedArray))))
  }
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
