import { sizeOf } from '../core/shape.ts'
import { type Box, boxShape } from '../grid/range.ts'
import { type Arena, withArena } from '../kernels/arena.ts'
import { type BoxTable, boxesOf, tableOf } from '../kernels/boxes.ts'
import { accumulators, cellBytes, counters, reduceElements } from '../kernels/reduce.ts'
import { cellType, cellWidth, WholeAccumulator } from './accumulator.ts'
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
    for (const box of boxesOf(table)) arena.scratch(() => whole.add(arena, box.shape, base + box.offset, box.stride))
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
