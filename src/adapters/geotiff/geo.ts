import { decodeText } from '../../core/characters.ts'
import type { TagValues } from './directory.ts'
import { damagedTiff } from './errors.ts'
import { keyName, MODEL, POINT_PIXELS } from './geo-keys.ts'
import { TAG } from './tags.ts'

/**
 * Transform from pixels to coordinates, in the order of rasterio: the corner of the pixel in column `i` and
 * row `j` is at `x = a * i + b * j + c` and `y = d * i + e * j + f`, its centre half a pixel further.
 */
export type GeoTransform = readonly [a: number, b: number, c: number, d: number, e: number, f: number]

/** A point of known coordinates. `column` and `row` count from the corner of the image. */
export interface GroundControlPoint {
  readonly column: number
  readonly row: number
  readonly x: number
  readonly y: number
  readonly z: number
}

/** Coordinate reference system of an image. */
export interface GeotiffCrs {
  /** EPSG number; undefined for systems that only the keys describe. */
  readonly epsg: number | undefined
  /** Kind of the coordinates; undefined if the file does not say. */
  readonly kind: 'projected' | 'geographic' | 'geocentric' | undefined
  /** GeoTIFF keys by name. */
  readonly keys: ReadonlyMap<string, number | string | readonly number[]>
}

/** Location of an image: its transform, its coordinate system, and its points. */
export interface GeoReference {
  readonly transform: GeoTransform | undefined
  readonly crs: GeotiffCrs | undefined
  readonly gcps: readonly GroundControlPoint[]
  /** Whether samples are values at points, instead of areas; undefined if the file does not say. */
  readonly isPoint: boolean | undefined
}

/** Number that stands for a system described by other keys. */
const USER_DEFINED = 32767
const [RASTER_TYPE, GEOGRAPHIC_TYPE, PROJECTED_TYPE, VERTICAL_TYPE, MODEL_TYPE] = [1025, 2048, 3072, 4096, 1024]
const TIE_NUMBERS = 6

/** Reads the georeference of an image. */
export function geoReference(tags: TagValues): GeoReference {
  const keys = geoKeys(tags)
  const type = keys?.get(RASTER_TYPE)
  const isPoint = type === undefined ? undefined : type === POINT_PIXELS
  const ties = tags.numbers(TAG.tiePoints) ?? []
  const transform = findTransform(tags, ties)
  // The coordinates of points are those of the centres of pixels.
  const shift = isPoint ? 0.5 : 0
  const gcps: GroundControlPoint[] = []
  for (let i = 0; transform === undefined && i + TIE_NUMBERS <= ties.length; i += TIE_NUMBERS) {
    const [column, row, , x, y, z] = ties.slice(i, i + TIE_NUMBERS) as [number, number, number, number, number, number]
    gcps.push({ column: column + shift, row: row + shift, x, y, z })
  }
  return { transform: transform && shifted(transform, shift), crs: keys && toCrs(keys), gcps, isPoint }
}

/** Whether a vertical system has heights above an ellipsoid. GDAL takes them as a third axis. */
const isEllipsoidal = (id: number): boolean => id >= 5001 && id <= 5033

/**
 * Returns the scale and the offset of heights. GDAL stores them in the pixel scale and in the tie point of
 * images with a vertical coordinate system, by GeoTIFF 1.1.
 */
export function verticalScale(tags: TagValues): { readonly scale: number; readonly offset: number } | undefined {
  const [, revision, minor] = tags.numbers(TAG.geoKeys) ?? []
  const vertical = geoKeys(tags)?.get(VERTICAL_TYPE)
  const [scale, ties] = [tags.numbers(TAG.pixelScale)?.[2] ?? 0, tags.numbers(TAG.tiePoints) ?? []]
  if (revision !== 1 || minor === 0 || typeof vertical !== 'number' || isEllipsoidal(vertical)) return undefined
  if (scale === 0 || ties.length < TIE_NUMBERS) return undefined
  return { scale, offset: ties[5]! - ties[2]! * scale }
}

