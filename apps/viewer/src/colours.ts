// Colour maps as tables of 256 colours, each a pixel of ImageData.

type Rgb = readonly [red: number, green: number, blue: number]

export type ColourMap = 'viridis' | 'cividis' | 'diverging' | 'cyclic'
export type ColourChoice = 'auto' | ColourMap

/** Viridis (S. van der Walt, N. Smith, CC0) has even steps of lightness, from dark to light. */
const VIRIDIS = '440154 482475 414487 355f8d 2a788e 21918c 22a884 44bf70 7ad151 bddf26 fde725'
/**
 * Cividis (J. Nuñez, C. Anderton, R. Renslow, 2018) looks alike to people with and without red-green
 * blindness.
 */
const CIVIDIS = '00224e 123570 3b496c 575d6d 707173 8a8678 a59c74 c3b369 e1cc55 fee838'
/**
 * RdBu of ColorBrewer (C. Brewer, Apache-2.0), from blue for negative values to red for positive ones; 0 is
 * nearly white.
 */
const DIVERGING = '053061 2166ac 4393c3 92c5de d1e5f0 f7f7f7 fddbc7 f4a582 d6604d b2182b 67001f'
/** Twilight of matplotlib (CC0). Both ends have the same colour, because they are the same direction. */
const CYCLIC = 'e2d9e2 bdc4cc 87a8c0 6884bd 5d5bae 57318e 451363 2f1436 4c1542 7a2349 a04a4f b97b67 c9ab99 d9d0c9 e2d9e2'

const STOPS: Readonly<Record<ColourMap, string>> = { viridis: VIRIDIS, cividis: CIVIDIS, diverging: DIVERGING, cyclic: CYCLIC }

const tables = new Map<ColourMap, Uint32Array>()

/** Returns the 256 colours of a map as pixels, from its low to its high end. */
export function tableOf(map: ColourMap): Uint32Array {
  let table = tables.get(map)
  if (table === undefined) {
    const stops = STOPS[map].split(' ').map(rgbOf)
    table = Uint32Array.from({ length: 256 }, (_, i) => pixelOf(between(stops, i / 255)))
    tables.set(map, table)
  }
  return table
}

/** Converts a CSS colour, `#rrggbb`, to a pixel. */
export const pixelOfText = (text: string): number => pixelOf(rgbOf(text.replace('#', '')))

function rgbOf(hex: string): Rgb {
  const value = Number.parseInt(hex, 16)
  return [value >> 16, (value >> 8) & 255, value & 255]
}

const isLittleEndian = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1

/** Returns an opaque pixel in the byte order of this machine. */
const pixelOf = ([red, green, blue]: Rgb): number =>
  (isLittleEndian ? (255 << 24) | (blue << 16) | (green << 8) | red : (red << 24) | (green << 16) | (blue << 8) | 255) >>> 0

function between(stops: readonly Rgb[], position: number): Rgb {
  const at = position * (stops.length - 1)
  const below = Math.min(stops.length - 2, Math.floor(at))
  const [from, to] = [stops[below]!, stops[below + 1]!]
  return from.map((part, i) => Math.round(part + (to[i]! - part) * (at - below))) as unknown as Rgb
}
