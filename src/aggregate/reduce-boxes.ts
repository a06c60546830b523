import { type TypedArray, toBytes } from '../core/dtype.ts'
import { sizeOf } from '../core/shape.ts'
import { type Box, boxShape } from '../grid/range.ts'
import { type Arena, withArena } from '../kernels/arena.ts'
import { type BoxTable, boxesOf, tableOf } from '../kernels/boxes.ts'
import { accumulators, cellBytes, counters, type ReduceOp, reduceElements } from '../kernels/reduce.ts'
import { AxisAccumulator, type Cells, cellType, cellWidth, joinedCells, WholeAccumulator } from './accumulator.ts'
import { cellBox, cellStride } from './cells.ts'
import { momentsOf } from './moments.ts'
import { extremesOf, givesPositions, positionOf } from './positions.ts'
import {
  isPlain,
  isWhole,
  type PartialAggregate,
  type PlacedAggregate,
  pairedParts,
  plainOf,
  type Reduction,
} from './reduction.ts'

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

/** What a box is reduced to of which all elements are one, given as its bytes. */
export function reduceConstant(reduction: Reduction, element: Uint8Array, box: Box): PlacedAggregate {
  const region = cellBox(box, reduction.reduced)
  const shape = boxShape(box)
  // The element lies everywhere; its cells do not.
  const boxes = [{ offset: 0, place: 0, first: positionOf(reduction, box), shape, stride: shape.map(() => 0) }]
  return withArena((arena) => {
    const pointer = arena.put(element)
    return { ...reduceBoxes(arena, reduction, tableOf(shape.length, boxes), pointer, boxShape(region)), region }
  })
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