/** Returns the transform of the pixel in column 0 and row 0, as the file has it. */
function findTransform(tags: TagValues, ties: readonly number[]): GeoTransform | undefined {
  const scale = tags.numbers(TAG.pixelScale)
  if (scale !== undefined && scale.length >= 2 && scale[0] !== 0 && scale[1] !== 0 && ties.length >= TIE_NUMBERS) {
    const [column, row, , x, y] = ties as [number, number, number, number, number]
    const [a, e] = [scale[0]!, -Math.abs(scale[1]!)]
    return [a, 0, x - column * a, 0, e, y - row * e]
  }
  const matrix = tags.numbers(TAG.transformation)
  if (matrix === undefined) return undefined
  if (matrix.length !== 16) damagedTiff(`the transformation has ${matrix.length} numbers instead of 16`, matrix.length, 16)
  return [matrix[0]!, matrix[1]!, matrix[3]!, matrix[4]!, matrix[5]!, matrix[7]!]
}

function shifted([a, b, c, d, e, f]: GeoTransform, by: number): GeoTransform {
  return [a, b, c - by * (a + b), d, e, f - by * (d + e)]
}

type Keys = ReadonlyMap<number, number | string | readonly number[]>

/** Reads the GeoTIFF keys: a list of key, tag of the value, count, and value or position. */
function geoKeys(tags: TagValues): Keys | undefined {
  const list = tags.numbers(TAG.geoKeys)
  if (list === undefined) return undefined
  const count = list[3] ?? 0
  if (list.length < 4 + 4 * count)
    damagedTiff(
      `the list of ${count} GeoTIFF keys has ${list.length} numbers, fewer than ${4 + 4 * count}`,
      list.length,
      4 + 4 * count,
    )
  const doubles = tags.numbers(TAG.geoDoubles) ?? []
  const texts = tags.bytes(TAG.geoTexts) ?? new Uint8Array(0)
  const keys = new Map<number, number | string | readonly number[]>()
  for (let i = 4; i < 4 + 4 * count; i += 4) {
    const [key, tag, length, value] = list.slice(i, i + 4) as [number, number, number, number]
    if (tag === 0) keys.set(key, value)
    else if (tag === TAG.geoTexts) keys.set(key, withoutEnd(decodeText(texts.subarray(value, value + length))))
    else {
      const found = (tag === TAG.geoDoubles ? doubles : tag === TAG.geoKeys ? list : []).slice(value, value + length)
      if (found.length > 0) keys.set(key, found.length === 1 ? found[0]! : found)
    }
  }
  return keys
}

/** Removes the characters that end texts. */
function withoutEnd(text: string): string {
  let end = text.length
  while (end > 0 && (text[end - 1] === '|' || text[end - 1] === '\0')) end--
  return text.slice(0, end)
}

function toCrs(keys: Keys): GeotiffCrs | undefined {
  const known = (key: number): number | undefined => {
    const value = keys.get(key)
    return typeof value === 'number' && value > 0 && value !== USER_DEFINED ? value : undefined
  }
  const kind = MODEL[Number(keys.get(MODEL_TYPE) ?? 0)]
  const isSystem = (key: number): boolean => key !== MODEL_TYPE && key !== RASTER_TYPE
  if (![...keys.keys()].some(isSystem)) return undefined
  // A projected system of the file's own may be derived from a known geographic one.
  const epsg = known(PROJECTED_TYPE) ?? (keys.has(PROJECTED_TYPE) || kind === 'projected' ? undefined : known(GEOGRAPHIC_TYPE))
  return { epsg, kind, keys: new Map([...keys].map(([key, value]) => [keyName(key), value])) }
}

/** Returns the transform of a level that covers the same area with other pixels. */
export function scaledTransform([a, b, c, d, e, f]: GeoTransform, columns: number, rows: number): GeoTransform {
  return [a * columns, b * rows, c, d * columns, e * rows, f]
}
