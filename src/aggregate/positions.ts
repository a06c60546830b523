import { isDense } from '../core/dense.ts'
import { allocate, elementBytes, type FixedDType, isBigInt, type TypedArray } from '../core/dtype.ts'
import { coordsAt, sizeOf, stridesOf } from '../core/shape.ts'
import type { Box } from '../grid/range.ts'
import type { Arena } from '../kernels/arena.ts'
import { type BoxTable, listBoxes } from '../kernels/boxes.ts'
import { copyStrided, type ElementBytes } from '../kernels/copy.ts'
import { find, firstRows, LEAST_ROW_BYTES } from '../kernels/positions.ts'
import { accumulators, counters, type ReduceOp, reduceElements } from '../kernels/reduce.ts'
import { cellStride, eachCell } from './cells.ts'
import type { PartialAggregate, Reduction } from './reduction.ts'

/** A reduction to the positions of minima or maxima, of all elements or along one axis. */
export type PositionReduction = Reduction & { readonly op: 'min' | 'max'; readonly places: readonly number[] }

export const givesPositions = (reduction: Reduction): reduction is PositionReduction => reduction.places !== undefined

/** Returns the position of the first element of a box; 0 if positions are not requested. */
export const firstPosition = ({ places = [] }: Reduction, box: Box): number =>
  places.reduce((position, step, axis) => position + step * box[axis]!.start, 0)

/**
 * Elements in kernel memory, and the cells that they are reduced to. Cells are `cellStride` apart along each
 * axis, which is 0 along reduced axes.
 */
interface CellElements {
  readonly pointer: number
  readonly shape: readonly number[]
  readonly stride: readonly number[]
  /** Position of the first element, which is the smallest. */
  readonly first: number
  readonly cell: number
  readonly cellStride: readonly number[]
}

/** Bytes of a piece of a long run. The piece with the extreme is searched again for its position. */
const PIECE = 32768

/**
 * Bytes of a run along an axis, from which searching it alone is faster than searching many transposed runs
 * at once.
 */
const LONG_RUN = 128

/** Returns the extremes of boxes of elements in kernel memory, and their positions. */
export function reduceToExtremes(
  arena: Arena,
  reduction: PositionReduction,
  table: BoxTable,
  base: number,
  shape: readonly number[],
): PartialAggregate {
  const best = new Extremes(reduction.op, reduction.dtype, sizeOf(shape))
  const own = cellStride(shape, reduction.reduced)
  for (const { offset, cell, ...box } of listBoxes(table))
    arena.scratch(() => addExtremes(arena, reduction, best, { ...box, pointer: base + offset, cell, cellStride: own }))
  const { values, counts, places } = best
  return { values, counts, places }
}

/** Merges the extremes of elements, and their positions, into cells. */
function addExtremes(arena: Arena, reduction: PositionReduction, best: Extremes, elements: CellElements): void {
  if (sizeOf(elements.shape) === 0) return
  if (reduction.reduced.every(Boolean)) addWhole(arena, reduction, best, elements)
  else addCells(arena, reduction, best, elements)
}

/** Extremes of some cells at an address, with the number of elements of each. */
interface Found {
  readonly address: number
  readonly values: Comparables
  readonly taken: Float64Array
}

function reduceToCells(
  arena: Arena,
  { op, dtype, skip }: PositionReduction,
  { pointer, shape, stride }: Pick<CellElements, 'pointer' | 'shape' | 'stride'>,
  cells: number,
  cellStride: readonly number[],
): Found {
  const address = accumulators(arena, op, dtype, cells)
  // Counting takes longer than comparing.
  const counts = skip === 'none' ? 0 : counters(arena, cells)
  reduceElements(arena, op, dtype, skip, shape, pointer, stride, address, cellStride, counts)
  const taken = counts === 0 ? new Float64Array(cells).fill(sizeOf(shape) / cells) : arena.view('float64', counts, cells).slice()
  return { address, values: comparable(arena.view(dtype, address, cells)), taken }
}

/** Reduces all elements to one cell. */
function addWhole(arena: Arena, reduction: PositionReduction, best: Extremes, elements: CellElements): void {
  const { dtype, places } = reduction
  const { first, cell, stride } = elements
  const size = elementBytes(dtype)
  // Axes in the order of positions, because views may have their axes in another order than their base.
  const order = [...places.keys()].sort((a, b) => places[b]! - places[a]!)
  const shape = ordered(elements.shape, order)
  if (!isDense({ shape, stride: ordered(stride, order) })) {
    // Most strided boxes contain no better extreme, and need not be copied.
    const { values, taken } = reduceToCells(arena, reduction, elements, 1, zeros(shape))
    if (taken[0] === 0 || !best.beats(cell, values[0]!, first)) return
  }
  const pointer = arranged(arena, size, elements, order)
  const count = sizeOf(shape)
  const piece = bestPiece(arena, reduction, pointer, count)
  if (piece === undefined || !best.beats(cell, piece.value, first)) return
  const { value, address, start } = piece
  const found = start + find(arena, dtype, address, Number.isNaN(value), pointer + start * size, count - start)
  const index = coordsAt(found, shape)
  best.offer(
    cell,
    value,
    order.reduce((position, axis, i) => position + index[i]! * places[axis]!, first),
  )
}

/**
 * Returns the extreme of contiguous elements with its address, and the start of the first piece that contains
 * it.
 */
