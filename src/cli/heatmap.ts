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
        Array.from(row, (value) => shadeOf(value, scale))
          .join('')
          .trimEnd(),
      )
    }
    return lines
  }
  const at = (y: number, x: number): number => (y < rows ? values[y * columns + x]! : Number.NaN)
  for (let y = 0; y < rows; y += 2) {
    const line = new ColouredLine(mode)
    for (let x = 0; x < columns; x++) line.add(colourOf(at(y, x), scale), colourOf(at(y + 1, x), scale))
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
export const shareOf = (value: number, { low, high }: Scale): number => (high > low ? (value - low) / (high - low) : 0.5)

const colourOf = (value: number, scale: Scale): Rgb | undefined =>
  Number.isNaN(value) ? undefined : colourAt(shareOf(value, scale))

function shadeOf(value: number, scale: Scale): string {
  if (Number.isNaN(value)) return ' '
  return SHADES[Math.min(SHADES.length - 1, Math.floor(shareOf(value, scale) * SHADES.length))]!
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
