import type { Cells } from '../../aggregate/accumulator.ts'
import { CellLayout, cellBox } from '../../aggregate/cells.ts'
import { absorbedPart, mergedParts, PartMerger } from '../../aggregate/merge.ts'
import { FAN_IN, type MergeTree } from '../../aggregate/merge-tree.ts'
import { deviations } from '../../aggregate/moments.ts'
import { firstPosition, type PositionReduction } from '../../aggregate/positions.ts'
import { reduceBoxes } from '../../aggregate/reduce-boxes.ts'
import {
  isWhole,
  movedPart,
  type PartOp,
  type PlacedAggregate,
  type Reduction,
  splitReduction,
} from '../../aggregate/reduction.ts'
import {
  allocate,
  type DataOf,
  type DType,
  type FixedDType,
  isFloat,
  readElement,
  type ScalarOf,
  type TypedArray,
  toBytes,
  toElement,
} from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { inOrder } from '../../core/in-order.ts'
import { showShape, sizeOf, stridesOf } from '../../core/shape.ts'
import { type Tensor, tensorOf } from '../../core/tensor.ts'
import type { ChunkGrid } from '../../grid/chunks.ts'
import { boxShape, wholeBox } from '../../grid/range.ts'
import { hullOf } from '../../grid/touched.ts'
import { withArena } from '../../kernels/arena.ts'
import { createBoxTable } from '../../kernels/boxes.ts'
import { type AxisOption, resolveAxes } from '../axes.ts'
import { checkBytes, MAX_RESULT_BYTES } from '../bounds.ts'
import { type AffineMap, findAffine } from '../lazy/affine.ts'
import { runsOf } from '../read-whole.ts'
import { type BlockOptions, type BlockSource, bytesOf, type ReduceBoxOptions } from '../source.ts'
import { checkFits, emptyExtreme, emptyReduction } from './fold.ts'
import { checkFoldable, type FoldOptions, foldedDType } from './fold-kinds.ts'
import { type SkipOptions, skippedOf, toSkipRule } from './rows.ts'
import { eachRun } from './runs.ts'
import { type DividedReduction, firstPiece, type PiecedUnits, type UnitNode, unitNodes, unitsAlong } from './units.ts'

/** Options of reductions. */
export interface ReduceOptions extends ReduceBoxOptions, SkipOptions {
  /** Axes to reduce, by number (negative ones count from the end) or dimension name; default all. */
  readonly axis?: AxisOption | undefined
  /** Whether to keep reduced axes with length 1. Default: false. */
  readonly keepDims?: boolean
}

export type ReductionKind = 'sum' | 'min' | 'max' | 'mean'

/**
 * Divides a reduction of a source, which reads each chunk once. A source with a bulk reduction reduces its
 * own boxes. Otherwise units are read, two at a time.
 *
 * The relative error of a sum of n floats (against the sum of absolute values) is about log2(n) * 2^-53 for
 * the whole array. Along axes, where each cell grows once per row, it is at most n * 2^-53. A source with
 * chunk statistics uses them. The result is then the same, except for the error of float sums and the sign of
 * an extreme that is 0. For packed values (`scaled`), the packed ones are reduced and the result is unpacked.
 * Terms of a sum are therefore not rounded to float32 one by one.
 */
export function divideFold(
  source: BlockSource,
  kind: ReductionKind,
  options: ReduceOptions,
  unitBytes: number,
): DividedReduction<PlacedAggregate, Tensor | ScalarOf<DType>> {
  const { dtype } = source
  checkFoldable(kind, dtype)
  const layout = layoutOf(source, options.axis)
  const reduction = createReduction(source, dtype, kind === 'mean' ? 'sum' : kind, layout, options)
  return divide(source, reduction, layout, unitBytes, ([cells]) =>
    shaped(foldedDType(dtype, kind), valuesOf(source, kind, cells!, options), layout, options),
  )
}

