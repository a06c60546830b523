import { crc32, deflateSync } from 'node:zlib'
import { colourAt, nearest256, type Picture, type Rgb } from './picture.ts'

/** Output of colours: 24 bits, the 256 colours of terminals, or shades of ASCII characters. */
export type ColourMode = 'truecolor' | '256' | 'ascii'

/** Shades from light to dense. A missing cell is a space. */
const SHADES = '.:-=+*#%@'

const RESET = '\x1b[0m'

export interface Scale {
  readonly low: number
  readonly high: number
}

/**
 * Draws the lines of a heat map. In colour, a line shows two rows, as the upper and lower halves of its
 * characters. In ASCII, a line shows one row, so cells are twice as high as wide.
 */
export function drawHeatmap(picture: Picture, scale: Scale, mode: ColourMode): string[] {
  const { rows, columns, values } = picture
  const lines: string[] = []
  if (mode === 'ascii') {
    for (let y = 0; y < rows; y++) {
      const row = values.subarray(y * columns, (y + 1) * columns)
      lines.push(
        Array.from(row, (value) => findShade(value, scale))
          .join('')
          .trimEnd(),
      )
    }
    return lines
  }
  const at = (y: number, x: number): number => (y < rows ? values[y * columns + x]! : Number.NaN)
  for (let y = 0; y < rows; y += 2) {
    const line = new ColouredLine(mode)
    for (let x = 0; x < columns; x++) line.add(findColour(at(y, x), scale), findColour(at(y + 1, x), scale))
    lines.push(line.end())
  }
  return lines
}

/** Draws the colours of the scale from low to high, in `length` characters. */
export function drawBar(length: number, mode: ColourMode): string {
  const position = (i: number): number => (length === 1 ? 0.5 : i / (length - 1))
  if (mode === 'ascii') return Array.from({ length }, (_, i) => SHADES[Math.round(position(i) * (SHADES.length - 1))]).join('')
  const line = new ColouredLine(mode)
  for (let i = 0; i < length; i++) {
    const colour = colourAt(position(i))
    line.add(colour, colour)
  }
  return line.end()
}

/** Returns the position of a value on the scale, from 0 to 1; 0.5 if the scale has no extent. */
const scaleShare = (value: number, { low, high }: Scale): number => (high > low ? (value - low) / (high - low) : 0.5)

const findColour = (value: number, scale: Scale): Rgb | undefined =>
  Number.isNaN(value) ? undefined : colourAt(scaleShare(value, scale))

function findShade(value: number, scale: Scale): string {
  if (Number.isNaN(value)) return ' '
  return SHADES[Math.min(SHADES.length - 1, Math.floor(scaleShare(value, scale) * SHADES.length))]!
}

/** A line of half-block characters, which sets colours only where they change. */
class ColouredLine {
  readonly #mode: 'truecolor' | '256'
  #text = ''
  #foreground = ''
  #background = ''

  constructor(mode: 'truecolor' | '256') {
    this.#mode = mode
  }

  /** Appends a character. A half without a colour shows the background of the terminal. */
  add(upper: Rgb | undefined, lower: Rgb | undefined): void {
    if (upper === undefined && lower === undefined) this.#put(' ', this.#foreground, '49')
    else if (upper === undefined) this.#put('▄', this.#code(38, lower!), '49')
    else this.#put('▀', this.#code(38, upper), lower === undefined ? '49' : this.#code(48, lower))
  }

  end(): string {
    return this.#foreground === '' && this.#background === '' ? this.#text : this.#text + RESET
  }

