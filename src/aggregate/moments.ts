import { sizeOf } from '../core/shape.ts'
import { type Box, boxShape } from '../grid/range.ts'
import { type Arena, withArena } from '../kernels/arena.ts'
import { type BoxTable, createBoxTable, listBoxes } from '../kernels/boxes.ts'
import { accumulators, cellBytes, counters, reduceElements, results } from '../kernels/reduce.ts'
import { cellStride } from './cells.ts'
import type { PartialAggregate, Reduction } from './reduction.ts'

/** Moments per cell: number of elements, mean, and sum of squared deviations from the mean. */
export class Moments {
  readonly counts: Float64Array
  readonly means: Float64Array
  readonly squares: Float64Array

  constructor(counts: Float64Array, means: Float64Array, squares: Float64Array) {
    this.counts = counts
    this.means = means
    this.squares = squares
  }

  static empty(cells: number): Moments {
    return new Moments(new Float64Array(cells), new Float64Array(cells), new Float64Array(cells))
  }

  /** Returns the moments of a partial aggregate, which contains all means before all sums of squares. */
  static of({ values, counts }: PartialAggregate): Moments {
    const [means, squares] = [
      (values as Float64Array).subarray(0, counts.length),
      (values as Float64Array).subarray(counts.length),
    ]
    return new Moments(counts, means, squares)
  }

  /** Adds the moments of other elements (Chan's formula). */
  merge(cell: number, count: number, mean: number, squares: number): void {
    if (count === 0) return
    const before = this.counts[cell]!
    const total = before + count
    this.counts[cell] = total
    if (before === 0) {
      this.means[cell] = mean
      this.squares[cell] = squares
      return
    }
    const delta = mean - this.means[cell]!
    this.means[cell]! += delta * (count / total)
    this.squares[cell]! += squares + delta * delta * ((before * count) / total)
  }
}

/**
 * Converts sums of squared deviations of `counts` elements to variances or standard deviations; NaN for at
 * most `ddof` elements.
 */
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
 * Computes the mean of the elements of each cell, and the sum of squared deviations from it. Reads the boxes
 * twice in kernel memory, which loses no digits if the mean is far from zero. Cells without elements are
 * undefined.
 * @param base address that offsets are relative to
 * @param shape of the cells; `place` of a box is the first of its cells
 */
export function reduceToMoments(
  arena: Arena,
  reduction: Reduction,
  table: BoxTable,
  base: number,
  shape: readonly number[],
): PartialAggregate {
  const { dtype, skip, reduced } = reduction
  const size = sizeOf(shape)
  const own = cellStride(shape, reduced)
  const boxes = [...listBoxes(table)]
  const [sums, counter] = [accumulators(arena, 'sum', dtype, size), counters(arena, size)]
  const bytes = cellBytes('sum', dtype)
  for (const { offset, cell, shape, stride } of boxes)
    reduceElements(arena, 'sum', dtype, skip, shape, base + offset, stride, sums + cell * bytes, own, counter + cell * 8)
  const [means, squares] = [counters(arena, size), counters(arena, size)]
  const counts = arena.view('float64', counter, size).slice()
  const about = arena.view('float64', means, size)
  results(arena, 'sum', dtype, sums, size).forEach((sum, cell) => {
    about[cell] = Number(sum) / counts[cell]!
  })
  for (const { offset, cell, shape, stride } of boxes)
    reduceElements(arena, 'squares', dtype, skip, shape, base + offset, stride, squares + cell * 8, own, means + cell * 8)
  const values = new Float64Array(2 * size)
  values.set(arena.view('float64', means, size))
  values.set(arena.view('float64', squares, size), size)
  return { values, counts }
}

/** Returns the moments of a box whose elements all equal the one at `bytes`. */
export function constantMoments(reduction: Reduction, element: Uint8Array, box: Box, region: Box): PartialAggregate {
  const shape = region.map(() => 1)
  const table = createBoxTable(shape.length, [{ offset: 0, cell: 0, shape, stride: shape }])
  const { values, counts } = withArena((arena) => reduceToMoments(arena, reduction, table, arena.put(element), shape))
  const size = sizeOf(boxShape(region))
  const [mean, squares] = values as Float64Array
  return {
    values: new Float64Array(2 * size).fill(mean!, 0, size).fill(squares!, size),
    counts: new Float64Array(size).fill((counts[0]! * sizeOf(boxShape(box))) / size),
  }
}