/** Divides the reduction to minimum and maximum, which reads each chunk once. */
export function divideExtrema(
  source: BlockSource,
  options: ReduceOptions,
  unitBytes: number,
): DividedReduction<PlacedAggregate, { min: unknown; max: unknown }> {
  const { dtype } = source
  checkFoldable('extrema', dtype)
  const layout = layoutOf(source, options.axis)
  const reduction = createReduction(source, dtype, 'extrema', layout, options)
  const finished = (op: 'min' | 'max', cells: Cells): unknown =>
    shaped(dtype, valuesOf(source, op, cells, options), layout, options)
  return divide(source, reduction, layout, unitBytes, ([min, max]) => ({
    min: finished('min', min!),
    max: finished('max', max!),
  }))
}

/** Statistics of elements, each of type `T`; extremes of type `E`. */
export interface DescribeResult<T = number, E = unknown> {
  /** Number of elements that are not skipped. */
  readonly count: T
  /** Number of skipped elements: missing ones and, with `skipNaN`, NaN. */
  readonly missing: T
  /** Smallest element; undefined if `count` is 0. */
  readonly min: E
  /** Greatest element; undefined if `count` is 0. */
  readonly max: E
  /** Arithmetic mean; NaN if `count` is 0, and for `timestamp_ns`, whose mean is no number. */
  readonly mean: T
  /** Standard deviation; NaN where the mean is, and without `std`. */
  readonly std: T
}

/** Options of `describe`. */
export interface DescribeOptions extends ReduceOptions, FoldOptions {
  /**
   * Whether to compute the standard deviation; default true. Without it, statistics of chunks suffice if the
   * source has them.
   */
  readonly std?: boolean
}

/**
 * Divides the description, which reads each chunk once. Each member has the bits of the reduction of its
 * name.
 */
export function divideDescription(
  source: BlockSource,
  options: DescribeOptions,
  unitBytes: number,
): DividedReduction<PlacedAggregate, DescribeResult<unknown>> {
  const { dtype, shape } = source
  const isTime = dtype === 'timestamp_ns'
  if (!isTime) checkFoldable('mean', dtype)
  const layout = layoutOf(source, options.axis)
  const op = isTime ? 'extrema' : options.std === false ? 'summary' : 'description'
  const reduction = createReduction(source, dtype, op, layout, options)
  const size = sizeOf(shape) / layout.size
  const numbers = (data: TypedArray): unknown => shaped('float64', data, layout, options)
  return divide(source, reduction, layout, unitBytes, ([min, max, sum, moments]) => {
    const { counts } = min!
    const isEmpty = options.axis === undefined && counts[0] === 0
    const extreme = (op: 'min' | 'max', cells: Cells): unknown =>
      isEmpty ? undefined : shaped(dtype, valuesOf(source, op, cells, options), layout, options)
    const none = counts.map(() => Number.NaN)
    return {
      count: numbers(counts),
      missing: numbers(counts.map((count) => size - count)),
      min: extreme('min', min!),
      max: extreme('max', max!),
      mean: numbers(sum === undefined ? none : means(sum)),
      std: numbers(moments === undefined ? none : deviations('std', moments.values as Float64Array, counts, options.ddof ?? 0)),
    }
  })
}

/**
 * Divides variance or standard deviation. Each part that a source reduces at once is relative to its own
 * mean; parts are merged in order by Chan's formula.
 */
export function divideVariance(
  source: BlockSource,
  kind: 'variance' | 'std',
  options: ReduceOptions & FoldOptions,
  unitBytes: number,
): DividedReduction<PlacedAggregate, Tensor | ScalarOf<DType>> {
  const { dtype } = source
  checkFoldable(kind, dtype)
  const layout = layoutOf(source, options.axis)
  const reduction = createReduction(source, dtype, 'moments', layout, options)
  return divide(source, reduction, layout, unitBytes, ([cells]) => {
    const { values, counts } = cells!
    return shaped('float64', deviations(kind, values as Float64Array, counts, options.ddof ?? 0), layout, options)
  })
}

function createReduction<Op extends Reduction['op']>(
  source: BlockSource,
  dtype: FixedDType,
  op: Op,
  { reduced }: CellLayout,
  options: ReduceOptions,
): Reduction<Op> {
  return { op, dtype, skip: toSkipRule(source, options), reduced }
}

