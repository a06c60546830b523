import { deviations, Moments } from '../../aggregate/moments.ts'
import { allocate, type DType, type FixedDType, isBigInt, isFloat, type TypedArray } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { checkFoldable, type Fold, type FoldColumns, type FoldKind, type FoldOptions } from './fold-kinds.ts'
import type { Row, Skipped } from './rows.ts'

/**
 * Creates a fold.
 * @param empty value for the minimum or maximum of no elements; undefined throws instead
 * @throws UnsupportedError for types that the kind is not defined for
 */
export function foldOf(
  kind: FoldKind,
  dtype: DType,
  cells: number,
  skipped: Skipped,
  { ddof = 0, empty }: FoldOptions & { readonly empty?: unknown } = {},
): Fold {
  checkFoldable(kind, dtype)
  switch (kind) {
    case 'sum':
    case 'mean':
      return isBigInt(dtype) ? new WideSumFold(kind, dtype, cells, skipped) : new SumFold(kind, cells, skipped)
    case 'prod':
      return isBigInt(dtype) ? new WideProductFold(dtype, cells, skipped) : new ProductFold(cells, skipped)
    case 'min':
    case 'max':
      return new ExtremeFold(kind, dtype, cells, skipped, empty)
    case 'count':
    case 'countNonzero':
      return new TruthFold(kind, cells, skipped)
    default:
      return new MomentFold(kind, cells, skipped, ddof)
  }
}

/** Returns the minimum of no elements along axes: NaN for floats, otherwise the missing value. */
export function emptyExtreme(dtype: DType, { fill, nan }: Skipped): unknown {
  return nan || (fill !== undefined && isFloat(dtype)) ? Number.NaN : fill
}

export const emptyReduction = (what: string): HyperslabError =>
  new HyperslabError('EmptyReductionError', `there is no element to take the ${what} of`, { actual: 0 })

/** @throws OverflowError if an exact result does not fit its type */
export function checkFits(what: string, value: bigint, dtype: FixedDType): bigint {
  const fits = dtype === 'uint64' ? BigInt.asUintN(64, value) === value : BigInt.asIntN(64, value) === value
  if (fits) return value
  throw new HyperslabError('OverflowError', `the ${what} ${value} does not fit ${dtype}`, { actual: value, expected: dtype })
}

function cellsAs<D extends FixedDType>(dtype: D, values: ArrayLike<unknown>): TypedArray {
  const data = allocate(dtype, values.length) as TypedArray
  for (let i = 0; i < values.length; i++) data[i] = values[i] as never
  return data
}

type Wide = BigInt64Array | BigUint64Array

/**
 * Sum or mean of numbers by Neumaier's summation: the rounding error of each addition is kept separately and
 * added at the end.
 */
class SumFold implements Fold {
  readonly #mean: boolean
  readonly #skipped: Skipped
  readonly #sums: Float64Array
  readonly #rests: Float64Array
  readonly #counts: Float64Array

  constructor(kind: 'sum' | 'mean', cells: number, skipped: Skipped) {
    this.#mean = kind === 'mean'
    this.#skipped = skipped
    this.#sums = new Float64Array(cells)
    this.#rests = new Float64Array(cells)
    this.#counts = new Float64Array(cells)
  }

  row: Row<Float64Array> = (values, at, length, cell, step) => {
    const { fill, nan } = this.#skipped
    const [sums, rests, counts] = [this.#sums, this.#rests, this.#counts]
    for (let i = at; i < at + length; i++, cell += step) {
      const x = values[i]!
      if (x === fill || (nan && Number.isNaN(x))) continue
      const sum = sums[cell]!
      const next = sum + x
      const added = next - sum
      sums[cell] = next
      rests[cell]! += sum - (next - added) + (x - added)
      counts[cell]!++
    }
  }

  repeat(value: number, times: number, cell: number): void {
    this.#add(cell, value * times, times)
  }

  get columns(): FoldColumns {
    return [this.#sums, this.#rests, this.#counts]
  }

  merge(cell: number, [sums, rests, counts]: FoldColumns, from: number): void {
    this.#add(cell, sums![from] as number, counts![from] as number)
    this.#rests[cell]! += rests![from] as number
  }

  finish(): Float64Array {
    return this.#sums.map((sum, cell) => {
      // The compensation term of an infinite sum is NaN.
      const total = Number.isFinite(sum) ? sum + this.#rests[cell]! : sum
      return this.#mean ? total / this.#counts[cell]! : total
    })
  }

