import { allocate, type FixedDType, type TypedArray, toBytes } from '../../core/dtype.ts'
import { sizeOf } from '../../core/shape.ts'
import { type Box, boxShape } from '../../grid/range.ts'
import { type Arena, withArena } from '../../kernels/arena.ts'
import { type BoxTable, boxesOf } from '../../kernels/boxes.ts'
import { accumulators, cellBytes, counters, type ReduceOp, reduceElements, type Skip } from '../../kernels/reduce.ts'
import { AxisAccumulator, type Cells, cellType, cellWidth, joinedCells, WholeAccumulator } from './accumulator.ts'
import { cellStride } from './cells.ts'
import { momentsOf } from './moment-cells.ts'
import { extremesOf, givesPositions } from './positions.ts'

/** A reduction, as data that other threads understand. */
export interface Reduction<Op = ReduceOp | 'extrema' | 'moments'> {
  /**
   * What a kernel reduces to; minimum and maximum at once, of which each cell has both, one after the other;
   * or the {@link momentsOf} elements, of which variances are made.
   */
  readonly op: Op
  readonly dtype: FixedDType
  readonly skip: Skip
  /** For each axis, whether it is reduced. */
  readonly reduced: readonly boolean[]
  /**
   * For minima and maxima of which the positions are wanted: how much the position grows along each axis,
   * from 0 at the start of the box; 0 along axes that are kept. Parts then have places.
   */
  readonly places?: readonly number[]
}

export const isWhole = ({ reduced }: Reduction): boolean => reduced.every(Boolean)

/**
 * The reductions by kernels that one is made of, whose parts are reduced as elements are; there are none for
 * moments.
 */
export function plainOf(reduction: Reduction): readonly Reduction<ReduceOp>[] {
  const { op } = reduction
  if (op === 'moments') return []
  return op === 'extrema'
    ? [
        { ...reduction, op: 'min' },
        { ...reduction, op: 'max' },
      ]
    : [{ ...reduction, op }]
}

/** Whether a kernel does it, so that parts are reduced as elements are. */
export const isPlain = (reduction: Reduction): reduction is Reduction<ReduceOp> =>
  reduction.op !== 'moments' && reduction.op !== 'extrema'

/**
 * What some elements of an array were reduced to: one cell for each position of the axes that are kept. Cells
 * are as the kernels leave them (of sums of 64-bit integers, two numbers), so that parts can be reduced
 * further without a loss. Of a whole reduction there is one cell, with its value.
 */
export type PartialAggregate = Cells

/** A part with the cells of minima and of maxima, from one of each. */
export function pairedParts(dtype: FixedDType, [min, max]: readonly PartialAggregate[]): PartialAggregate {
  const values = allocate(dtype, 2 * min!.counts.length) as TypedArray
  for (let i = 0; i < values.length; i++) values[i] = (i % 2 === 0 ? min! : max!).values[i >> 1] as never
  return { values, counts: min!.counts }
}

/** The minima (0) or the maxima (1) of such a part. */
export function unpairedPart(part: PlacedAggregate, which: number): PlacedAggregate {
  return { ...part, values: (part.values as TypedArray).filter((_, i) => i % 2 === which) }
}

/** A part and the cells of the result that it belongs to; reduced axes have length 1. */
export interface PlacedAggregate extends PartialAggregate {
  readonly region: Box
}

/**
 * Reduces boxes of elements in kernel memory, one after another.
 * @param base address that offsets count from
 * @param shape of the cells; `place` of a box is the first of its cells
 */
export function reduceBoxes(
  arena: Arena,
  reduction: Reduction,
  table: BoxTable,
  base: number,
  shape: readonly number[],
): PartialAggregate {
  if (!isPlain(reduction)) {
    if (reduction.op === 'moments') return momentsOf(arena, reduction, table, base, shape)
    const both = plainOf(reduction).map((each) => reduceBoxes(arena, each, table, base, shape))
    return pairedParts(reduction.dtype, both)
  }
  const { op, dtype, skip, reduced } = reduction
  if (givesPositions(reduction)) return extremesOf(arena, reduction, table, base, shape)
  if (isWhole(reduction)) {
    const whole = new WholeAccumulator(op, dtype, skip)
    for (const box of boxesOf(table)) arena.scratch(() => whole.addStrided(arena, box.shape, base + box.offset, box.stride))
    return whole.finish()
  }
  const size = sizeOf(shape)
  const cells = accumulators(arena, op, dtype, size)
  const counts = counters(arena, size)
  const own = cellStride(shape, reduced)
  const step = cellBytes(op, dtype)
  for (const { offset, place, shape: boxShape, stride } of boxesOf(table))
    reduceElements(arena, op, dtype, skip, boxShape, base + offset, stride, cells + place * step, own, counts + place * 8)
  const type = cellType(reduction)
  return {
    values: arena.view(type, cells, size * cellWidth(reduction)).slice(),
    counts: arena.view('float64', counts, size).slice(),
  }
}

/** Puts parts together, in the order they come: what they hold is reduced like elements. */
export class Assembly {
  readonly #reduction: Reduction<ReduceOp>
  readonly #whole: WholeAccumulator
  readonly #values: AxisAccumulator
  readonly #counts: AxisAccumulator

  /** @param shape of the array with reduced axes of length 1 */
  constructor(reduction: Reduction<ReduceOp>, shape: readonly number[]) {
    const { op, dtype, skip } = reduction
    this.#reduction = reduction
    this.#whole = new WholeAccumulator(op, dtype, skip)
    this.#values = new AxisAccumulator(op, cellType(reduction), 'none', [...shape, cellWidth(reduction)])
    this.#counts = new AxisAccumulator('sum', 'float64', 'none', shape)
  }

  take({ region, values, counts }: PlacedAggregate): void {
    if (isWhole(this.#reduction)) {
      this.#whole.take(values[0]!, counts[0]!)
      return
    }
    const shape = boxShape(region)
    const width = cellWidth(this.#reduction)
    const lanes = [...region, { start: 0, stop: width, step: 1 }]
    withArena((arena) => this.#values.add(arena, lanes, [...shape, width], arena.put(toBytes(values as TypedArray))))
    withArena((arena) => this.#counts.add(arena, region, shape, arena.put(toBytes(counts))))
  }

  finish(): Cells {
    if (isWhole(this.#reduction)) return this.#whole.finish()
    const counts = Float64Array.from(this.#counts.finish().values as Float64Array)
    return { values: joinedCells(this.#reduction, this.#values.finish().values), counts }
  }
}
