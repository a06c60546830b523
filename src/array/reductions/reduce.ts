import { type Accumulator, AxisAccumulator, type Cells, WholeAccumulator } from '../../aggregate/accumulator.ts'
import { CellLayout } from '../../aggregate/cells.ts'
import { deviations, MomentAssembly } from '../../aggregate/moments.ts'
import { givesPositions, PositionAssembly, type PositionReduction } from '../../aggregate/positions.ts'
import { Assembly } from '../../aggregate/reduce-boxes.ts'
import { isPlain, isWhole, type PlacedAggregate, plainOf, type Reduction, unpairedPart } from '../../aggregate/reduction.ts'
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
import { coordsAt, showShape, sizeOf, stridesOf } from '../../core/shape.ts'
import { type Tensor, tensorOf } from '../../core/tensor.ts'
import { wholeBox } from '../../grid/range.ts'
import { withArena } from '../../kernels/arena.ts'
import type { ReduceOp } from '../../kernels/reduce.ts'
import { type AxisOption, resolveAxes } from '../axes.ts'
import { checkBytes, MAX_RESULT_BYTES } from '../bounds.ts'
import { type AffineMap, affineOf } from '../lazy/affine.ts'
import type { BlockOptions, BlockSource, ReduceBoxOptions } from '../source.ts'
import { checkFits, emptyExtreme, emptyReduction } from './fold.ts'
import { checkFoldable, type FoldOptions, foldedDType } from './fold-kinds.ts'
import { type SkipOptions, skipOf, skippedOf } from './rows.ts'
import { eachRun, runsOf } from './runs.ts'

/** Options of reductions. */
export interface ReduceOptions extends ReduceBoxOptions, SkipOptions {
  /**
   * Axes to reduce, by number (negative ones count from the end) or dimension name; all of them when left
   * out.
   */
  readonly axis?: AxisOption | undefined
  /** Keep reduced axes with length 1. */
  readonly keepDims?: boolean
}

export type ReductionKind = 'sum' | 'min' | 'max' | 'mean'

/**
 * Reduces a source, reading each chunk once. Where the source reduces its own boxes, it is left to that;
 * otherwise chunks come in runs of some MiB, of which two are held at a time.
 *
 * A sum of n floats has a relative error (against the sum of absolute values) of about log2(n) * 2^-53 over
 * everything; along axes, where each cell is added to once a row, of at most n * 2^-53. A source that has
 * statistics of its chunks answers from them; the result then is the same but for sums of floats, which may
 * differ by as much as that error, and the sign of an extreme that is 0. Of values that are packed (`scaled`)
 * the packed ones are reduced, and the result is unpacked: terms of a sum are not rounded to float32 one by
 * one.
 */
export async function reduceSource(
  source: BlockSource,
  kind: ReductionKind,
  options: ReduceOptions,
): Promise<Tensor | ScalarOf<DType>> {
  const { dtype } = source
  checkFoldable(kind, dtype)
  const layout = layoutOf(source, options.axis)
  const reduction = reductionOf(source, dtype, kind === 'mean' ? 'sum' : kind, layout, options)
  const cells = await reduceCells(source as BlockSource<FixedDType>, reduction, layout, options)
  return shaped(foldedDType(dtype, kind), valuesOf(source, kind, cells, options), layout, options)
}

/** Both extremes, reading each chunk once. */
export async function extrema(source: BlockSource, options: ReduceOptions): Promise<{ min: unknown; max: unknown }> {
  const { dtype } = source
  checkFoldable('extrema', dtype)
  const layout = layoutOf(source, options.axis)
  const reduction = reductionOf(source, dtype, 'extrema', layout, options)
  const [min, max] = await extremaCells(source as BlockSource<FixedDType>, reduction, layout, options)
  const finished = (op: 'min' | 'max', cells: Cells): unknown =>
    shaped(dtype, valuesOf(source, op, cells, options), layout, options)
  return { min: finished('min', min!), max: finished('max', max!) }
}

/**
 * Variance or standard deviation: of what a source reduces at once, about its mean; then merged (Chan's
 * formula) in the order of parts.
 */
export async function variance(
  source: BlockSource,
  kind: 'variance' | 'std',
  options: ReduceOptions & FoldOptions,
): Promise<Tensor | ScalarOf<DType>> {
  const { dtype } = source
  checkFoldable(kind, dtype)
  const layout = layoutOf(source, options.axis)
  const reduction = reductionOf(source, dtype, 'moments', layout, options)
  const { values, counts } = await reduceCells(source as BlockSource<FixedDType>, reduction, layout, options)
  return shaped('float64', deviations(kind, values as Float64Array, counts, options.ddof ?? 0), layout, options)
}

