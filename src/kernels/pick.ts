import { type AxisIndices, indexAt, isListed } from '../core/places.ts'
import type { Arena } from './arena.ts'
import type { ElementBytes } from './copy.ts'

/**
 * One axis of a copy: as many places in one piece of memory as in the other, and the elements from one place
 * to the next in each.
 */
export interface PickAxis {
  readonly from: AxisIndices
  readonly to: AxisIndices
  readonly strides: readonly [number, number]
}

/** Fewer columns leave their loop to a longer axis: each row costs a call. */
const FEW_COLUMNS = 8

/**
 * Copies the elements at some places along each axis, in every combination, to as many others. They must not
 * overlap. Nothing but those elements is read or written. Grows the memory if the tables do not fit: views
 * die then.
 * @param src address of the element at place 0 of every axis; so is `dst`
 * @throws OutOfMemoryError
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

/**
 * Whether places lie as far apart as `length` elements in both, so that they make one run of as many each.
 */
const goesOn = ({ from, to, strides }: PickAxis, length: number): boolean =>
  [from, to].every((places, side) => !isListed(places) && places.step * strides[side]! === length)

/** Takes the axis that rows go along out of `axes`: the last, or of a few columns the longest. */
function takeColumns(axes: PickAxis[]): PickAxis[] {
  let at = axes.length - 1
  if (at >= 0 && axes[at]!.from.length < FEW_COLUMNS)
    axes.forEach(({ from }, i) => {
      if (from.length > axes[at]!.from.length) at = i
    })
  return axes.splice(Math.max(at, 0), 1)
}

/** Both offsets of every combination of places, in bytes, in C order. */
function fillTable(table: Int32Array, size: number, axes: readonly PickAxis[]): void {
  // The sums of the axes so far, which the next one spreads from the back, so that none is lost before it is
  // used.
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
