import type { Picture } from './picture.ts'

/** The extremes of the values in each column; NaN for columns without values. */
export class ColumnExtremes {
  readonly lows: Float64Array
  readonly highs: Float64Array
  /** Extremes of all values; undefined until the first value. */
  low: number | undefined
  high: number | undefined
  missing = 0
  readonly #length: number

  /** @param length length of the axis; `columns` is the largest number of columns */
  constructor(length: number, columns: number) {
    this.#length = length
    this.lows = new Float64Array(Math.min(length, columns)).fill(Number.NaN)
    this.highs = this.lows.slice()
  }

  /**
   * Adds values from position `first` on. Values for which `isMissing` is true and non-finite ones count as
   * missing.
   */
  add(first: number, values: ArrayLike<number | bigint>, isMissing: (value: number | bigint) => boolean): void {
    for (let i = 0; i < values.length; i++) {
      const value = Number(values[i])
      if (!Number.isFinite(value) || isMissing(values[i]!)) {
        this.missing++
        continue
      }
      const column = Math.floor(((first + i) * this.lows.length) / this.#length)
      if (!(value >= this.lows[column]!)) this.lows[column] = value
      if (!(value <= this.highs[column]!)) this.highs[column] = value
      if (this.low === undefined || value < this.low) this.low = value
      if (this.high === undefined || value > this.high) this.high = value
    }
  }
}

/**
 * Draws a line through all columns with values, continuous unless values are missing. Other cells are NaN.
 */
export function lineOf({ lows, highs, low = 0, high = 0 }: ColumnExtremes, rows: number, columns: number): Picture {
  const values = new Float64Array(rows * columns).fill(Number.NaN)
  const rowOf = (value: number): number => (high > low ? Math.round(((high - value) / (high - low)) * (rows - 1)) : rows >> 1)
  const columnOf = (i: number): number => (lows.length === 1 ? columns >> 1 : Math.round((i * (columns - 1)) / (lows.length - 1)))
  const draw = (x: number, from: number, to: number): void => {
    for (let y = Math.min(from, to); y <= Math.max(from, to); y++) values[y * columns + x] = 0
  }
  for (let i = 0; i < lows.length; i++) {
    if (Number.isNaN(lows[i]!)) continue
    draw(columnOf(i), rowOf(highs[i]!), rowOf(lows[i]!))
    if (i === 0 || Number.isNaN(lows[i - 1]!)) continue
    // Connect the nearest ends, or the part that both columns share.
    const shared = Math.max(lows[i - 1]!, lows[i]!)
    const from = Math.min(shared, highs[i - 1]!)
    const to = Math.min(shared, highs[i]!)
    const [left, right] = [columnOf(i - 1), columnOf(i)]
    const rowAt = (x: number): number => rowOf(from + ((to - from) * (x - left)) / (right - left))
    for (let x = left; x < right; x++) {
      const [here, next] = [rowAt(x), rowAt(x + 1)]
      draw(x, here, next - Math.sign(next - here))
    }
  }
  return { rows, columns, values }
}

/** Dots of a Braille character by row and column, with their Unicode bits. */
const DOTS = [
  [0x01, 0x08],
  [0x02, 0x10],
  [0x04, 0x20],
  [0x40, 0x80],
]

/** Cells of a line in one character: one in ASCII, eight dots in Braille. */
export const CELLS = { ascii: { high: 1, wide: 1 }, dots: { high: 4, wide: 2 } } as const

/** Returns the text lines of a drawn line. */
export function drawLine({ rows, columns, values }: Picture, cells: keyof typeof CELLS): string[] {
  const { high, wide } = CELLS[cells]
  const isDrawn = (y: number, x: number): boolean => values[y * columns + x] === 0
  const characterAt = (y: number, x: number): string => {
    if (cells === 'ascii') return isDrawn(y, x) ? '*' : ' '
    const dots = DOTS.flatMap((row, dy) => row.filter((_, dx) => isDrawn(y * high + dy, x * wide + dx)))
    return dots.length === 0 ? ' ' : String.fromCharCode(0x2800 + dots.reduce((sum, dot) => sum + dot))
  }
  return Array.from({ length: rows / high }, (_, y) =>
    Array.from({ length: columns / wide }, (_, x) => characterAt(y, x))
      .join('')
      .trimEnd(),
  )
}
