import { type TypedArray, toBytes } from '../core/dtype.ts'
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
 * @param base address that offsets are relative to
 * @param shape of the cells; `place` of a box is the first of its cells
 * @param before earlier result of the same cells, which is modified; for reductions for which {@link
 *   goesOn} is true
 */
export function reduceBoxes(
  arena: Arena,
  reduction: Reduction,
  table: BoxTable,
  base: number,
  shape: readonly number[],
  before?: PartialAggregate,
): PartialAggregate {
  if (!isPlain(reduction)) {
    if (reduction.op === 'moments') return momentsOf(arena, reduction, table, base, shape)
    const both = plainOf(reduction).map((each, half) =>
      reduceBoxes(arena, each, table, base, shape, before && halfOf(before, half)),
    )
    return before ?? pairedParts(reduction.dtype, both)
  }
  const { op, dtype, skip, reduced } = reduction
  if (givesPositions(reduction)) return extremesOf(arena, reduction, table, base, shape)
  if (isWhole(reduction)) {
    const whole = new WholeAccumulator(op, dtype, skip)
    for (const box of boxesOf(table)) arena.scratch(() => whole.add(arena, box.shape, base + box.offset, box.stride))
    return whole.finish()
  }
  const size = sizeOf(shape)
  const values = before?.values as TypedArray | undefined
  const cells = values === undefined ? accumulators(arena, op, dtype, size) : arena.put(toBytes(values))
  const each = countOfEach(reduction, table, size)
  const counts = each !== undefined ? 0 : before === undefined ? counters(arena, size) : arena.put(toBytes(before.counts))
  const own = cellStride(shape, reduced)
  const step = cellBytes(op, dtype)
  for (const { offset, place, shape: boxShape, stride } of boxesOf(table)) {
    const counter = counts === 0 ? 0 : counts + place * 8
    reduceElements(arena, op, dtype, skip, boxShape, base + offset, stride, cells + place * step, own, counter)
  }
  const found = arena.view(cellType(reduction), cells, size * cellWidth(reduction)) as TypedArray
  if (before === undefined || values === undefined) {
    const counted = each === undefined ? arena.view('float64', counts, size).slice() : new Float64Array(size).fill(each)
    return { values: found.slice(), counts: counted }
  }
  values.set(found as never)
  if (each === undefined) before.counts.set(arena.view('float64', counts, size))
  else for (let cell = 0; cell < size; cell++) before.counts[cell]! += each
  return before
}

/** Whether later elements may be reduced into an earlier result, as if all had come together. */
export const goesOn = (reduction: Reduction): boolean =>
  reduction.op !== 'moments' && !givesPositions(reduction) && !isWhole(reduction)

/**
 * Returns the cells of minima or of maxima to continue with. The counts, which both share, must change only
 * once.
 */
function halfOf({ values, counts }: PartialAggregate, half: number): PartialAggregate {
  const size = counts.length
  const own = (values as TypedArray).subarray(half * size, (half + 1) * size)
  return { values: own, counts: half === 0 ? counts.slice() : counts }
}

/** Returns the number of elements per cell if it is constant; counting takes longer than comparing. */
function countOfEach({ skip, reduced }: Reduction, table: BoxTable, size: number): number | undefined {
  if (skip !== 'none') return undefined
  let count = 0
  for (const { shape } of boxesOf(table)) {
    const elements = sizeOf(shape)
    if (sizeOf(shape.filter((_, axis) => !reduced[axis])) !== size) return undefined
    count += elements / size
  }
  return count
}

/** Reduces a box whose elements all equal one, given as its bytes. */
export function reduceConstant(reduction: Reduction, element: Uint8Array, box: Box): PlacedAggregate {
  const region = cellBox(box, reduction.reduced)
  const shape = boxShape(box)
  // Broadcasts the element (stride 0) over the cells.
  const boxes = [{ offset: 0, place: 0, first: positionOf(reduction, box), shape, stride: shape.map(() => 0) }]
  return withArena((arena) => {
    const pointer = arena.put(element)
    return { ...reduceBoxes(arena, reduction, tableOf(shape.length, boxes), pointer, boxShape(region)), region }
  })
}
