import { type DataOf, type FixedDType, isBigInt, isFloat } from '../core/dtype.ts'
import { sizeOf, stridesOf } from '../core/shape.ts'
import { copyTensor, type Tensor, tensorOf, viewTensor } from '../core/tensor.ts'
import { type Box, viewOf } from '../grid/range.ts'
import type { Arena } from '../kernels/arena.ts'
import { accumulators, counters, type ReduceOp, reduceElements, results, type Skip } from '../kernels/reduce.ts'

/** Takes in blocks of an array, one after another, and gives the reduction of all of them. */
export interface Accumulator {
  /** @param pointer the block's elements in kernel memory, dense */
  add(arena: Arena, box: Box, shape: readonly number[], pointer: number): void
  /**
   * The results, one a cell, and how many elements each of them is made of. A cell made of none holds
   * anything. Sums of integers are exact: those of 64-bit ones are bigints of any size.
   */
  finish(): Cells
}

/** Cells of a result, their `values` with the `counts` of elements that each is made of. */
export interface Cells {
  readonly values: ArrayLike<number | bigint>
  readonly counts: Float64Array
  /** Positions of the elements that the values are, where these are asked for. */
  readonly places?: Float64Array
}

/** Reduces everything to one value. */
export class WholeAccumulator implements Accumulator {
  readonly #op: ReduceOp
  readonly #dtype: FixedDType
  readonly #skip: Skip
  readonly #partials: (number | bigint)[] = []
  #count = 0

  constructor(op: ReduceOp, dtype: FixedDType, skip: Skip) {
    this.#op = op
    this.#dtype = dtype
    this.#skip = skip
  }

  add(arena: Arena, _box: Box, shape: readonly number[], pointer: number): void {
    this.addStrided(arena, shape, pointer, stridesOf(shape))
  }

