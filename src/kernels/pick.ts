import { type AxisIndices, indexAt, isListed } from '../core/axis-indices.ts'
import type { Arena } from './arena.ts'
import type { ElementBytes } from './copy.ts'

/**
 * One axis of a copy: equally many positions in source and destination, with the stride of each in elements.
 */
export interface PickAxis {
  readonly from: AxisIndices
  readonly to: AxisIndices
  readonly strides: readonly [number, number]
}

/** Number of columns below which a longer axis becomes the inner loop, because each row costs a call. */
const FEW_COLUMNS = 8

/**
 * Copies the elements at some positions along each axis, in every combination, to as many others. They must
 * not overlap. Nothing but those elements is read or written. Grows the memory if the tables do not fit;
 * views become invalid then.
 * @param src address of the element at position 0 of every axis; likewise `dst`
 * @throws OutOfMemoryError if the tables do not fit
 */
export function copyPlaces(arena: Arena, size: ElementBytes, src: number, dst: number, axes: readonly PickAxis[]): void {
  let bytes: number = size
  const tabled: PickAxis[] = []
  for (const axis of [...axes].reverse()) {
    const run = tabled.length === 0 && goesOn(axis, bytes / size)
    if (!run && axis.from.length !== 1) tabled.unshift(axis)
    else {
      src += size * axis.strides[0] * indexAt(axis.from, 0)
      dst += size * axis.strides[1] * indexAt(axis.to, 0)
      if (run) bytes *= axis.from.length
    }
  }
  const columns = takeColumns(tabled)
  const n = columns.reduce(times, 1)
  const m = tabled.reduce(times, 1)
  if (n * m === 0) return
  arena.scratch(() => {
    const rows = arena.alloc(8 * (m + n))
    const table = arena.view('int32', rows, 2 * (m + n))
    fillTable(table.subarray(0, 2 * m), size, tabled)
    fillTable(table.subarray(2 * m), size, columns)
    arena.kernels.pick(bytes, src, dst, rows, m, rows + 8 * m, n)
  })
}

const times = (product: number, { from }: PickAxis): number => product * from.length

/** Whether positions are `length` elements apart on both sides, so that they form one contiguous run. */
const goesOn = ({ from, to, strides }: PickAxis, length: number): boolean =>
  [from, to].every((places, side) => !isListed(places) && places.step * strides[side]! === length)

/** Removes from `axes` the one that the inner loop follows: the last, or the longest if the last is short. */
function takeColumns(axes: PickAxis[]): PickAxis[] {
  let at = axes.length - 1
  if (at >= 0 && axes[at]!.from.length < FEW_COLUMNS)
    axes.forEach(({ from }, i) => {
      if (from.length > axes[at]!.from.length) at = i
    })
  return axes.splice(Math.max(at, 0), 1)
}

/** Fills in both byte offsets of every combination of positions, in C order. */
function fillTable(table: Int32Array, size: number, axes: readonly PickAxis[]): void {
  // The table contains the sums of the axes so far. The next axis expands them from the end, so that none is
  // overwritten before it is used.
  let count = 1
  table[0] = table[1] = 0
  for (const { from, to, strides } of axes) {
    const { length } = from
    for (let k = count - 1; k >= 0; k--) {
      const [a, b] = [table[2 * k]!, table[2 * k + 1]!]
      for (let i = length - 1; i >= 0; i--) {
        const at = 2 * (k * length + i)
        table[at] = a + size * strides[0] * indexAt(from, i)
        table[at + 1] = b + size * strides[1] * indexAt(to, i)
      }
    }
    count *= length
  }
}
