import { deviations, Moments } from '../../aggregate/moments.ts'
import { allocate, type DType, type FixedDType, isBigInt, isFloat, type TypedArray } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { CompensatedSums } from './compensated-sums.ts'
import type { FoldKind, FoldOptions } from './fold-kinds.ts'
import type { Row, Skipped } from './rows.ts'

/** Reductions by a condition on each element. */
export type TruthKind = 'count' | 'countNonzero' | 'any' | 'all'

/** Whether the result is a number of elements; otherwise it is a boolean. */
export const isCount = (kind: TruthKind): boolean => kind === 'count' || kind === 'countNonzero'

/** State of cells, by columns. */
export type FoldColumns = readonly (TypedArray | readonly bigint[])[]

/** Cells that accumulate elements row by row. */
export interface Fold {
  readonly row: Row
  /** Adds a value `times` times to a cell. The value has the type of rows and is not a skipped one. */
  repeat(value: never, times: number, cell: number): void
  /** State of the cells; each column has one value per cell. */
  readonly columns: FoldColumns
  /** Merges the state of a cell of another fold of its kind into a cell. */
  merge(cell: number, columns: FoldColumns, from: number): void
  /** Returns the values of the cells. The fold must not be used afterwards. */
  finish(): TypedArray
  /** Whether further elements cannot change the result. Optional: counts and sums depend on every element. */
  decided?(): boolean
}

/** Type, number of cells and options of a fold. */
export interface FoldSetup extends FoldOptions {
  readonly dtype: DType
  readonly cells: number
  readonly skipped: Skipped
  /** Value for the minimum or maximum of no elements. Undefined throws instead. */
  readonly empty?: unknown
  /**
   * Condition of a count, `any` or `all`. Without it, `count` counts all elements, and the others test
   * whether an element is not 0, false or empty.
   */
  readonly where?: ((value: never) => unknown) | undefined
}

/** The folds that exist. Kinds of 64-bit integers that differ from those of numbers come second. */
const FOLDS: Readonly<Record<FoldKind | TruthKind, readonly [Folding, wide?: Folding]>> = {
  sum: [sumFold, wideSumFold],
  mean: [sumFold, wideSumFold],
  prod: [productFold, wideProductFold],
  min: [extremeFold],
  max: [extremeFold],
  count: [truthFold],
  countNonzero: [truthFold],
  any: [truthFold],
  all: [truthFold],
  variance: [momentFold],
  std: [momentFold],
}

type Folding = (setup: FoldSetup, kind: never) => Fold

/**
 * Creates the cells of a reduction.
 * @param dtype type of the elements, already checked for this kind
 */
