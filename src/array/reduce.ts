import {
  type DataOf,
  type DType,
  type FixedDType,
  isFixed,
  type ScalarOf,
  type TypedArray,
  toBytes,
  toElement,
} from '../core/dtype.js'
import { HyperslabError } from '../core/errors.js'
import { sizeOf } from '../core/shape.js'
import { type Tensor, tensorOf } from '../core/tensor.js'
import { boxShape } from '../grid/range.js'
import { withArena } from '../kernels/arena.js'
import type { ReduceOp, Skip } from '../kernels/reduce.js'
import { type Accumulator, AxisAccumulator, WholeAccumulator } from './accumulator.js'
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

export type ReducedDType<D extends DType, K extends ReductionKind> = K extends 'min' | 'max'
  ? D
  : K extends 'mean'
    ? 'float64'
    : D extends 'int64' | 'uint64'
      ? D
      : 'float64'

/** A scalar for a reduction of everything, a tensor for one along axes. */
export type Reduced<D extends DType, K extends ReductionKind, O> = O extends { readonly axis: AxisOption }
  ? Tensor<ReducedDType<D, K>>
  : ScalarOf<ReducedDType<D, K>>

/**
 * Reduces a source, reading each chunk once and holding one at a time.
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
  const counts = accumulator.counts()
  if (kind === 'min' || kind === 'max') fillEmpty(accumulator.values, counts, source, dtype, options.skipFill ?? false)
  const data = kind === 'mean' ? means(accumulator.values, counts) : accumulator.values
  if (whole) return (dtype === 'bool' && op !== 'sum' ? data[0] !== 0 : data[0]) as ScalarOf<DType>
  const shape = options.keepDims ? cellShape : cellShape.filter((_, axis) => !axes.has(axis))
  return tensorOf(dtype, shape, data as DataOf<FixedDType>)
}

async function addBlocks(source: BlockSource<FixedDType>, accumulator: Accumulator, options: BlockOptions): Promise<void> {
  const { chunks, dtype } = source
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

/** An extreme of nothing has no value: along an axis, cells whose every element was skipped are missing themselves. */
function fillEmpty(
  values: TypedArray,
  counts: Float64Array,
  { fillValue }: BlockSource,
  dtype: FixedDType,
  skipFill: boolean,
): void {
  const along = values.length > 1
  counts.forEach((count, cell) => {
    if (count > 0) return
    if (!along || !skipFill || fillValue === undefined) {
      throw new HyperslabError('EmptyReductionError', 'there is no element to take the minimum or maximum of', { actual: 0 })
    }
    values[cell] = toElement(dtype, fillValue) as never
  })
}

function means(sums: TypedArray, counts: Float64Array): Float64Array {
  return Float64Array.from(counts, (count, cell) => Number(sums[cell]) / count)
}
