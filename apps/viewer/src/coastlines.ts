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

/** Visits the points of the coastlines in degrees. Undefined ends a line. */
export function visitCoastlines(coasts: Int16Array, visit: (longitude?: number, latitude?: number) => void): void {
  for (let i = 0; i < coasts.length; i += 2) {
    if (coasts[i] === END) {
      visit()
      i--
    } else visit(coasts[i]! / UNITS_PER_DEGREE, coasts[i + 1]! / UNITS_PER_DEGREE)
  }
}

interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** Adds the coastlines to a path, projected to the visible part of the map. */
export function traceCoastlines(
  context: CanvasRenderingContext2D,
  coasts: Int16Array,
  geometry: Geometry,
  seen: Rectangle,
  { x: left, y: top, width, height }: Box,
): void {
  const { centre } = geometry
  let before = Number.NaN
  visitCoastlines(coasts, (longitude, latitude) => {
    if (longitude === undefined) {
      before = Number.NaN
      return
    }
    const turned = longitude - 360 * Math.round((longitude - centre) / 360)
    const [x, y] = placeOnPicture(geometry, seen, turned, latitude!)
    // A line that crosses the edge of the map continues on its other side.
    const begins = Number.isNaN(before) || Math.abs(turned - before) > 180
    context[begins ? 'moveTo' : 'lineTo'](left + x * width, top + y * height)
    before = turned
  })
}

/** Adds the coastlines on a plane, which are fractions of its sides, to a path. */
export function traceShores(
  context: CanvasRenderingContext2D,
  shores: Float64Array,
  geometry: Geometry,
  seen: Rectangle,
  { x: left, y: top, width, height }: Box,
): void {
  const { across, down } = geometry.ends
  let begins = true
  for (let i = 0; i < shores.length; i += 2) {
    if (Number.isNaN(shores[i]!)) {
      begins = true
      i--
      continue
    }
    const place = [across[0] + shores[i]! * (across[1] - across[0]), down[0] + shores[i + 1]! * (down[1] - down[0])] as const
    const [x, y] = placeOnPicture(geometry, seen, ...place)
    context[begins ? 'moveTo' : 'lineTo'](left + x * width, top + y * height)
    begins = false
  }
}
