import type { AxisIndices } from '../core/axis-indices.ts'
import { sizeOf, stridesOf } from '../core/shape.ts'
import { type AxisView, viewTensor } from '../core/tensor.ts'
import type { Arena } from './arena.ts'
import { copyStrided, type ElementBytes } from './copy.ts'

/**
 * Strided boxes of elements in one piece of memory, as numbers that can be sent to other threads. Each box is
 * a record of 3 + 2 * rank numbers:
 *
 *     byte offset of the first element | cell | position of the first element | shape | stride, in elements
 */
export interface BoxTable {
  readonly rank: number
  readonly records: Float64Array
}

export interface StridedBox {
  /** Byte offset from the start of the memory. */
  readonly offset: number
  /** Cell of a reduction; unused by `gather`, which stores boxes one after another. */
  readonly cell: number
  /** Position of the first element, for reductions to positions. */
  readonly first?: number
  readonly shape: readonly number[]
  readonly stride: readonly number[]
}

/**
 * Returns slices of a dense array as a box.
 * @param size bytes of an element
 * @param start byte offset of the array
 */
export function boxIn(
  shape: readonly number[],
  slices: readonly AxisIndices[],
  size: number,
  start: number,
): { offset: number; shape: number[]; stride: number[] } {
  const box = viewTensor({ data: [], shape: [], stride: stridesOf(shape), offset: 0 }, slices as readonly AxisView[])
  return { offset: start + box.offset * size, shape: box.shape, stride: box.stride }
}

export function createBoxTable(rank: number, boxes: readonly StridedBox[]): BoxTable {
  const width = 3 + 2 * rank
  const records = new Float64Array(width * boxes.length)
  boxes.forEach(({ offset, cell, first = 0, shape, stride }, i) => {
    records.set([offset, cell, first, ...shape, ...stride], i * width)
  })
  return { rank, records }
}

export function* listBoxes({ rank, records }: BoxTable): Generator<Required<StridedBox>> {
  const width = 3 + 2 * rank
  for (let at = 0; at < records.length; at += width) {
    const axes = [...records.subarray(at + 3, at + width)]
    const [offset, cell, first] = [records[at]!, records[at + 1]!, records[at + 2]!]
    yield { offset, cell: cell, first, shape: axes.slice(0, rank), stride: axes.slice(rank) }
  }
}

/**
 * Copies boxes, dense and one after another, to new kernel memory.
 * @param base address that offsets are relative to
 * @throws OutOfMemoryError if the memory cannot hold them
 */
export function gather(arena: Arena, size: ElementBytes, table: BoxTable, base: number): { pointer: number; bytes: number } {
  const boxes = [...listBoxes(table)]
  const bytes = size * boxes.reduce((sum, { shape }) => sum + sizeOf(shape), 0)
  const pointer = arena.alloc(bytes)
  let at = pointer
  for (const { offset, shape, stride } of boxes) {
    copyStrided(arena, size, shape, base + offset, stride, at, stridesOf(shape))
    at += size * sizeOf(shape)
  }
  return { pointer, bytes }
}