function reductionOf<Op extends Reduction['op']>(
  source: BlockSource,
  dtype: FixedDType,
  op: Op,
  { reduced }: CellLayout,
  options: ReduceOptions,
): Reduction<Op> {
  return { op, dtype, skip: skipOf(source, options), reduced }
}

function valuesOf(source: BlockSource, kind: ReductionKind, cells: Cells, options: ReduceOptions): TypedArray {
  const dtype = source.dtype as FixedDType
  if (kind === 'mean') return means(cells)
  if (kind === 'sum') return sums(foldedDType(dtype, 'sum'), cells)
  return extremes(dtype, cells, options.axis === undefined ? undefined : emptyExtreme(dtype, skippedOf(source, options)))
}

/**
 * The cells of a reduction of a source along the axes that an option names.
 * @throws InvalidArgumentError for axes that do not exist or are given twice; TooLargeError for more than
 *   2^28 cells
 */
export function layoutOf(source: BlockSource, option: AxisOption | undefined): CellLayout {
  const layout = new CellLayout(source.shape, resolveAxes(option, source))
  // Each has a value and a count.
  checkBytes(source, 16 * layout.size, 2 * MAX_RESULT_BYTES, `the result ${showShape(layout.shape)}`, 'reduce parts of the array')
  return layout
}

/** The cells as users get them: a scalar for a reduction of everything, a tensor for one along axes. */
export function shaped(
  dtype: FixedDType,
  data: TypedArray,
  layout: CellLayout,
  { axis, keepDims }: ReduceOptions,
): Tensor | ScalarOf<DType> {
  if (axis === undefined) return readElement(dtype, data, 0)
  return tensorOf(dtype, layout.resultShape(keepDims), data as DataOf<FixedDType>)
}

/** How a source is made of packed elements, where a reduction of these gives its own. */
function affineFor(source: BlockSource, { skip, places }: Reduction): AffineMap | undefined {
  const map = affineOf(source)
  // Missing elements that are kept make NaN of what they are in, which packed ones do not; and packed ones
  // that differ may be the same when they are unpacked, which is the first of them then.
  return map !== undefined && (skip !== 'none' || map.fill === undefined) && places === undefined ? map : undefined
}

/** Less of what is scaled by less than 0 is more. */
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

function unpackedCells({ values, counts }: Cells, { op, dtype }: Reduction, { scaleFactor, addOffset }: AffineMap): Cells {
  const unpacked = counts.map((count, cell) => {
    const value = Number(values[cell])
    if (op === 'moments') return value * scaleFactor * scaleFactor
    if (op === 'sum') return value * scaleFactor + count * addOffset
    return toElement(dtype, value * scaleFactor + addOffset) as number
  })
  return { values: unpacked, counts }
}

/**
 * Elements that have to come on one cell for parts to be smaller than what they are made of, by a wide
 * margin.
 */
const WORTHWHILE = 32

/** Whether parts of a reduction are worth being made where elements are decoded. */
function shrinks(source: BlockSource, reduction: Reduction): boolean {
  const largest = runsOf(source).chunkShape.map((length, axis) => Math.min(length, source.shape[axis]!))
  const cellsOfRun = largest.map((length, axis) => (reduction.reduced[axis] ? 1 : length))
  return isWhole(reduction) || sizeOf(largest) >= WORTHWHILE * sizeOf(cellsOfRun)
}

/** A reduction of one result. */
type Single = Reduction<ReduceOp | 'moments'>

/**
 * Whether nobody wrote anything in most of the runs of an array, which a source that reduces by itself need
 * not go through.
 */
async function isSparse(source: BlockSource, { signal }: BlockOptions): Promise<boolean> {
  const runs = runsOf(source)
  const written = await source.bulk?.written?.(runs, { signal })
  return written !== undefined && 2 * written.length < runs.count
}

/** How a source reduces its own boxes, where it does and that is worth it. */
async function reducerOf(
  source: BlockSource,
  reduction: Reduction,
  options: BlockOptions,
): Promise<NonNullable<BlockSource['bulk']>['reduce']> {
  const reduce = source.bulk?.reduce
  return reduce !== undefined && (shrinks(source, reduction) || (await isSparse(source, options))) ? reduce : undefined
}