function valuesOf(source: BlockSource, kind: ReductionKind, cells: Cells, options: ReduceOptions): TypedArray {
  const dtype = source.dtype as FixedDType
  if (kind === 'mean') return means(cells)
  if (kind === 'sum') return sums(foldedDType(dtype, 'sum'), cells)
  return extremes(dtype, cells, options.axis === undefined ? undefined : emptyExtreme(dtype, skippedOf(source, options)))
}

/**
 * Returns the cells of a reduction along the axes of an option.
 * @throws InvalidArgumentError for axes that do not exist or are given twice; TooLargeError for more than
 *   2^28 cells
 */
export function layoutOf(source: BlockSource, option: AxisOption | undefined): CellLayout {
  const layout = new CellLayout(source.shape, resolveAxes(option, source))
  // Each cell has a value and a count.
  checkBytes(source, 16 * layout.size, 2 * MAX_RESULT_BYTES, `the result ${showShape(layout.shape)}`, 'reduce parts of the array')
  return layout
}

/** Converts cells to the user's result: a scalar for a whole reduction, a tensor for one along axes. */
export function shaped(
  dtype: FixedDType,
  data: TypedArray,
  layout: CellLayout,
  { axis, keepDims }: ReduceOptions,
): Tensor | ScalarOf<DType> {
  if (axis === undefined) return readElement(dtype, data, 0)
  return tensorOf(dtype, layout.resultShape(keepDims), data as DataOf<FixedDType>)
}

/** Returns how a source is unpacked, if reducing its packed elements gives the same result. */
function affineFor(source: BlockSource, { skip, places }: Reduction): AffineMap | undefined {
  const map = findAffine(source)
  // A missing element that is not skipped makes its cell NaN, but its packed value would not. Different
  // packed values may unpack to equal values, of which the first counts for positions.
  return map !== undefined && (skip !== 'none' || map.fill === undefined) && places === undefined ? map : undefined
}

/** A negative scale swaps minimum and maximum. */
const OPPOSITE: Partial<Record<Reduction['op'], Reduction['op']>> = { min: 'max', max: 'min' }

function packedReduction<Op extends Reduction['op']>(
  reduction: Reduction<Op>,
  { packed: { dtype }, scaleFactor, fill }: AffineMap,
): Reduction<Op> {
  const { op, skip } = reduction
  const turned = scaleFactor < 0 ? (OPPOSITE[op] ?? op) : op
  const nan = skip !== 'none' && isFloat(dtype)
  return { ...reduction, op: turned as Op, dtype, skip: fill !== undefined ? { fill, nan } : nan ? 'nan' : 'none' }
}

/** @param op operation that the packed cells result from */
function unpackedCells({ values, counts }: Cells, op: PartOp, dtype: FixedDType, { scaleFactor, addOffset }: AffineMap): Cells {
  const unpacked = counts.map((count, cell) => {
    const value = Number(values[cell])
    if (op === 'moments') return value * scaleFactor * scaleFactor
    if (op === 'sum') return value * scaleFactor + count * addOffset
    return toElement(dtype, value * scaleFactor + addOffset) as number
  })
  return { values: unpacked, counts }
}

/** Elements per cell, from which parts are much smaller than their elements. */
const WORTHWHILE = 32

/** Whether reducing where elements are decoded pays off. */
function shrinks(source: BlockSource, reduction: Reduction): boolean {
  const largest = runsOf(source).chunkShape.map((length, axis) => Math.min(length, source.shape[axis]!))
  const cellsOfRun = largest.map((length, axis) => (reduction.reduced[axis] ? 1 : length))
  return isWhole(reduction) || sizeOf(largest) >= WORTHWHILE * sizeOf(cellsOfRun)
}

/** Whether most runs of an array are unwritten, so that a source with a bulk reduction can skip them. */
async function isSparse(source: BlockSource, { signal }: BlockOptions): Promise<boolean> {
  const runs = runsOf(source)
  const written = await source.bulk?.written?.(runs, { signal })
  return written !== undefined && 2 * written.length < runs.count
}

