import { type FixedDType, isBigInt, isFloat } from '../core/dtype.ts'
import type { Arena } from '../kernels/arena.ts'
import { accumulators, counters, identityOf, type ReduceOp, reduceElements, results, type SkipRule } from '../kernels/reduce.ts'

/** Cells of a result: their `values`, and the `counts` of elements reduced to each. */
export interface Cells {
  readonly values: ArrayLike<number | bigint>
  readonly counts: Float64Array
  /** Positions of the extreme elements, if they are requested. */
  readonly places?: Float64Array
}

/** Reduces all elements to one value. */
export class WholeAccumulator {
  readonly #op: ReduceOp
  readonly #dtype: FixedDType
  readonly #skip: SkipRule
  readonly #partials: (number | bigint)[] = []
  #count = 0

  constructor(op: ReduceOp, dtype: FixedDType, skip: SkipRule) {
    this.#op = op
    this.#dtype = dtype
    this.#skip = skip
  }

  add(arena: Arena, shape: readonly number[], pointer: number, stride: readonly number[]): void {
    const cells = accumulators(arena, this.#op, this.#dtype, 1)
    const counter = counters(arena, 1)
    const none = shape.map(() => 0)
    reduceElements(arena, this.#op, this.#dtype, this.#skip, shape, pointer, stride, cells, none, counter)
    this.take(results(arena, this.#op, this.#dtype, cells, 1)[0]!, arena.view('float64', counter, 1)[0]!)
  }

  /** Adds the value that `count` elements were reduced to. */
  take(value: number | bigint, count: number): void {
    this.#count += count
    if (count > 0) this.#partials.push(value)
  }

  finish(): Cells {
    const [op, dtype] = [this.#op, this.#dtype]
    const value = op === 'sum' ? pairwise(this.#partials, 0, this.#partials.length) : this.#extreme()
    const nothing = op === 'sum' ? (isBigInt(dtype) ? 0n : 0) : identityOf(op, dtype)
    return { values: [value ?? nothing], counts: Float64Array.of(this.#count) }
  }

  #extreme(): number | bigint | undefined {
    const better =
      this.#op === 'min' ? (a: number | bigint, b: number | bigint) => b < a : (a: number | bigint, b: number | bigint) => b > a
    // NaN compares as neither less nor greater, so it is searched for explicitly.
    return (
      this.#partials.find((value) => Number.isNaN(value)) ??
      this.#partials.reduce<number | bigint | undefined>((a, b) => (a === undefined || better(a, b) ? b : a), undefined)
    )
  }
}

/** Operation and type that determine the kernels' cells. */
interface CellKind {
  readonly op: ReduceOp
  readonly dtype: FixedDType
}

/** Returns the type of the numbers that cells consist of. */
export const cellType = ({ op, dtype }: CellKind): FixedDType => (op !== 'sum' ? dtype : isFloat(dtype) ? 'float64' : 'int64')

/** Returns the count of numbers per cell: two for sums of 64-bit integers, otherwise one. */
export const cellWidth = ({ op, dtype }: CellKind): number => (op === 'sum' && isBigInt(dtype) ? 2 : 1)

/**
 * Converts numbers of cells to values. Sums of integers are bigints in cells; those of 64-bit integers
 * consist of two halves.
 */
export function joinedCells({ op, dtype }: CellKind, numbers: ArrayLike<number | bigint>): ArrayLike<number | bigint> {
  if (op !== 'sum' || isFloat(dtype)) return numbers
  if (!isBigInt(dtype)) return Float64Array.from(numbers as ArrayLike<bigint>, Number)
  const halves = numbers as ArrayLike<bigint>
  return Array.from({ length: halves.length / 2 }, (_, i) => (halves[2 * i + 1]! << 32n) + halves[2 * i]!)
}

/** Sums by halving, which limits the rounding error to the logarithm of the number of terms. */
function pairwise(terms: readonly (number | bigint)[], from: number, to: number): number | bigint | undefined {
  if (to - from <= 1) return terms[from]
  const middle = (from + to) >>> 1
  return (pairwise(terms, from, middle) as number) + (pairwise(terms, middle, to) as number)
}
