// Converts values to pixels.
import type { Frame } from './frame.ts'
import type { PixelCells } from './geometry.ts'
import type { Limits } from './limits.ts'

/** Pixels of the colours, of the hatching of missing cells, and of the background. */
export interface Palette {
  readonly table: Uint32Array
  readonly line: number
  readonly paper: number
}

/** Distance between hatching lines along both axes, in pixels of the display. */
const HATCH = 8

export const isHatched = (x: number, y: number): boolean => ((x + y) & (HATCH - 1)) < 2

/** Draws a frame, with one look-up per pixel and without allocations. */
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
  // The greatest value has the last colour. If all values are equal, they have the middle one.
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
