/** A grid of values in rows from top to bottom; missing ones are NaN. */
export interface Picture {
  readonly rows: number
  readonly columns: number
  readonly values: Float64Array
}

/** A reduced grid of values. Each cell is the mean of the present values that fall into it. */
export class BlockMeans {
  readonly rows: number
  readonly columns: number
  /** Extremes of the values themselves; undefined until the first value. */
  low: number | undefined
  high: number | undefined
  missing = 0
  readonly #height: number
  readonly #width: number
  readonly #sums: Float64Array
  readonly #counts: Float64Array

  /** @param height height of the input, whose `width` follows; `rows` and `columns` limit the result */
  constructor(height: number, width: number, rows: number, columns: number) {
    this.#height = height
    this.#width = width
    this.rows = Math.min(height, rows)
    this.columns = Math.min(width, columns)
    this.#sums = new Float64Array(this.rows * this.columns)
    this.#counts = new Float64Array(this.rows * this.columns)
  }

  /**
   * Adds `values` of whole rows, starting with row `first`. Values for which `isMissing` is true and
   * non-finite ones count as missing.
   */
  add(first: number, values: ArrayLike<number | bigint>, isMissing: (value: number | bigint) => boolean): void {
    const columnAt = Int32Array.from({ length: this.#width }, (_, x) => Math.floor((x * this.columns) / this.#width))
    for (let i = 0, x = 0, y = first; i < values.length; i++) {
      const value = Number(values[i])
      if (!Number.isFinite(value) || isMissing(values[i]!)) this.missing++
      else {
        const cell = Math.floor((y * this.rows) / this.#height) * this.columns + columnAt[x]!
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
    // Cells without values become NaN (0 / 0).
    return { rows: this.rows, columns: this.columns, values: this.#sums.map((sum, cell) => sum / this.#counts[cell]!) }
  }
}

/** Returns the picture enlarged to the given size, by repeating cells. */
export function enlarge({ rows, columns, values }: Picture, toRows: number, toColumns: number): Picture {
  const enlarged = new Float64Array(toRows * toColumns)
  for (let y = 0, i = 0; y < toRows; y++) {
    const row = Math.floor((y * rows) / toRows) * columns
    for (let x = 0; x < toColumns; x++, i++) enlarged[i] = values[row + Math.floor((x * columns) / toColumns)]!
  }
  return { rows: toRows, columns: toColumns, values: enlarged }
}

/** Turns the picture upside down. */
export function flipRows({ rows, columns, values }: Picture): Picture {
  const flipped = new Float64Array(values.length)
  for (let y = 0; y < rows; y++) flipped.set(values.subarray(y * columns, (y + 1) * columns), (rows - 1 - y) * columns)
  return { rows, columns, values: flipped }
}

const MAX_ENLARGEMENT = 8
/** Largest ratio of the longer to the shorter side, whatever the shape of the data. */
const MAX_ASPECT = 8

/**
 * Returns the number of square cells for a picture of `height` by `width` values. The picture is as wide as
 * allowed, is enlarged by whole numbers only, and keeps the proportions of the data unless they are extreme.
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

/** Red, green and blue components. */
export type Rgb = readonly [number, number, number]

/** Largest chroma used. Many displays show no more. */
const CHROMA = 0.15

/**
 * Returns the colour of a position from 0 to 1, from dark blue to light yellow. The colours follow a path
 * through OKLCH, a space in which equal steps look equal. Lightness only increases, so the order of values is
 * visible in print and to colour-blind eyes, too.
 */
export function colourAt(position: number): Rgb {
  const t = Math.min(1, Math.max(0, position))
  const lightness = 0.27 + 0.68 * t
  const hue = ((290 - 185 * t) * Math.PI) / 180
  const at = (chroma: number): Rgb => toLinear(lightness, chroma * Math.cos(hue), chroma * Math.sin(hue))
  // If sRGB lacks a colour, the strongest one of the same lightness and hue is used.
  let [low, high] = [0, CHROMA]
  if (!isShown(at(CHROMA))) {
    while (high - low > 1e-4) {
      const middle = (low + high) / 2
      if (isShown(at(middle))) low = middle
      else high = middle
    }
  } else low = CHROMA
  return at(low).map(encode) as unknown as Rgb
}

const isShown = (linear: Rgb): boolean => linear.every((component) => component >= -1e-6 && component <= 1 + 1e-6)

/** Converts OKLab to linear sRGB, with the constants of its definition (B. Ottosson, 2020). */
function toLinear(lightness: number, a: number, b: number): Rgb {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ]
}

/** Applies the gamma of sRGB to a linear component, and returns a byte. */
function encode(linear: number): number {
  const clipped = Math.min(1, Math.max(0, linear))
  const encoded = clipped <= 0.0031308 ? 12.92 * clipped : 1.055 * clipped ** (1 / 2.4) - 0.055
  return Math.round(255 * encoded)
}

/**
 * Component values of the 6x6x6 colour cube of terminals, colours 16 to 231. Colours 232 to 255 are greys 8,
 * 18, … 238.
 */
const CUBE = [0, 95, 135, 175, 215, 255]

/** Returns the nearest of the 256 terminal colours with a fixed value. */
export function nearest256(rgb: Rgb): number {
  const [r, g, b] = rgb.map((component) => nearest(CUBE, component)) as [number, number, number]
  const cube: Rgb = [CUBE[r]!, CUBE[g]!, CUBE[b]!]
  const step = Math.min(23, Math.max(0, Math.round((rgb[0] + rgb[1] + rgb[2]) / 3 / 10 - 0.8)))
  const grey = 8 + 10 * step
  return distance(rgb, [grey, grey, grey]) < distance(rgb, cube) ? 232 + step : 16 + 36 * r + 6 * g + b
}

const nearest = (levels: readonly number[], value: number): number =>
  levels.reduce((best, level, i) => (Math.abs(level - value) < Math.abs(levels[best]! - value) ? i : best), 0)

const distance = (a: Rgb, b: Rgb): number => a.reduce((sum, component, i) => sum + (component - b[i]!) ** 2, 0)
