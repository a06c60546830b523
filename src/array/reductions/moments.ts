import { deviations, Moments } from '../../aggregate/moments.ts'
import type { Fold } from './fold.ts'
import type { Row, Skipped } from './rows.ts'

/** Elements taken together: small enough to stay in the cache for the second pass over them. */
const PART = 1024

/**
 * Variance or standard deviation of rows, for groups and windows. Parts of a row are gone through twice, for
 * their mean and for the squares of the deviations from it, and parts are merged by Chan's formula; elements
 * that each have a cell of their own are merged one by one (Welford).
 */
export class MomentFold implements Fold {
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
    // Infinities differ from themselves by NaN.
    this.#moments.merge(cell, times, value, value - value)
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