export function createFold(kind: FoldKind | TruthKind, setup: FoldSetup): Fold {
  const [plain, wide = plain] = FOLDS[kind]
  return (isBigInt(setup.dtype) ? wide : plain)(setup, kind as never)
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

/** @throws OverflowError if an exact result does not fit its type */
function exactResults(what: string, dtype: DType, values: readonly bigint[]): TypedArray {
  const data = allocate(dtype, values.length) as BigInt64Array
  for (const [i, value] of values.entries()) data[i] = checkFits(what, value, dtype as FixedDType)
  return data
}

type Wide = BigInt64Array | BigUint64Array

/** Sum or mean of numbers. */
function sumFold({ cells, skipped: { fill, nan } }: FoldSetup, kind: 'sum' | 'mean'): Fold {
  const total = new CompensatedSums(cells)
  const counts = new Float64Array(cells)
  const row: Row<Float64Array> = (values, at, length, cell, step) => {
    for (let i = at; i < at + length; i++, cell += step) {
      const x = values[i]!
      if (x === fill || (nan && Number.isNaN(x))) continue
      total.add(cell, x)
      counts[cell]!++
    }
  }
  return {
    row,
    repeat(value: number, times, cell) {
      total.add(cell, value * times)
      counts[cell]! += times
    },
    columns: [total.sums, total.rests, counts],
    merge(cell, [sums, rests, more], from) {
      total.add(cell, sums![from] as number)
      total.rests[cell]! += rests![from] as number
      counts[cell]! += more![from] as number
    },
    finish: () => counts.map((count, cell) => (kind === 'mean' ? total.get(cell) / count : total.get(cell))),
  }
}

/** Exact sum or mean of 64-bit integers. */
function wideSumFold({ dtype, cells, skipped: { fill } }: FoldSetup, kind: 'sum' | 'mean'): Fold {
  const sums: bigint[] = new Array(cells).fill(0n)
  const counts = new Float64Array(cells)
  const row: Row<Wide> = (values, at, length, cell, step) => {
    for (let i = at; i < at + length; i++, cell += step) {
      const x = values[i]!
      if (x === fill) continue
      sums[cell]! += x
      counts[cell]!++
    }
  }
  return {
    row,
    repeat(value: bigint, times, cell) {
      sums[cell]! += value * BigInt(times)
      counts[cell]! += times
    },
    columns: [sums, counts],
    merge(cell, [more, others], from) {
      sums[cell]! += more![from] as bigint
      counts[cell]! += others![from] as number
    },
    finish: () => (kind === 'mean' ? counts.map((count, cell) => Number(sums[cell]) / count) : exactResults('sum', dtype, sums)),
  }
}

/** Product of numbers in float64. */
function productFold({ cells, skipped: { fill, nan } }: FoldSetup): Fold {
  const products = new Float64Array(cells).fill(1)
  const row: Row<Float64Array> = (values, at, length, cell, step) => {
    for (let i = at; i < at + length; i++, cell += step) {
      const x = values[i]!
      if (x === fill || (nan && Number.isNaN(x))) continue
      products[cell]! *= x
    }
  }
  return {
    row,
    repeat(value: number, times, cell) {
      products[cell] = timesPower(products[cell]!, value, times)
    },
    columns: [products],
    merge(cell, [more], from) {
      products[cell]! *= more![from] as number
    },
    finish: () => products,
  }
}

/** Exact product of 64-bit integers, clamped to `BEYOND` on the way. */
function wideProductFold({ dtype, cells, skipped: { fill } }: FoldSetup): Fold {
  const products: bigint[] = new Array(cells).fill(1n)
  const multiply = (cell: number, factor: bigint): void => {
    products[cell] = within(products[cell]! * factor)
  }
  const row: Row<Wide> = (values, at, length, cell, step) => {
    for (let i = at; i < at + length; i++, cell += step) {
      const x = values[i]!
      if (x !== fill) multiply(cell, x)
    }
  }
  return {
    row,
    repeat(value: bigint, times, cell) {
      // After so many factors, the product is 0 or out of range, or the factor is -1 or 1. More factors
      // change only its sign.
      const enough = times > ENOUGH ? ENOUGH + (times % 2) : times
      for (let i = 0; i < enough; i++) multiply(cell, value)
    },
    columns: [products],
    merge: (cell, [more], from) => multiply(cell, more![from] as bigint),
    finish: () => exactResults('product', dtype, products),
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
function extremeFold({ dtype, cells, skipped: { fill, nan }, empty }: FoldSetup, kind: 'min' | 'max'): Fold {
  const best = allocate(dtype, cells) as Float64Array
  const taken = new Uint8Array(cells)
  const less = kind === 'min'
  const row: Row<Float64Array> = (values, at, length, cell, step) => {
    for (let i = at; i < at + length; i++, cell += step) {
      const x = values[i]!
      if (x === fill || (nan && Number.isNaN(x))) continue
      const before = best[cell]!
      if (taken[cell] === 0 || (less ? x < before : x > before) || Number.isNaN(x)) best[cell] = x
      taken[cell] = 1
    }
  }
  return {
    row,
    repeat: (value: number, _times, cell) => row([value] as unknown as Float64Array, 0, 1, cell, 0, 0, 0),
    columns: [best, taken],
    merge(cell, [values, has], from) {
      if (has![from] === 1) row(values as Float64Array, from, 1, cell, 0, 0, 0)
    },
    finish() {
      taken.forEach((has, cell) => {
        if (has === 1) return
        if (empty === undefined) throw emptyReduction('minimum or maximum')
        best[cell] = empty as number
      })
      return best
    },
  }
}

/** Number of elements that satisfy a condition, or whether any or all of them do. */
function truthFold({ dtype, cells, skipped, where }: FoldSetup, kind: TruthKind): Fold {
  const [found, others] = [new Float64Array(cells), new Float64Array(cells)]
  const every = kind === 'count'
  const bools = dtype === 'bool'
  const holds = (x: unknown): unknown => (where === undefined ? every || isTrue(x) : where((bools ? x !== 0 : x) as never))
  const row: Row<ArrayLike<unknown>> = (values, at, length, cell, step) => {
    // Local copies, and no call of `holds`, because both are faster in this loop.
    const { fill, nan } = skipped
    const [yes, no, test, all] = [found, others, where, every]
    for (let i = at; i < at + length; i++, cell += step) {
      const x = values[i]
      if (x === fill || (nan && Number.isNaN(x))) continue
      const ok = test === undefined ? all || isTrue(x) : test((bools ? x !== 0 : x) as never)
      if (ok) yes[cell]!++
      else no[cell]!++
    }
  }
  return {
    row,
    repeat(value: unknown, times, cell) {
      ;(holds(value) ? found : others)[cell]! += times
    },
    columns: [found, others],
    merge(cell, [more, rest], from) {
      found[cell]! += more![from] as number
      others[cell]! += rest![from] as number
    },
    finish() {
      if (isCount(kind)) return found
      return kind === 'any' ? Uint8Array.from(found, (n) => +(n > 0)) : Uint8Array.from(others, (n) => +(n === 0))
    },
    ...(!isCount(kind) && { decided: () => (kind === 'any' ? found : others).every((count) => count > 0) }),
  }
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
function momentFold({ cells, skipped, ddof = 0 }: FoldSetup, kind: 'variance' | 'std'): Fold {
  const moments = Moments.empty(cells)
  const row: Row<Float64Array> = (values, at, length, cell, step) => {
    if (step !== 0) addEach(moments, skipped, values, at, length, cell, step)
    else
      for (let from = at; from < at + length; from += PART)
        addPart(moments, skipped, values, from, Math.min(PART, at + length - from), cell)
  }
  return {
    row,
    // An infinity minus itself is NaN.
    repeat: (value: number, times, cell) => moments.merge(cell, times, value, value - value),
    columns: [moments.counts, moments.means, moments.squares],
    merge: (cell, [counts, means, squares], from) =>
      moments.merge(cell, counts![from] as number, means![from] as number, squares![from] as number),
    finish: () => deviations(kind, moments.squares, moments.counts, ddof),
  }
}

function addEach(
  { counts, means, squares }: Moments,
  { fill, nan }: Skipped,
  values: Float64Array,
  at: number,
  length: number,
  cell: number,
  step: number,
): void {
  for (let i = at; i < at + length; i++, cell += step) {
    const x = values[i]!
    if (x === fill || (nan && Number.isNaN(x))) continue
    const count = ++counts[cell]!
    const delta = x - means[cell]!
    means[cell]! += delta / count
    squares[cell]! += delta * (x - means[cell]!)
  }
}

function addPart(moments: Moments, { fill, nan }: Skipped, values: Float64Array, at: number, length: number, cell: number): void {
  if (!nan && fill === undefined) {
    const mean = sumPart(values, at, length) / length
    moments.merge(cell, length, mean, sumSquares(values, at, length, mean))
    return
  }
  let [count, sum, squares] = [0, 0, 0]
  for (let i = at; i < at + length; i++) {
    const x = values[i]!
    if (x === fill || (nan && Number.isNaN(x))) continue
    sum += x
    count++
  }
  if (count === 0) return
  const mean = sum / count
  for (let i = at; i < at + length; i++) {
    const x = values[i]!
    if (x === fill || (nan && Number.isNaN(x))) continue
    squares += (x - mean) * (x - mean)
  }
  moments.merge(cell, count, mean, squares)
}

// Four sums, so that additions overlap.
function sumPart(values: Float64Array, at: number, length: number): number {
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

function sumSquares(values: Float64Array, at: number, length: number, mean: number): number {
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