/** Returns the bulk reduction of a source, if it has one and it pays off. */
async function chooseReducer(
  source: BlockSource,
  reduction: Reduction,
  options: BlockOptions,
): Promise<NonNullable<BlockSource['bulk']>['reduce']> {
  const reduce = source.bulk?.reduce
  return reduce !== undefined && (shrinks(source, reduction) || (await isSparse(source, options))) ? reduce : undefined
}

/**
 * Divides a reduction into units. It reduces packed elements if the source is unpacked from some, or uses the
 * source's bulk reduction, or reduces units as they are read.
 * @param result converts the cells; for extrema it receives those of minima and those of maxima
 */
function divide<R>(
  source: BlockSource,
  reduction: Reduction,
  layout: CellLayout,
  unitBytes: number,
  result: (cells: readonly Cells[]) => R,
): DividedReduction<PlacedAggregate, R> {
  const map = affineFor(source, reduction)
  if (map !== undefined) {
    return divide(map.packed, packedReduction(reduction, map), layout, unitBytes, (packed) => {
      const each = splitReduction(reduction)
      const cells = packed.map((part, i) => unpackedCells(part, each[i]!.op, reduction.dtype, map))
      const [min, max, ...others] = cells
      return result(max !== undefined && map.scaleFactor < 0 ? [max, min!, ...others] : cells)
    })
  }
  const pieced = unitsAlong(source, unitBytes, reduction.reduced)
  const { units } = pieced
  return {
    units,
    merge: (parts) => mergedParts(reduction, parts),
    absorb: (part, more) => absorbedPart(reduction, part, more),
    finish(all) {
      const merger = new PartMerger(reduction, wholeBox(layout.shape))
      if (all !== undefined) merger.take(all)
      return result(merger.cells())
    },
    async reduce(from, to, tree, options) {
      const reduce = await chooseReducer(source, reduction, options)
      if (reduce === undefined)
        await reduceAsRead(source as BlockSource<FixedDType>, reduction, pieced, [from, to], tree, options)
      else await reduceInPlace(source, reduce, reduction, units, [from, to], tree, options)
    },
  }
}

type Parts = MergeTree<PlacedAggregate>

/** Largest sum of bytes of units under way in a bulk reduction, and their largest number. */
const MAX_BYTES = 128 * 2 ** 20
const MAX_UNITS = 8

/** Returns the largest number of units of this size under way at the same time. */
export const unitsUnderWay = (unitBytes: number): number => Math.min(MAX_UNITS, Math.max(1, Math.floor(MAX_BYTES / unitBytes)))

async function reduceInPlace(
  source: BlockSource,
  reduce: NonNullable<NonNullable<BlockSource['bulk']>['reduce']>,
  reduction: Reduction,
  units: ChunkGrid,
  between: readonly [number, number],
  tree: Parts,
  options: ReduceBoxOptions,
): Promise<void> {
  const { signal } = options
  const written = units.count > FAN_IN && isExact(source, reduction) ? await source.bulk?.written?.(units, { signal }) : undefined
  const limits = { count: unitsUnderWay(bytesOf(source.dtype) * sizeOf(units.chunkShape)) }
  const work = async ({ boxes, level }: UnitNode): Promise<{ part: PlacedAggregate | undefined; level: number }> => {
    signal?.throwIfAborted()
    const merger = new PartMerger(reduction, cellBox(hullOf(boxes), reduction.reduced))
    let taken = false
    for (const box of boxes) {
      const first = cellBox(box, reduction.reduced).map(({ start }) => start)
      const take = (part: PlacedAggregate): void => {
        const region = part.region.map(({ start, stop, step }, axis) => {
          const by = first[axis]!
          return { start: start + by, stop: stop + by, step }
        })
        taken = true
        merger.take(movedPart(part, region, firstPosition(reduction, box)))
      }
      await reduce(box, reduction, take, options)
    }
    return { part: taken ? merger.finish() : undefined, level }
  }
  await inOrder(unitNodes(units, between, written), limits, work, ({ part, level }) => tree.add(part, level))
}

/**
 * Whether the unwritten elements of many units can be added at once without changing the result. For float
 * sums, this holds if no multiple of the fill value is rounded.
 */