  addStrided(arena: Arena, shape: readonly number[], pointer: number, stride: readonly number[]): void {
    const cells = accumulators(arena, this.#op, this.#dtype, 1)
    const counter = counters(arena, 1)
    const none = shape.map(() => 0)
    reduceElements(arena, this.#op, this.#dtype, this.#skip, shape, pointer, stride, cells, none, counter)
    this.take(results(arena, this.#op, this.#dtype, cells, 1)[0]!, arena.view('float64', counter, 1)[0]!)
  }

  /** Takes in what `count` elements were reduced to. */
  take(value: number | bigint, count: number): void {
    this.#count += count
    if (count > 0) this.#partials.push(value)
  }

  finish(): Cells {
    const value = this.#op === 'sum' ? pairwise(this.#partials, 0, this.#partials.length) : this.#extreme()
    return { values: [value ?? (isBigInt(this.#dtype) ? 0n : 0)], counts: Float64Array.of(this.#count) }
  }

  #extreme(): number | bigint | undefined {
    const better =
      this.#op === 'min' ? (a: number | bigint, b: number | bigint) => b < a : (a: number | bigint, b: number | bigint) => b > a
    // NaN is neither less nor greater than anything: it has to be asked for.
    return (
      this.#partials.find((value) => Number.isNaN(value)) ??
      this.#partials.reduce<number | bigint | undefined>((a, b) => (a === undefined || better(a, b) ? b : a), undefined)
    )
  }
}

/** Reduces along axes: one cell for each position of the others. */
export class AxisAccumulator implements Accumulator {
  readonly #op: ReduceOp
  readonly #dtype: FixedDType
  readonly #skip: Skip
  /** Shape of the array with reduced axes of length 1. */
  readonly #shape: readonly number[]
  readonly #cells: CellBuffer
  readonly #counts: Tensor<'float64'>

  constructor(op: ReduceOp, dtype: FixedDType, skip: Skip, shape: readonly number[]) {
    this.#op = op
    this.#dtype = dtype
    this.#skip = skip
    this.#shape = shape
    this.#cells = new CellBuffer({ op, dtype }, shape)
    this.#counts = tensorOf('float64', shape)
  }

  add(arena: Arena, box: Box, shape: readonly number[], pointer: number): void {
    const region = box.map((range, axis) => (this.#shape[axis] === 1 ? { start: 0, step: 1, length: 1 } : viewOf(range)))
    const cellShape = region.map(({ length }) => length)
    const stride = stridesOf(cellShape).map((step, axis) => (cellShape[axis] === 1 ? 0 : step))
    const size = sizeOf(cellShape)
    const cells = accumulators(arena, this.#op, this.#dtype, size)
    const counter = counters(arena, size)
    const counts = viewTensor(this.#counts, region)
    this.#cells.load(arena, cells, region)
    copyTensor(counts, tensorOf('float64', cellShape, arena.view('float64', counter, size)))
    reduceElements(arena, this.#op, this.#dtype, this.#skip, shape, pointer, stridesOf(shape), cells, stride, counter)
    this.#cells.store(arena, cells, region)
    copyTensor(tensorOf('float64', cellShape, arena.view('float64', counter, size)), counts)
  }

  finish(): Cells {
    return { values: this.#cells.finish(), counts: this.#counts.data }
  }
}

/** What cells of the kernels are of. */
interface CellKind {
  readonly op: ReduceOp
  readonly dtype: FixedDType
}

/** The type of the numbers that cells are made of. */
export const cellType = ({ op, dtype }: CellKind): FixedDType => (op !== 'sum' ? dtype : isFloat(dtype) ? 'float64' : 'int64')

/** How many numbers make a cell: sums of 64-bit integers take two. */
export const cellWidth = ({ op, dtype }: CellKind): number => (op === 'sum' && isBigInt(dtype) ? 2 : 1)

/** The values of cells: sums of integers are bigints in them, those of 64-bit ones in halves. */
export function joinedCells({ op, dtype }: CellKind, numbers: ArrayLike<number | bigint>): ArrayLike<number | bigint> {
  if (op !== 'sum' || isFloat(dtype)) return numbers
  if (!isBigInt(dtype)) return Float64Array.from(numbers as ArrayLike<bigint>, Number)
  const halves = numbers as ArrayLike<bigint>
  return Array.from({ length: halves.length / 2 }, (_, i) => (halves[2 * i + 1]! << 32n) + halves[2 * i]!)
}

type Region = readonly { readonly start: number; readonly step: number; readonly length: number }[]

/** The kernel's cells for a whole result, kept in JavaScript memory between blocks. */
class CellBuffer {
  readonly #kind: CellKind
  readonly #width: number
  readonly #type: FixedDType
  readonly #cells: Tensor<FixedDType>
  #seeded: boolean

  constructor(kind: CellKind, shape: readonly number[]) {
    this.#kind = kind
    this.#width = cellWidth(kind)
    this.#type = cellType(kind)
    this.#cells = tensorOf(this.#type, [...shape, this.#width])
    this.#seeded = kind.op === 'sum'
  }

  load(arena: Arena, pointer: number, region: Region): void {
    if (!this.#seeded) this.#seed(arena, pointer)
    copyTensor(this.#view(region), this.#inKernel(arena, pointer, region))
  }

  store(arena: Arena, pointer: number, region: Region): void {
    copyTensor(this.#inKernel(arena, pointer, region), this.#view(region))
  }

  finish(): ArrayLike<number | bigint> {
    return joinedCells(this.#kind, this.#cells.data)
  }

  /** Extremes start from the value every element is beyond, which the kernels know. */
  #seed(arena: Arena, pointer: number): void {
    const first = arena.view(this.#type, pointer, 1)[0]
    ;(this.#cells.data as { fill(value: unknown): unknown }).fill(first)
    this.#seeded = true
  }

  #view(region: Region): Tensor<FixedDType> {
    return viewTensor(this.#cells, [...region, { start: 0, step: 1, length: this.#width }])
  }

  #inKernel(arena: Arena, pointer: number, region: Region): Tensor<FixedDType> {
    const shape = [...region.map(({ length }) => length), this.#width]
    return tensorOf(this.#type, shape, arena.view(this.#type, pointer, sizeOf(shape)) as DataOf<FixedDType>)
  }
}

/** Adds in halves, which keeps the rounding error at the logarithm of the number of terms. */
function pairwise(terms: readonly (number | bigint)[], from: number, to: number): number | bigint | undefined {
  if (to - from <= 1) return terms[from]
  const middle = (from + to) >>> 1
  return (pairwise(terms, from, middle) as number) + (pairwise(terms, middle, to) as number)
}
