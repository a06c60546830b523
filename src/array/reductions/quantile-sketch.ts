import type { Row, Skipped } from './rows.ts'

/** Bits of the mantissa that tell buckets apart. */
const BITS = 12
const PAGE = 2 ** BITS
/** Signs and exponents of float64. */
const PAGES = 4096

/**
 * Counts of values by sign, exponent and the first 12 bits of the mantissa: buckets whose ends are 2^-12 of
 * their value apart. What it gives for a quantile is in the bucket of the element at that rank, rounded down,
 * so within 2^-12 of it; in whatever order values come. Counts come in pages of 32 KiB, one for each power of
 * two that occurs: usual data takes less than a MiB, any data 128 MiB at most.
 */
export class QuantileSketch {
  readonly #fill: unknown
  readonly #skipsNaN: boolean
  /** By sign and exponent, in ascending order of the values there. */
  readonly #pages: (Float64Array | undefined)[] = new Array(PAGES).fill(undefined)
  readonly #float = new Float64Array(1)
  readonly #words = new Uint32Array(this.#float.buffer)
  #count = 0
  #nans = 0
  #min = Number.POSITIVE_INFINITY
  #max = Number.NEGATIVE_INFINITY

  constructor({ fill, nan }: Skipped) {
    this.#fill = fill
    this.#skipsNaN = nan
  }

  row: Row<Float64Array> = (values, at, length) => this.#take(values, at, length, 1)

  /** Takes in so many elements of one value. */
  repeat(value: number, times: number): void {
    this.#take(Float64Array.of(value), 0, 1, times)
  }

  #take(values: Float64Array, at: number, length: number, times: number): void {
    const [float, words, pages, fill] = [this.#float, this.#words, this.#pages, this.#fill]
    for (let i = at; i < at + length; i++) {
      const x = values[i]!
      if (x === fill) continue
      if (Number.isNaN(x)) {
        this.#nans += times
        continue
      }
      if (x < this.#min) this.#min = x
      if (x > this.#max) this.#max = x
      this.#count += times
      float[0] = x + 0 // -0 is 0
      const key = keyOf(words[1]!)
      const number = key >>> BITS
      pages[number] ??= new Float64Array(PAGE)
      pages[number][key & (PAGE - 1)]! += times
    }
  }

  quantile(q: number): number {
    if (this.#count === 0 || (this.#nans > 0 && !this.#skipsNaN)) return Number.NaN
    const rank = q * (this.#count - 1)
    let below = 0
    for (const [number, page] of this.#pages.entries()) {
      if (page === undefined) continue
      for (let k = 0; k < PAGE; k++) {
        const count = page[k]!
        if (count > 0 && rank < below + count) return this.#within((number << BITS) | k, (rank - below + 0.5) / count)
        below += count
      }
    }
    return this.#max
  }

  /** A value of a bucket, at a part of its width. */
  #within(key: number, part: number): number {
    const low = this.#valueOf(key)
    if (low === 0 || low === Number.POSITIVE_INFINITY) return low
    if (Number.isNaN(low)) return Number.NEGATIVE_INFINITY
    const from = Math.max(this.#min, low)
    const to = Math.min(this.#max, this.#valueOf(key + 1))
    return Number.isFinite(to) ? from + (to - from) * Math.min(1, part) : from
  }

  #valueOf(key: number): number {
    const top = key << (20 - BITS)
    const negative = top >= 0
    this.#words[1] = negative ? ~top : top & 0x7fffffff
    this.#words[0] = negative ? 0xffffffff : 0
    return this.#float[0]!
  }
}

/** The first 24 bits of a float64, turned so that they ascend with its value. */
function keyOf(word: number): number {
  const ascending = word & 0x80000000 ? ~word : word | 0x80000000
  return ascending >>> (20 - BITS)
}