  #add(cell: number, x: number, count: number): void {
    const sum = this.#sums[cell]!
    const next = sum + x
    const added = next - sum
    this.#sums[cell] = next
    this.#rests[cell]! += sum - (next - added) + (x - added)
    this.#counts[cell]! += count
  }
}

/** Exact sum or mean of 64-bit integers. */
class WideSumFold implements Fold {
  readonly #kind: 'sum' | 'mean'
  readonly #dtype: FixedDType
  readonly #fill: unknown
  readonly #sums: bigint[]
  readonly #counts: Float64Array

  constructor(kind: 'sum' | 'mean', dtype: FixedDType, cells: number, { fill }: Skipped) {
    this.#kind = kind
    this.#dtype = dtype
    this.#fill = fill
    this.#sums = new Array(cells).fill(0n)
    this.#counts = new Float64Array(cells)
  }

  row: Row<Wide> = (values, at, length, cell, step) => {
    const fill = this.#fill
    for (let i = at; i < at + length; i++, cell += step) {
      const x = values[i]!
      if (x === fill) continue
      this.#sums[cell]! += x
      this.#counts[cell]!++
    }
  }

  repeat(value: bigint, times: number, cell: number): void {
    this.#sums[cell]! += value * BigInt(times)
    this.#counts[cell]! += times
  }

