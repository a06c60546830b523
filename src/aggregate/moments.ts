import { sizeOf } from '../core/shape.ts'
import { type Box, boxShape } from '../grid/range.ts'
import { type Arena, withArena } from '../kernels/arena.ts'
import { type BoxTable, boxesOf, tableOf } from '../kernels/boxes.ts'
import { accumulators, cellBytes, counters, reduceElements, results } from '../kernels/reduce.ts'
import { cellStride } from './cells.ts'
import type { PartialAggregate, PlacedAggregate, Reduction } from './reduction.ts'

/**
 * Of each cell how many elements there are, their mean, and the sum of squares of what they differ from it
 * by.
 */
export class Moments {
  readonly counts: Float64Array
  readonly means: Float64Array
  readonly squares: Float64Array

  constructor(cells: number) {
    this.counts = new Float64Array(cells)
    this.means = new Float64Array(cells)
    this.squares = new Float64Array(cells)
  }

  /** Adds the moments of other elements (Chan's formula). */
  merge(cell: number, count: number, mean: number, squares: number): void {
    if (count === 0) return
    const before = this.counts[cell]!
    const total = before + count
    const delta = mean - this.means[cell]!
    this.counts[cell] = total
    this.means[cell]! += delta * (count / total)
    this.squares[cell]! += before === 0 ? squares : squares + delta * delta * ((before * count) / total)
  }
}

/** What sums of squares of `counts` elements come to; NaN where there are not more than `ddof`. */
export function deviations(
  kind: 'variance' | 'std',
  squares: ArrayLike<number>,
  counts: Float64Array,
  ddof: number,
): Float64Array {
  return counts.map((count, cell) => {
    const variance = count > ddof ? squares[cell]! / (count - ddof) : Number.NaN
    return kind === 'std' ? Math.sqrt(variance) : variance
  })
}

/**
 * The means of the elements of each cell, and then the sums of squares of what they differ from these by. The
 * boxes are gone through twice in kernel memory, which loses no digits where the mean is far from
 * zero. Cells made of nothing hold anything.
 * @param base address that offsets count from
 * @param shape of the cells; `place` of a box is the first of its cells
 */
export function momentsOf(
  arena: Arena,
  reduction: Reduction,
  table: BoxTable,
  base: number,
  shape: readonly number[],
): PartialAggregate {
  const { dtype, skip, reduced } = reduction
  const size = sizeOf(shape)
  const own = cellStride(shape, reduced)
  const boxes = [...boxesOf(table)]
  const [sums, counter] = [accumulators(arena, 'sum', dtype, size), counters(arena, size)]
  const bytes = cellBytes('sum', dtype)
  for (const { offset, place, shape, stride } of boxes)
    reduceElements(arena, 'sum', dtype, skip, shape, base + offset, stride, sums + place * bytes, own, counter + place * 8)
  const [means, squares] = [counters(arena, size), counters(arena, size)]
  const counts = arena.view('float64', counter, size).slice()
  const about = arena.view('float64', means, size)
  results(arena, 'sum', dtype, sums, size).forEach((sum, cell) => {
    about[cell] = Number(sum) / counts[cell]!
  })
  for (const { offset, place, shape, stride } of boxes)
    reduceElements(arena, 'squares', dtype, skip, shape, base + offset, stride, squares + place * 8, own, means + place * 8)
  const values = new Float64Array(2 * size)
  values.set(arena.view('float64', means, size))
  values.set(arena.view('float64', squares, size), size)
  return { values, counts }
}

/** The moments of as many elements as there are in a box, all of them the one at `bytes`. */
export function constantMoments(reduction: Reduction, element: Uint8Array, box: Box, region: Box): PlacedAggregate {
  const shape = region.map(() => 1)
  const table = tableOf(shape.length, [{ offset: 0, place: 0, shape, stride: shape }])
  const { values, counts } = withArena((arena) => momentsOf(arena, reduction, table, arena.put(element), shape))
  const size = sizeOf(boxShape(region))
  const [mean, squares] = values as Float64Array
  return {
    values: new Float64Array(2 * size).fill(mean!, 0, size).fill(squares!, size),
    counts: new Float64Array(size).fill((counts[0]! * sizeOf(boxShape(box))) / size),
    region,
  }
}
