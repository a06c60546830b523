import { type TypedArray, toBytes } from '../core/dtype.ts'
import { sizeOf } from '../core/shape.ts'
import { type Box, boxShape } from '../grid/range.ts'
import { type Arena, withArena } from '../kernels/arena.ts'
import { type BoxTable, createBoxTable, listBoxes } from '../kernels/boxes.ts'
import { accumulators, cellBytes, counters, reduceElements } from '../kernels/reduce.ts'
import { cellType, cellWidth, WholeAccumulator } from './accumulator.ts'
import { cellBox, cellStride } from './cells.ts'
import { mergedCells } from './merge.ts'
import { reduceToMoments } from './moments.ts'
import { firstPosition, givesPositions, reduceToExtremes } from './positions.ts'
import {
  isPlain,
  isWhole,
  type PartialAggregate,
  type PartOp,
  type PlacedAggregate,
  type Reduction,
  splitReduction,
} from './reduction.ts'

/**
 * Reduces boxes of elements in kernel memory, one operation after another, each box after another.
 * @param base address that offsets are relative to
 * @param shape of the cells; `place` of a box is the first of its cells
 * @param before earlier parts of the same cells, at least two, which are modified
 */
export function reduceBoxes(
  arena: Arena,
  reduction: Reduction,
  table: BoxTable,
  base: number,
  shape: readonly number[],
  before?: readonly PartialAggregate[],
): PartialAggregate[] {
  const parts: PartialAggregate[] = []
  for (const [i, each] of splitReduction(reduction).entries())
    parts.push(arena.scratch(() => reduceCells(arena, each, table, base, shape, before?.[i], parts[0]?.counts)))
  return parts
}

/**
 * Reduces boxes of elements by one operation.
 * @param counted the numbers of elements of the cells, if they are known
 */
function reduceCells(
  arena: Arena,
  reduction: Reduction<PartOp>,
  table: BoxTable,
  base: number,
  shape: readonly number[],
  before: PartialAggregate | undefined,
  counted: Float64Array | undefined,
): PartialAggregate {
  if (!isPlain(reduction) || givesPositions(reduction)) {
    const found = givesPositions(reduction)
      ? reduceToExtremes(arena, reduction, table, base, shape)
      : reduceToMoments(arena, reduction, table, base, shape)
    return before === undefined ? found : mergedCells(reduction, before, found)
  }
  const { op, dtype, skip, reduced } = reduction
  if (isWhole(reduction)) {
    const whole = new WholeAccumulator(op, dtype, skip)
    for (const box of listBoxes(table)) arena.scratch(() => whole.add(arena, box.shape, base + box.offset, box.stride))
    return whole.finish()
  }
  const size = sizeOf(shape)
  const values = before?.values as TypedArray | undefined
  const cells = values === undefined ? accumulators(arena, op, dtype, size) : arena.put(toBytes(values))
  const each = counted === undefined ? countOfEach(reduction, table, size) : undefined
  const isKnown = each !== undefined || counted !== undefined
  const counts = isKnown ? 0 : before === undefined ? counters(arena, size) : arena.put(toBytes(before.counts))
  const own = cellStride(shape, reduced)
  const step = cellBytes(op, dtype)
  for (const { offset, cell, shape: boxShape, stride } of listBoxes(table)) {
    const counter = counts === 0 ? 0 : counts + cell * 8
    reduceElements(arena, op, dtype, skip, boxShape, base + offset, stride, cells + cell * step, own, counter)
  }
  const found = arena.view(cellType(reduction), cells, size * cellWidth(reduction)) as TypedArray
  const taken = counts === 0 ? counted : arena.view('float64', counts, size)
  if (before === undefined || values === undefined)
    return { values: found.slice(), counts: taken?.slice() ?? new Float64Array(size).fill(each!) }
  values.set(found as never)
  if (taken !== undefined) before.counts.set(taken)
  else for (let cell = 0; cell < size; cell++) before.counts[cell]! += each!
  return before
}

/** Returns the number of elements per cell if it is constant; counting takes longer than comparing. */
function countOfEach({ skip, reduced }: Reduction, table: BoxTable, size: number): number | undefined {
  if (skip !== 'none') return undefined
  let count = 0
  for (const { shape } of listBoxes(table)) {
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
  const boxes = [{ offset: 0, cell: 0, first: firstPosition(reduction, box), shape, stride: shape.map(() => 0) }]
  return withArena((arena) => {
    const pointer = arena.put(element)
    return { parts: reduceBoxes(arena, reduction, createBoxTable(shape.length, boxes), pointer, boxShape(region)), region }
  })
}