  get columns(): FoldColumns {
    return [this.#sums, this.#counts]
  }

  merge(cell: number, [sums, counts]: FoldColumns, from: number): void {
    this.#sums[cell]! += sums![from] as bigint
    this.#counts[cell]! += counts![from] as number
  }

  finish(): TypedArray {
    if (this.#kind === 'mean') return this.#counts.map((count, cell) => Number(this.#sums[cell]) / count)
    const dtype = this.#dtype
    return cellsAs(
      dtype,
      this.#sums.map((sum) => checkFits('sum', sum, dtype)),
    )
  }
}

/** Product of numbers in float64. */
export class ProductFold implements Fold {
  readonly #skipped: Skipped
  /** The products so far. */
  readonly products: Float64Array

  constructor(cells: number, skipped: Skipped) {
    this.#skipped = skipped
    this.products = new Float64Array(cells).fill(1)
  }

  /** Multiplies a cell by the product of other elements. */
  multiply(cell: number, product: number): void {
    this.products[cell]! *= product
  }

  row: Row<Float64Array> = (values, at, length, cell, step) => {
    const { fill, nan } = this.#skipped
    const { products } = this
    for (let i = at; i < at + length; i++, cell += step) {
      const x = values[i]!
      if (x === fill || (nan && Number.isNaN(x))) continue
      products[cell]! *= x
    }
  }

  repeat(value: number, times: number, cell: number): void {
    this.products[cell] = timesPower(this.products[cell]!, value, times)
  }

  get columns(): FoldColumns {
    return [this.products]
  }

  merge(cell: number, [products]: FoldColumns, from: number): void {
    this.multiply(cell, products![from] as number)
  }

  finish(): Float64Array {
    return this.products
  }
}

/** Exact product of 64-bit integers. */
export class WideProductFold implements Fold {
  readonly #dtype: FixedDType
  readonly #fill: unknown
  /** The products so far, clamped to `BEYOND`. */
  readonly products: bigint[]

  constructor(dtype: FixedDType, cells: number, { fill }: Skipped) {
    this.#dtype = dtype
    this.#fill = fill
    this.products = new Array(cells).fill(1n)
  }

  /** Multiplies a cell by the product of other elements. */
  multiply(cell: number, product: bigint): void {
    this.products[cell] = within(this.products[cell]! * product)
  }

  row: Row<Wide> = (values, at, length, cell, step) => {
    const fill = this.#fill
    const { products } = this
    for (let i = at; i < at + length; i++, cell += step) {
      const x = values[i]!
      if (x === fill) continue
      products[cell] = within(products[cell]! * x)
    }
  }

  repeat(value: bigint, times: number, cell: number): void {
    // By then, the product is 0, or out of range, or the factor is -1 or 1; afterwards only its sign changes.
    const enough = times > ENOUGH ? ENOUGH + (times % 2) : times
    for (let i = 0; i < enough; i++) this.products[cell] = within(this.products[cell]! * value)
  }

  get columns(): FoldColumns {
    return [this.products]
  }

  merge(cell: number, [products]: FoldColumns, from: number): void {
    this.multiply(cell, products![from] as bigint)
  }

  finish(): TypedArray {
    const dtype = this.#dtype
    return cellsAs(
      dtype,
      this.products.map((product) => checkFits('product', product, dtype)),
    )
  }
}

const BEYOND = 2n ** 65n

/** An even number of factors of at least 2 whose product is out of range. */
const ENOUGH = 66

/**
 * Clamps a product. Beyond 2^64, only a factor of 0 leads back into range. One number of either sign
 * therefore stands for all of them, so that products do not grow without bound.
 */
const within = (product: bigint): bigint => (product > BEYOND ? BEYOND : product < -BEYOND ? -BEYOND : product)

/** Multiplies `product` by a power of a factor. The power alone may overflow even if the result does not. */
function timesPower(product: number, factor: number, times: number): number {
  const size = Math.abs(Math.log2(Math.abs(factor)))
  const atOnce = size > 0 && Number.isFinite(size) ? Math.max(1, Math.floor(512 / size)) : times
  for (let left = times; left > 0; ) {
    // Ordinary factors only change the sign of 0 and infinities.
    if (product === 0 || !Number.isFinite(product)) return product * (size < Infinity ? Math.sign(factor) : factor) ** left
    const now = Math.min(left, atOnce)
    product *= factor ** now
    left -= now
  }
  return product
}

/** Minimum or maximum of any ordered type; NaN if there is a NaN that is not skipped. */
class ExtremeFold implements Fold {
  readonly #kind: 'min' | 'max'
  readonly #skipped: Skipped
  readonly #empty: unknown
  readonly #values: TypedArray
  readonly #taken: Uint8Array

  constructor(kind: 'min' | 'max', dtype: FixedDType, cells: number, skipped: Skipped, empty: unknown) {
    this.#kind = kind
    this.#skipped = skipped
    this.#empty = empty
    this.#values = allocate(dtype, cells) as TypedArray
    this.#taken = new Uint8Array(cells)
  }

  row: Row<Float64Array> = (values, at, length, cell, step) => {
    const { fill, nan } = this.#skipped
    const [found, taken, less] = [this.#values as Float64Array, this.#taken, this.#kind === 'min']
    for (let i = at; i < at + length; i++, cell += step) {
      const x = values[i]!
      if (x === fill || (nan && Number.isNaN(x))) continue
      const best = found[cell]!
      if (taken[cell] === 0 || (less ? x < best : x > best) || Number.isNaN(x)) found[cell] = x
      taken[cell] = 1
    }
  }

  repeat(value: number, _times: number, cell: number): void {
    this.row([value] as unknown as Float64Array, 0, 1, cell, 0, 0, 0)
  }

  get columns(): FoldColumns {
    return [this.#values, this.#taken]
  }

  merge(cell: number, [values, taken]: FoldColumns, from: number): void {
    if (taken![from] === 1) this.row(values as unknown as Float64Array, from, 1, cell, 0, 0, 0)
  }

  finish(): TypedArray {
    this.#taken.forEach((taken, cell) => {
      if (taken === 1) return
      if (this.#empty === undefined) throw emptyReduction('minimum or maximum')
      this.#values[cell] = this.#empty as never
    })
    return this.#values
  }
}

/** Reductions by a condition on each element. */
export type TruthKind = 'count' | 'countNonzero' | 'any' | 'all'

/** Whether the result is a number of elements; otherwise it is a boolean. */
export const isCount = (kind: TruthKind): boolean => kind === 'count' || kind === 'countNonzero'

/**
 * Number of elements that satisfy a condition. Without one, `count` counts all elements, and the others test
 * whether an element is not 0, false or empty.
 */
export class TruthFold implements Fold {
  readonly #kind: TruthKind
  readonly #skipped: Skipped
  readonly #where: ((value: never) => unknown) | undefined
  readonly #bools: boolean
  /** Number of elements of each cell that satisfy the condition, and of all others. */
  readonly found: Float64Array
  readonly others: Float64Array

  /** @param where condition; with `bools`, it receives booleans */
  constructor(kind: TruthKind, cells: number, skipped: Skipped, where?: (value: never) => unknown, bools = false) {
    this.#kind = kind
    this.#skipped = skipped
    this.#where = where
    this.#bools = bools
    this.found = new Float64Array(cells)
    this.others = new Float64Array(cells)
  }

  row: Row<ArrayLike<unknown>> = (values, at, length, cell, step) => {
    const { fill, nan } = this.#skipped
    const [found, others, where, bools] = [this.found, this.others, this.#where, this.#bools]
    const every = this.#kind === 'count'
    for (let i = at; i < at + length; i++, cell += step) {
      const x = values[i]
      if (x === fill || (nan && Number.isNaN(x))) continue
      const holds = where === undefined ? every || isTrue(x) : where((bools ? x !== 0 : x) as never)
      if (holds) found[cell]!++
      else others[cell]!++
    }
  }

  repeat(value: unknown, times: number, cell: number): void {
    const where = this.#where
    const holds =
      where === undefined ? this.#kind === 'count' || isTrue(value) : where((this.#bools ? value !== 0 : value) as never)
    ;(holds ? this.found : this.others)[cell]! += times
  }

  /** Whether further elements cannot change the result. */
  decided(): boolean {
    if (isCount(this.#kind)) return false
    return (this.#kind === 'any' ? this.found : this.others).every((count) => count > 0)
  }

  get columns(): FoldColumns {
    return [this.found, this.others]
  }

  merge(cell: number, [found, others]: FoldColumns, from: number): void {
    this.found[cell]! += found![from] as number
    this.others[cell]! += others![from] as number
  }

  finish(): Float64Array | Uint8Array {
    return truthOf(this.#kind, this.found, this.others)
  }
}

/** Converts counts of elements that satisfy a condition, and of the others, to the result. */
export function truthOf(kind: TruthKind, found: Float64Array, others: Float64Array): Float64Array | Uint8Array {
  if (isCount(kind)) return found
  return kind === 'any' ? Uint8Array.from(found, (n) => +(n > 0)) : Uint8Array.from(others, (n) => +(n === 0))
}

/** Whether an element is true; as in numpy, NaN is. */
const isTrue = (x: unknown): boolean => x !== 0 && x !== 0n && x !== '' && !(x instanceof Uint8Array && x.length === 0)

/** Number of elements processed together: few enough to stay in the cache for the second pass. */
const PART = 1024

/**
 * Variance or standard deviation of rows, for groups and windows. Parts of a row are processed twice, for
 * their mean and for their squared deviations, and merged by Chan's formula. Elements that each have a cell
 * of their own are merged one by one (Welford).
 */
class MomentFold implements Fold {
  readonly #kind: 'variance' | 'std'
  readonly #ddof: number
  readonly #nan: boolean
  readonly #fill: unknown
  readonly #moments: Moments

  constructor(kind: 'variance' | 'std', cells: number, skipped: Skipped, ddof: number) {
    this.#kind = kind
    this.#ddof = ddof
    this.#nan = skipped.nan
    this.#fill = skipped.fill
    this.#moments = new Moments(cells)
  }

  row: Row<Float64Array> = (values, at, length, cell, step) => {
    if (step !== 0) this.#each(values, at, length, cell, step)
    else for (let from = 0; from < length; from += PART) this.#part(values, at + from, Math.min(PART, length - from), cell)
  }

  repeat(value: number, times: number, cell: number): void {
    // An infinity minus itself is NaN.
    this.#moments.merge(cell, times, value, value - value)
  }

  get columns(): FoldColumns {
    const { counts, means, squares } = this.#moments
    return [counts, means, squares]
  }

  merge(cell: number, [counts, means, squares]: FoldColumns, from: number): void {
    this.#moments.merge(cell, counts![from] as number, means![from] as number, squares![from] as number)
  }

  finish(): Float64Array {
    return deviations(this.#kind, this.#moments.squares, this.#moments.counts, this.#ddof)
  }

  #each(values: Float64Array, at: number, length: number, cell: number, step: number): void {
    const { counts, means, squares } = this.#moments
    const [nan, fill] = [this.#nan, this.#fill]
    for (let i = 0; i < length; i++, cell += step) {
      const x = values[at + i]!
      if (x === fill || (nan && Number.isNaN(x))) continue
      const count = ++counts[cell]!
      const delta = x - means[cell]!
      means[cell]! += delta / count
      squares[cell]! += delta * (x - means[cell]!)
    }
  }

  #part(values: Float64Array, at: number, length: number, cell: number): void {
    const [nan, fill] = [this.#nan, this.#fill]
    const skips = nan || fill !== undefined
    let count = length
    let mean: number
    let squares: number
    if (skips) {
      count = 0
      let sum = 0
      for (let i = at; i < at + length; i++) {
        const x = values[i]!
        if (x === fill || (nan && Number.isNaN(x))) continue
        sum += x
        count++
      }
      if (count === 0) return
      mean = sum / count
      squares = 0
      for (let i = at; i < at + length; i++) {
        const x = values[i]!
        if (x === fill || (nan && Number.isNaN(x))) continue
        squares += (x - mean) * (x - mean)
      }
    } else {
      mean = sumOf(values, at, length) / length
      squares = squaresOf(values, at, length, mean)
    }
    this.#moments.merge(cell, count, mean, squares)
  }
}

// Four sums, so that additions overlap.
function sumOf(values: Float64Array, at: number, length: number): number {
  let [a, b, c, d] = [0, 0, 0, 0]
  const end = at + (length & ~3)
  for (let i = at; i < end; i += 4) {
    a += values[i]!
    b += values[i + 1]!
    c += values[i + 2]!
    d += values[i + 3]!
  }
  for (let i = end; i < at + length; i++) a += values[i]!
  return a + b + (c + d)
}

function squaresOf(values: Float64Array, at: number, length: number, mean: number): number {
  let [a, b, c, d] = [0, 0, 0, 0]
  const end = at + (length & ~3)
  for (let i = at; i < end; i += 4) {
    const w = values[i]! - mean
    const x = values[i + 1]! - mean
    const y = values[i + 2]! - mean
    const z = values[i + 3]! - mean
    a += w * w
    b += x * x
    c += y * y
    d += z * z
  }
  for (let i = end; i < at + length; i++) a += (values[i]! - mean) * (values[i]! - mean)
  return a + b + (c + d)
}