function bestPiece(
  arena: Arena,
  reduction: PositionReduction,
  pointer: number,
  count: number,
): { value: number | bigint; address: number; start: number } | undefined {
  const { op, dtype } = reduction
  const size = elementBytes(dtype)
  const length = PIECE / size
  const pieces = Math.floor(count / length)
  const rest = { pointer: pointer + pieces * PIECE, shape: [count - pieces * length], stride: [1] }
  const long = { pointer, shape: [pieces, length], stride: [length, 1] }
  const best = new Extremes(op, dtype, 1)
  let address = 0
  const add = (found: Found, from: number): void => {
    for (let i = 0; i < found.values.length; i++) {
      if (found.taken[i] === 0 || !best.beats(0, found.values[i]!, from + i)) continue
      best.offer(0, found.values[i]!, from + i)
      address = found.address + i * size
    }
  }
  if (pieces > 0) add(reduceToCells(arena, reduction, long, pieces, [1, 0]), 0)
  if (rest.shape[0]! > 0) add(reduceToCells(arena, reduction, rest, 1, [0]), pieces)
  return best.counts[0] === 0 ? undefined : { value: best.values[0]!, address, start: best.places[0]! * length }
}

/** Reduces along one axis: cells are columns, whose rows follow that axis. */
function addCells(arena: Arena, reduction: PositionReduction, best: Extremes, elements: CellElements): void {
  const { dtype, reduced, places } = reduction
  const { shape, stride, first, cell, cellStride } = elements
  const axis = reduced.indexOf(true)
  const kept = [...reduced.keys()].filter((each) => each !== axis)
  const columns = ordered(shape, kept)
  const count = sizeOf(columns)
  const own = zeros(shape)
  stridesOf(columns).forEach((step, i) => {
    own[kept[i]!] = step
  })
  const { address, values, taken } = reduceToCells(arena, reduction, elements, count, own)
  const [rows, size] = [shape[axis]!, elementBytes(dtype)]
  const offer = (rowOf: (column: number) => number): void =>
    eachCell(columns, cell, ordered(cellStride, kept), (column, target) => {
      const value = values[column]!
      if (taken[column] === 0 || !best.beats(target, value, first)) return
      best.offer(target, value, first + rowOf(column) * places[axis]!)
    })
  if (count * size < LEAST_ROW_BYTES || (stride[axis] === 1 && rows * size >= LONG_RUN)) {
    const runs = arranged(arena, size, elements, [...kept, axis])
    offer((i) => find(arena, dtype, address + i * size, Number.isNaN(values[i]), runs + i * rows * size, rows))
  } else {
    const found = firstRows(arena, dtype, arranged(arena, size, elements, [axis, ...kept]), rows, count, address)
    offer((i) => found[i]!)
  }
}

/** Returns the address of the elements, dense and with their axes in another order; copies them if needed. */
function arranged(
  arena: Arena,
  size: ElementBytes,
  { pointer, shape, stride }: Pick<CellElements, 'pointer' | 'shape' | 'stride'>,
  order: readonly number[],
): number {
  const [to, from] = [ordered(shape, order), ordered(stride, order)]
  if (isDense({ shape: to, stride: from })) return pointer
  const copy = arena.alloc(sizeOf(to) * size)
  copyStrided(arena, size, to, pointer, from, copy, stridesOf(to))
  return copy
}

const ordered = (values: readonly number[], axes: readonly number[]): number[] => axes.map((axis) => values[axis]!)

const zeros = (shape: readonly number[]): number[] => shape.map(() => 0)

/**
 * Values of any type in one of three array types, so that loops over them stay fast.
 */
export type Comparables = Float64Array | BigInt64Array | BigUint64Array

/** Copies elements to an array of one of these types. */
const comparable = (data: TypedArray): Comparables =>
  data instanceof BigInt64Array || data instanceof BigUint64Array ? data.slice() : new Float64Array(data)

/**
 * Extremes of cells and their positions, in C order. NaN exceeds all values. Among equal elements, the one at
 * the first position wins, in whatever order they come.
 */
export class Extremes implements PartialAggregate {
  readonly values: Comparables
  /** 1 for cells with an extreme. */
  readonly counts: Float64Array
  readonly places: Float64Array
  readonly #less: boolean

  constructor(op: ReduceOp, dtype: FixedDType, cells: number) {
    this.values = allocate(isBigInt(dtype) ? dtype : 'float64', cells)
    this.counts = new Float64Array(cells)
    this.places = new Float64Array(cells)
    this.#less = op === 'min'
  }

  /** Whether an element would replace the extreme of a cell. */
  beats(cell: number, value: number | bigint, place: number): boolean {
    return beats(this, this.#less, cell, value, place)
  }

  offer(cell: number, value: number | bigint, place: number): void {
    if (!this.beats(cell, value, place)) return
    this.values[cell] = value as never
    this.counts[cell] = 1
    this.places[cell] = place
  }
}

/** Whether an element at a position would replace the extreme of a cell. */
export function beats(
  { values, counts, places }: Pick<Extremes, 'values' | 'counts' | 'places'>,
  less: boolean,
  cell: number,
  value: number | bigint,
  place: number,
): boolean {
  if (counts[cell] === 0) return true
  const old = values[cell]!
  const first = place < places[cell]!
  if (Number.isNaN(old)) return first && Number.isNaN(value)
  if (value === old) return first
  return (less ? value < old : value > old) || Number.isNaN(value)
}