function isExact({ dtype, fillValue, shape }: BlockSource, { op, skip }: Reduction): boolean {
  let odd = Math.abs(Number(fillValue ?? 0))
  if (op !== 'sum' || !isFloat(dtype) || skip !== 'none' || odd === 0 || !Number.isFinite(odd)) return true
  while (!Number.isInteger(odd)) odd *= 2
  while (odd % 2 === 0) odd /= 2
  return odd * sizeOf(shape) <= 2 ** 53
}

async function reduceAsRead(
  source: BlockSource<FixedDType>,
  reduction: Reduction,
  pieced: PiecedUnits,
  [from, to]: readonly [number, number],
  tree: Parts,
  { signal }: BlockOptions,
): Promise<void> {
  const between = [firstPiece(pieced, from), firstPiece(pieced, to)] as const
  let [piece, unit, end] = [between[0], from, between[0]]
  let part: PlacedAggregate | undefined
  // All pieces of a unit are reduced to the same cells.
  await eachRun(source, { signal, runs: pieced.pieces, between }, ({ box, tensor: { shape, data } }) => {
    if (piece === end) end = firstPiece(pieced, ++unit)
    const region = cellBox(box, reduction.reduced)
    const elements = { offset: 0, cell: 0, first: firstPosition(reduction, box), shape, stride: stridesOf(shape) }
    const table = createBoxTable(shape.length, [elements])
    const parts = withArena((arena) =>
      reduceBoxes(arena, reduction, table, arena.put(toBytes(data)), boxShape(region), part?.parts),
    )
    part = { parts, region }
    if (++piece < end) return
    tree.add(part)
    part = undefined
  })
}

/** @param missing value of cells without elements; undefined throws instead */
function extremes(dtype: FixedDType, { values, counts }: Cells, missing: unknown): TypedArray {
  const data = allocate(dtype, values.length) as TypedArray
  counts.forEach((count, cell) => {
    if (count === 0 && missing === undefined) {
      throw emptyReduction('minimum or maximum')
    }
    data[cell] = (count === 0 ? missing : values[cell]) as never
  })
  return data
}

function sums(dtype: FixedDType, { values }: Cells): TypedArray {
  const data = allocate(dtype, values.length) as TypedArray
  for (let cell = 0; cell < data.length; cell++) {
    const value = values[cell]!
    data[cell] = (typeof value === 'bigint' ? checkFits('sum', value, dtype) : value) as never
  }
  return data
}

const means = ({ values, counts }: Cells): Float64Array =>
  Float64Array.from(counts, (count, cell) => Number(values[cell]) / count)

/**
 * Divides the search for positions of extremes: the position in C order of the first smallest (largest)
 * element, or positions along one axis.
 * @throws InvalidArgumentError for several axes; when finished, EmptyReductionError if there are no
 *   elements
 */
export function divideArg(
  source: BlockSource,
  kind: 'argMin' | 'argMax',
  options: ReduceOptions,
  unitBytes: number,
): DividedReduction<PlacedAggregate, number | Tensor<'float64'>> {
  const { dtype, shape } = source
  checkFoldable(kind, dtype)
  const layout = layoutOf(source, options.axis)
  const whole = options.axis === undefined
  if (!whole && layout.axes.size !== 1) {
    throw new HyperslabError('InvalidArgumentError', `${kind} takes one axis, or none for all of the array`, {
      actual: options.axis,
    })
  }
  const { reduced } = layout
  const reduction: PositionReduction = {
    op: kind === 'argMin' ? 'min' : 'max',
    dtype,
    skip: toSkipRule(source, options),
    reduced,
    places: whole ? stridesOf(shape) : reduced.map(Number),
  }
  return divide(source, reduction, layout, unitBytes, ([cells]) => {
    const { counts, places } = cells!
    if (counts.includes(0) && (whole || reduction.skip === 'none')) throw emptyReduction('position')
    if (whole) return places![0]!
    const positions = places!.map((place, cell) => (counts[cell] === 0 ? -1 : place))
    return tensorOf('float64', layout.resultShape(options.keepDims), positions)
  })
}
