// Coastlines of Natural Earth at 1:110 000 000, as packed by the build.
import { type Geometry, placeOnPicture, type Rectangle } from './geometry.ts'

/** Marks the end of a line. No coordinate is this small. */
const END = -32768
const UNITS_PER_DEGREE = 100

let lines: Promise<Int16Array> | undefined

/**
 * Loads the coastlines with the first map. They are pairs of longitude and latitude in hundredths of a
 * degree, with {@link END} after each line.
 */
export function loadCoastlines(): Promise<Int16Array> {
  lines ??= fetch(new URL('coastlines.bin', import.meta.url)).then(async (response) => {
    if (!response.ok) throw new Error(`the coastlines could not be loaded: ${response.status}`)
    return new Int16Array(await response.arrayBuffer())
  })
  return lines
}

/** Adds the coastlines to a path, projected to the visible part of the map. */
export function traceCoastlines(
  context: CanvasRenderingContext2D,
  coasts: Int16Array,
  geometry: Geometry,
  seen: Rectangle,
  { x: left, y: top, width, height }: { readonly x: number; readonly y: number; readonly width: number; readonly height: number },
): void {
  const { centre } = geometry
  let before = Number.NaN
  for (let i = 0; i < coasts.length; i += 2) {
    if (coasts[i] === END) {
      before = Number.NaN
      i--
      continue
    }
    const longitude = coasts[i]! / UNITS_PER_DEGREE
    const turned = longitude - 360 * Math.round((longitude - centre) / 360)
    const [x, y] = placeOnPicture(geometry, seen, turned, coasts[i + 1]! / UNITS_PER_DEGREE)
    // A line that crosses the edge of the map continues on its other side.
    const begins = Number.isNaN(before) || Math.abs(turned - before) > 180
    context[begins ? 'moveTo' : 'lineTo'](left + x * width, top + y * height)
    before = turned
  }
}