  #put(character: string, foreground: string, background: string): void {
    const codes: string[] = []
    if (foreground !== this.#foreground) codes.push(foreground)
    // A line starts with the background of the terminal.
    if (background !== (this.#background || '49')) codes.push(background)
    if (codes.length > 0) this.#text += `\x1b[${codes.join(';')}m`
    this.#foreground = foreground
    this.#background = background
    this.#text += character
  }

  #code(target: 38 | 48, rgb: Rgb): string {
    return this.#mode === 'truecolor' ? `${target};2;${rgb.join(';')}` : `${target};5;${nearest256(rgb)}`
  }
}

export interface ColourEnvironment {
  readonly isTTY: boolean
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * Chooses the output of colours. Terminals get colours unless they decline them, and 24 bits only if
 * COLORTERM announces them.
 */
export function colourMode(wish: 'auto' | 'always' | 'never', { isTTY, env }: ColourEnvironment): ColourMode {
  const declined = Boolean(env['NO_COLOR']) || env['TERM'] === 'dumb'
  if (wish === 'never' || (wish === 'auto' && (!isTTY || declined))) return 'ascii'
  return /truecolor|24bit/i.test(env['COLORTERM'] ?? '') ? 'truecolor' : '256'
}

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
export function lineDrawing({ lows, highs, low = 0, high = 0 }: ColumnExtremes, rows: number, columns: number): Picture {
  const values = new Float64Array(rows * columns).fill(Number.NaN)
  const toRow = (value: number): number => (high > low ? Math.round(((high - value) / (high - low)) * (rows - 1)) : rows >> 1)
  const toColumn = (i: number): number => (lows.length === 1 ? columns >> 1 : Math.round((i * (columns - 1)) / (lows.length - 1)))
  const draw = (x: number, from: number, to: number): void => {
    for (let y = Math.min(from, to); y <= Math.max(from, to); y++) values[y * columns + x] = 0
  }
  for (let i = 0; i < lows.length; i++) {
    if (Number.isNaN(lows[i]!)) continue
    draw(toColumn(i), toRow(highs[i]!), toRow(lows[i]!))
    if (i === 0 || Number.isNaN(lows[i - 1]!)) continue
    // Connect the nearest ends, or the part that both columns share.
    const shared = Math.max(lows[i - 1]!, lows[i]!)
    const from = Math.min(shared, highs[i - 1]!)
    const to = Math.min(shared, highs[i]!)
    const [left, right] = [toColumn(i - 1), toColumn(i)]
    const rowAt = (x: number): number => toRow(from + ((to - from) * (x - left)) / (right - left))
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

const SIGNATURE = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)
/** Number of colours of the scale. Index 0 is transparent. */
const PNG_COLOURS = 255

/** Encodes a picture as a PNG file (ISO/IEC 15948) with indexed colours. NaN is transparent. */
export function encodePicture({ rows, columns, values }: Picture, scale: Scale): Uint8Array {
  const palette = new Uint8Array(3 * (PNG_COLOURS + 1))
  for (let i = 0; i < PNG_COLOURS; i++) palette.set(colourAt(i / (PNG_COLOURS - 1)), 3 * (i + 1))
  const header = new Uint8Array(13)
  const view = new DataView(header.buffer)
  view.setUint32(0, columns)
  view.setUint32(4, rows)
  // Indexes of 8 bits, indexed colours, deflate, standard filters, not interlaced.
  header.set([8, 3, 0, 0, 0], 8)
  // Each row begins with the number of its filter, 0 for none.
  const pixels = new Uint8Array(rows * (columns + 1))
  for (let y = 0, i = 0; y < rows; y++)
    for (let x = 0; x < columns; x++, i++) {
      const value = values[i]!
      if (!Number.isNaN(value)) pixels[y * (columns + 1) + x + 1] = 1 + Math.round(scaleShare(value, scale) * (PNG_COLOURS - 1))
    }
  return Buffer.concat([
    SIGNATURE,
    encodePngChunk('IHDR', header),
    encodePngChunk('PLTE', palette),
    encodePngChunk('tRNS', Uint8Array.of(0)),
    encodePngChunk('IDAT', deflateSync(pixels)),
    encodePngChunk('IEND', new Uint8Array(0)),
  ])
}

/** Encodes a chunk: length, name, data, and the checksum of name and data. */
function encodePngChunk(name: string, data: Uint8Array): Uint8Array {
  const named = Buffer.concat([new TextEncoder().encode(name), data])
  const [length, checksum] = [data.length, crc32(named)].map((number) => {
    const bytes = new Uint8Array(4)
    new DataView(bytes.buffer).setUint32(0, number)
    return bytes
  })
  return Buffer.concat([length!, named, checksum!])
}
