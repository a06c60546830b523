import { cellType, cellWidth, WholeAccumulator } from '../aggregate/accumulator.ts'
import { cellStride } from '../aggregate/cells.ts'
import { givesPositions } from '../aggregate/positions.ts'
import { isPlain, isWhole, type PartialAggregate, type PartOp, type Reduction } from '../aggregate/reduction.ts'
import { type FixedDType, isBigInt, isFloat, type TypedArray } from '../core/dtype.ts'
import { sizeOf } from '../core/shape.ts'
import type { AxisProjection } from '../grid/projection.ts'
import { withArena } from '../kernels/arena.ts'
import { accumulators, type ReduceOp } from '../kernels/reduce.ts'
import type { ChunkStats } from './chunk-stats.ts'

/** Result of reducing some elements. */
export interface Aggregate {
  /** Meaningless if `count` is 0. */
  readonly value: number | bigint
  readonly count: number
}

/** Largest number of cells that are held at once. Beyond it, chunks are read. */
const MAX_CELLS = 2 ** 20

/** @param shape of the cells */
export const canUseStats = (each: readonly Reduction<PartOp>[], shape: readonly number[]): boolean =>
  each.every((one) => isPlain(one) && !givesPositions(one)) && sizeOf(shape) <= MAX_CELLS

/**
 * Reduces the elements of a chunk by its statistics; undefined if these are less precise than reading.
 * @param fill element that the statistics count as null; undefined if they count none
 */
export function aggregateFromStats(
  reduction: Reduction<ReduceOp>,
  stats: ChunkStats,
  fill: number | bigint | undefined,
): Aggregate | undefined {
  const { op, dtype, skip } = reduction
  if (givesPositions(reduction)) return undefined
  const skipsNaNs = skip === 'nan' || (typeof skip === 'object' && skip.nan === true)
  const skipsFill = skip === 'nan' ? Number.isNaN(fill) : skip !== 'none'
  // Statistics cannot skip a value other than the fill value.
  if (typeof skip === 'object') {
    const skipped = dtype === 'float32' ? Math.fround(skip.fill as number) : skip.fill
    if (fill === undefined || !same(skipped, fill)) return undefined
  }
  const fills = skipsFill ? 0 : stats.nullCount
  const nans = skipsNaNs ? 0 : stats.nanCount
  const count = stats.count + fills + nans
  if (nans > 0) return { value: Number.NaN, count }
  const value = op === 'sum' ? sum(dtype, stats, fills, fill ?? 0) : extreme(op, stats, fills, fill ?? 0)
  return value === undefined ? undefined : { value, count }
}

const same = (a: number | bigint, b: number | bigint): boolean => a === b || (Number.isNaN(a) && Number.isNaN(b))

function extreme(op: string, { count, min, max }: ChunkStats, fills: number, fill: number | bigint): number | bigint {
  const end = (op === 'min' ? min : max) as number | bigint
  if (fills === 0) return end ?? fill
  if (count === 0 || Number.isNaN(fill)) return fill
  return (op === 'min' ? fill < end : fill > end) ? fill : end
}

function sum(
  dtype: FixedDType,
  { sum, min, max }: ChunkStats,
  fills: number,
  fill: number | bigint,
): number | bigint | undefined {
  if (!isFloat(dtype)) {
    // Sums of small integers are stored as float64, which rounds large ones.
    if (typeof sum === 'number' && !Number.isSafeInteger(sum)) return undefined
    const exact = BigInt(sum) + BigInt(fills) * BigInt(fill)
    return isBigInt(dtype) ? exact : Number(exact)
  }
  // A sum of finite elements may overflow in one order and not in another.
  if (!Number.isFinite(sum) && Number.isFinite(min) && Number.isFinite(max)) return undefined
  return fills === 0 ? sum : (sum as number) + fills * (fill as number)
}

/** Collects aggregates of chunks and returns them as one part of a reduction. */
export class StatsAggregate {
  readonly #reduction: Reduction<ReduceOp>
  readonly #shape: readonly number[]
  readonly #stride: readonly number[]
  readonly #whole: WholeAccumulator | undefined
  #cells: { readonly values: TypedArray; readonly counts: Float64Array } | undefined

  /** @param shape of the cells */
  constructor(reduction: Reduction<ReduceOp>, shape: readonly number[]) {
    const { op, dtype, skip, reduced } = reduction
    this.#reduction = reduction
    this.#shape = shape
    this.#stride = cellStride(shape, reduced)
    this.#whole = isWhole(reduction) ? new WholeAccumulator(op, dtype, skip) : undefined
  }

  /** @param projections of a chunk whose elements are all reduced to one cell */
  add({ value, count }: Aggregate, projections: readonly Pick<AxisProjection, 'to'>[]): void {
    if (count === 0) return
    if (this.#whole !== undefined) {
      this.#whole.take(value, count)
      return
    }
    this.#cells ??= this.#empty()
    const { values, counts } = this.#cells
    const at = projections.reduce((sum, { to }, axis) => sum + to.start * this.#stride[axis]!, 0)
    counts[at]! += count
    if (this.#reduction.op === 'sum') this.#addSum(values, at, value)
    else if (!Number.isNaN(values[at])) {
      const old = values[at]!
      const better = this.#reduction.op === 'min' ? value < old : value > old
      if (better || Number.isNaN(value)) values[at] = value as never
    }
  }

  /** Returns the cells of all aggregates; undefined if there are none. */
  finish(): PartialAggregate | undefined {
    return this.#whole?.finish() ?? this.#cells
  }

  /** Adds to a cell of the kernels. Cells of 64-bit integers are sums of the low and of the high halves. */
  #addSum(values: TypedArray, at: number, value: number | bigint): void {
    const { dtype } = this.#reduction
    if (isFloat(dtype)) {
      ;(values as Float64Array)[at]! += value as number
      return
    }
    const sums = values as BigInt64Array
    if (!isBigInt(dtype)) sums[at]! += BigInt(value)
    else {
      sums[2 * at]! += BigInt.asUintN(32, value as bigint)
      sums[2 * at + 1]! += (value as bigint) >> 32n
    }
  }

  #empty(): { values: TypedArray; counts: Float64Array } {
    const { op, dtype } = this.#reduction
    const size = sizeOf(this.#shape)
    const values = withArena((arena) => {
      const cells = accumulators(arena, op, dtype, size)
      return arena.view(cellType(this.#reduction), cells, size * cellWidth(this.#reduction)).slice()
    })
    return { values, counts: new Float64Array(size) }
  }
}
