// Values to pixels.
import type { Frame } from './frame.ts'
import type { PixelCells } from './geometry.ts'
import type { Limits } from './limits.ts'

/** Pixels of the colours, of what is missing (its lines and what is between them) and of what is outside. */
export interface Palette {
  readonly table: Uint32Array
  readonly line: number
  readonly paper: number
}

/** Every so many pixels of the display, along both axes, a line of the hatching begins. */
const HATCH = 8

export const isHatched = (x: number, y: number): boolean => ((x + y) & (HATCH - 1)) < 2

/** Draws a frame: one look-up a pixel, and nothing allocated. */
export function paint(
  pixels: Uint32Array,
  cells: PixelCells,
  { values, columns }: Frame,
  limits: Limits,
  palette: Palette,
): void {
  const { width, height, rowOf, columnOf, fine, firstOf, partsOf } = cells
  const { table, line, paper } = palette
  const { low, high } = limits
  // The greatest value has the last colour; of one value alone the middle one is drawn.
  const scale = high > low ? 256 / (high - low) : 0
  const offset = high > low ? 0 : 128
  let at = 0
  for (let y = 0; y < height; y++) {
    const row = rowOf[y]!
    if (row < 0) {
      pixels.fill(paper, at, at + width)
      at += width
      continue
    }
    const base = row * columns
    const first = firstOf[y]!
    const parts = partsOf[y]!
    for (let x = 0; x < width; x++, at++) {
      const part = columnOf === undefined ? Math.floor(first + x * parts) : 0
      const column = columnOf !== undefined ? columnOf[x]! : part < 0 || part >= fine.length ? -1 : fine[part]!
      if (column < 0) {
        pixels[at] = paper
        continue
      }
      const value = values[base + column]!
      if (Number.isNaN(value)) pixels[at] = isHatched(x, y) ? line : paper
      else {
        const share = (value - low) * scale + offset
        pixels[at] = table[share < 0 ? 0 : share > 255 ? 255 : share | 0]!
      }
    }
  }
}