/**
 * The cells of a reduction: of the packed elements where the source is made of such; by the source where it
 * reduces its own boxes; otherwise of runs of its chunks.
 */
export async function reduceCells(
  source: BlockSource<FixedDType>,
  reduction: Single,
  layout: CellLayout,
  options: ReduceBoxOptions,
): Promise<Cells> {
  const map = affineFor(source, reduction)
  if (map !== undefined)
    return unpackedCells(await reduceCells(map.packed, packedReduction(reduction, map), layout, options), reduction, map)
  const reduce = await reducerOf(source, reduction, options)
  if (reduce !== undefined) {
    const assembly = assemblyOf(reduction, layout)
    await reduce(wholeBox(source.shape), reduction, (part) => assembly.take(part), options)
    return assembly.finish()
  }
  const accumulator = accumulatorOf(reduction, layout)
  await accumulate(source, [accumulator], options)
  return accumulator.finish()
}

/** The cells of minima and those of maxima, likewise. */
async function extremaCells(
  source: BlockSource<FixedDType>,
  reduction: Reduction<'extrema'>,
  layout: CellLayout,
  options: ReduceBoxOptions,
): Promise<Cells[]> {
  const map = affineFor(source, reduction)
  if (map !== undefined) {
    const packed = await extremaCells(map.packed, packedReduction(reduction, map), layout, options)
    const unpacked = packed.map((cells) => unpackedCells(cells, reduction, map))
    return map.scaleFactor < 0 ? unpacked.reverse() : unpacked
  }
  const both = plainOf(reduction)
  const reduce = await reducerOf(source, reduction, options)
  if (reduce !== undefined) {
    const assemblies = both.map((each) => new Assembly(each, layout.shape))
    const take = (part: PlacedAggregate): void => {
      for (const [i, assembly] of assemblies.entries()) assembly.take(unpairedPart(part, i))
    }
    await reduce(wholeBox(source.shape), reduction, take, options)
    return assemblies.map((assembly) => assembly.finish())
  }
  const accumulators = both.map((each) => accumulatorOf(each, layout))
  await accumulate(source, accumulators, options)
  return accumulators.map((accumulator) => accumulator.finish())
}

/** What puts parts together. */
function assemblyOf(reduction: Single, layout: CellLayout): Assembly | MomentAssembly | PositionAssembly {
  if (givesPositions(reduction)) return new PositionAssembly(reduction, layout)
  return isPlain(reduction) ? new Assembly(reduction, layout.shape) : new MomentAssembly(reduction, layout)
}

/** What takes in elements. */
function accumulatorOf(reduction: Single, layout: CellLayout): Accumulator {
  if (givesPositions(reduction)) return new PositionAssembly(reduction, layout)
  if (!isPlain(reduction)) return new MomentAssembly(reduction, layout)
  const { op, dtype, skip } = reduction
  return isWhole(reduction) ? new WholeAccumulator(op, dtype, skip) : new AxisAccumulator(op, dtype, skip, layout.shape)
}

async function accumulate(
  source: BlockSource<FixedDType>,
  accumulators: readonly Accumulator[],
  { signal }: BlockOptions,
): Promise<void> {
  await eachRun(source, { signal }, ({ box, tensor }) => {
    withArena((arena) => {
      const pointer = arena.put(toBytes(tensor.data))
      for (const accumulator of accumulators) arena.scratch(() => accumulator.add(arena, box, tensor.shape, pointer))
    })
  })
}

/** @param missing what a cell made of no elements becomes; undefined when there is nothing it could be */
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
 * Where the extremes are: the index of the first smallest (greatest) element in C order, or along one axis
 * the positions on it.
 * @throws InvalidArgumentError for several axes; EmptyReductionError
 */
export async function arg(
  source: BlockSource,
  kind: 'argMin' | 'argMax',
  options: ReduceOptions,
): Promise<readonly number[] | Tensor<'float64'>> {
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
    skip: skipOf(source, options),
    reduced,
    places: whole ? stridesOf(shape) : reduced.map(Number),
  }
  const { counts, places } = await reduceCells(source as BlockSource<FixedDType>, reduction, layout, options)
  if (counts.includes(0) && (whole || reduction.skip === 'none')) throw emptyReduction('position')
  if (!whole) {
    const positions = places!.map((place, cell) => (counts[cell] === 0 ? -1 : place))
    return tensorOf('float64', layout.resultShape(options.keepDims), positions)
  }
  return coordsAt(places![0]!, shape)
}
