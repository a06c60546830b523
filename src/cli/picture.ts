/** Values in rows from top to bottom; NaN where there is none. */
export interface Picture {
  readonly rows: number
  readonly columns: number
  readonly values: Float64Array
}

/**
 * A grid of values made smaller: each cell of the result is the mean of the values that fall into it, missing
 * ones left out.
 */
export class BlockMeans {
  readonly rows: number
  readonly columns: number
  /** Extremes of the values themselves; undefined while there are none. */
  low: number | undefined
  high: number | undefined
  missing = 0
  readonly #height: number
  readonly #width: number
  readonly #sums: Float64Array
  readonly #counts: Float64Array

  /** @param height, width of what is added; `rows` and `columns` are the limits of the result */
  constructor(height: number, width: number, rows: number, columns: number) {
    this.#height = height
    this.#width = width
    this.rows = Math.min(height, rows)
    this.columns = Math.min(width, columns)
    this.#sums = new Float64Array(this.rows * this.columns)
    this.#counts = new Float64Array(this.rows * this.columns)
  }

  /**
   * Adds `values` of whole rows, the first of which is row `first`; those that `isMissing` and non-finite
   * ones count as missing.
   */
  add(first: number, values: ArrayLike<number | bigint>, isMissing: (value: number | bigint) => boolean): void {
    const columnOf = Int32Array.from({ length: this.#width }, (_, x) => Math.floor((x * this.columns) / this.#width))
    for (let i = 0, x = 0, y = first; i < values.length; i++) {
      const value = Number(values[i])
      if (!Number.isFinite(value) || isMissing(values[i]!)) this.missing++
      else {
        const cell = Math.floor((y * this.rows) / this.#height) * this.columns + columnOf[x]!
        this.#sums[cell]! += value
        this.#counts[cell]!++
        if (this.low === undefined || value < this.low) this.low = value
        if (this.high === undefined || value > this.high) this.high = value
      }
      if (++x === this.#width) {
        x = 0
        y++
      }
    }
  }

  picture(): Picture {
    // 0 / 0: cells without any value are NaN.
    return { rows: this.rows, columns: this.columns, values: this.#sums.map((sum, cell) => sum / this.#counts[cell]!) }
  }
}

/** The same picture with every cell repeated until it has the given size, which is not smaller. */
export function enlarge({ rows, columns, values }: Picture, toRows: number, toColumns: number): Picture {
  const enlarged = new Float64Array(toRows * toColumns)
  for (let y = 0, i = 0; y < toRows; y++) {
    const row = Math.floor((y * rows) / toRows) * columns
    for (let x = 0; x < toColumns; x++, i++) enlarged[i] = values[row + Math.floor((x * columns) / toColumns)]!
  }
  return { rows: toRows, columns: toColumns, values: enlarged }
}

/** Upside down. */
export function flipRows({ rows, columns, values }: Picture): Picture {
  const flipped = new Float64Array(values.length)
  for (let y = 0; y < rows; y++) flipped.set(values.subarray(y * columns, (y + 1) * columns), (rows - 1 - y) * columns)
  return { rows, columns, values: flipped }
}

const MAX_ENLARGEMENT = 8
/** The longer side is at most this many times the shorter one, however long the data is. */
const MAX_ASPECT = 8

/**
 * How many square cells a picture of `height` by `width` values takes: as wide as allowed, enlarged by whole
 * numbers only, with the proportions of the data unless they are extreme.
 */
export function pictureSize(
  height: number,
  width: number,
  maxColumns: number,
  maxRows: number,
): { rows: number; columns: number } {
  const columns = width <= maxColumns ? width * Math.min(MAX_ENLARGEMENT, Math.floor(maxColumns / width)) : maxColumns
  const aspect = Math.min(MAX_ASPECT, Math.max(1 / MAX_ASPECT, height / width))
  const scale = Math.min(1, maxRows / (columns * aspect))
  return {
    rows: Math.max(1, Math.round(columns * aspect * scale)),
    columns: Math.max(1, Math.round(columns * scale)),
  }
}
