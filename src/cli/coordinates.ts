import type { ArrayFile } from '../af/file.ts'
import type { FileArray } from '../af/file-array.ts'
import { isFixed } from '../core/dtype.ts'
import { isHyperslabError } from '../core/errors.ts'
import { showShort } from './element.ts'
import { type AxisSelection, excerptOf } from './excerpt.ts'
import { printable } from './output.ts'
import { physical } from './physical.ts'

/** A coordinate variable: an array along one axis that says where its positions lie. */
export interface Coordinate {
  readonly name: string
  /** Values at the selected positions. */
  readonly values: readonly number[]
  readonly units: string
  readonly calendar: string | undefined
  readonly isLatitude: boolean
  readonly isLongitude: boolean
  /** Whether greater values belong further up on a map. */
  readonly isUpward: boolean
}

/** An attribute that is text; some writers pad it with NULs. */
export function textAttribute(array: Pick<FileArray, 'attrs'>, name: string): string | undefined {
  const value = array.attrs.get(name)
  const text = typeof value === 'string' ? printable(value.replace(/\0+$/, '').trim()) : ''
  return text === '' ? undefined : text
}

/** The coordinate variable of an axis, read at the selected positions; `undefined` when the file has none. */
export async function readCoordinate(
  file: ArrayFile,
  of: FileArray,
  axis: number,
  selected: AxisSelection,
): Promise<Coordinate | undefined> {
  const found = findCoordinate(file, of, axis)
  if (found === undefined) return undefined
  const { array } = physical(found, {})
  const { data } = await array.get([excerptOf(selected, { from: 0, length: selected.length })])
  const [isLatitude, isLongitude, isUpward] = [tellsLatitude(found), tellsLongitude(found), tellsUpward(found)]
  return {
    name: found.name,
    values: Array.from(data as ArrayLike<number | bigint>, Number),
    units: textAttribute(found, 'units') ?? '',
    calendar: textAttribute(found, 'calendar')?.toLowerCase(),
    isLatitude,
    isLongitude,
    isUpward,
  }
}

/**
 * Of the arrays along an axis those are coordinates that are named like its dimension, and those that say so:
 * by their units, their standard name or the axis they are for, or that the array names. Ones that tell a
 * direction come first, then the dimension's own.
 */
function findCoordinate(file: ArrayFile, of: FileArray, axis: number): FileArray | undefined {
  const dimension = of.dimensionNames?.[axis]
  if (dimension === undefined || dimension === '') return undefined
  const named = textAttribute(of, 'coordinates')?.split(/\s+/) ?? []
  const along = file.arrays().flatMap((name) => {
    const array = arrayOrNone(file, name)
    if (array === undefined || array.shape.length !== 1 || array.shape[0] !== of.shape[axis]) return []
    if (!isFixed(array.dtype) || array.dtype === 'bool') return []
    return name === dimension || array.dimensionNames?.[0] === dimension ? [array] : []
  })
  const rank = (array: FileArray): number => {
    const own = array.name === dimension
    if (tellsLatitude(array) || tellsLongitude(array) || textAttribute(array, 'axis') !== undefined) return own ? 4 : 3
    return own ? 2 : named.includes(array.name) ? 1 : 0
  }
  return along.filter((array) => rank(array) > 0).sort((a, b) => rank(b) - rank(a))[0]
}

/** Arrays of nested types are no coordinates, and cannot be opened. */
function arrayOrNone(file: ArrayFile, name: string): FileArray | undefined {
  try {
    return file.array(name)
  } catch (error) {
    if (isHyperslabError(error, 'UnsupportedError')) return undefined
    throw error
  }
}

const tells = (array: FileArray, standardName: string, units: RegExp): boolean =>
  textAttribute(array, 'standard_name') === standardName || units.test(textAttribute(array, 'units') ?? '')
const tellsLatitude = (array: FileArray): boolean => tells(array, 'latitude', /^degrees?_?n(orth)?$/i)
const tellsLongitude = (array: FileArray): boolean => tells(array, 'longitude', /^degrees?_?e(ast)?$/i)
const tellsUpward = (array: FileArray): boolean =>
  tellsLatitude(array) ||
  textAttribute(array, 'axis')?.toUpperCase() === 'Y' ||
  /^(grid_latitude|projection_y_coordinate)$/.test(textAttribute(array, 'standard_name') ?? '')

/**
 * True when positions run upwards, as from south to north, so that they have to be drawn from the last to the
 * first.
 */
export const runsUp = ({ isUpward, values }: Coordinate): boolean => isUpward && values.length > 1 && values.at(-1)! > values[0]!

/** One position of a coordinate in words: `45.5N`, `2005-01-16 12:00`, `850 hPa`. */
export function showPosition({ values, units, calendar, isLatitude, isLongitude }: Coordinate, position: number): string {
  const value = values[position]!
  const degrees = showShort(Math.abs(value))
  if (isLatitude) return value === 0 ? '0' : `${degrees}${value < 0 ? 'S' : 'N'}`
  if (isLongitude) return value === 0 ? '0' : `${degrees}${value < 0 ? 'W' : 'E'}`
  return showTime(value, units, calendar) ?? `${showShort(value, 7)}${/^1?$/.test(units) ? '' : ` ${units}`}`
}

const UNIT_SECONDS: Record<string, number> = {
  second: 1,
  sec: 1,
  s: 1,
  minute: 60,
  min: 60,
  hour: 3600,
  hr: 3600,
  h: 3600,
  day: 86400,
  d: 86400,
}

const SINCE =
  /^\s*([a-z]+?)s?\s+since\s+(\d{4})-(\d{1,2})-(\d{1,2})(?:[T\s]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.0*)?)?)?\s*(?:Z|UTC)?\s*$/i

/** From this day on the calendars `standard` and `proleptic_gregorian` are one. */
const GREGORIAN_START = Date.UTC(1582, 9, 15)

/**
 * A time of the CF conventions (`days since 1850-01-01`) as `2005-01-16 12:00`; `undefined` for units and
 * calendars in which this would take more than arithmetic.
 */
export function showTime(value: number, units: string, calendar = 'standard'): string | undefined {
  const match = SINCE.exec(units)
  const seconds = UNIT_SECONDS[match?.[1]?.toLowerCase() ?? '']
  if (match === null || seconds === undefined || !Number.isFinite(value)) return undefined
  const [year, month, day, hour = 0, minute = 0, second = 0] = match
    .slice(2)
    .map((part) => (part === undefined ? undefined : Number(part)))
  const start = new Date(0)
  start.setUTCFullYear(year!, month! - 1, day!)
  start.setUTCHours(hour, minute, second)
  const time = Math.round(start.getTime() / 1000 + value * seconds) * 1000
  const mixed = calendar === 'standard' || calendar === 'gregorian'
  if (!mixed && calendar !== 'proleptic_gregorian') return undefined
  if (mixed && Math.min(start.getTime(), time) < GREGORIAN_START) return undefined
  const date = new Date(time)
  if (Number.isNaN(date.getTime())) return undefined
  const text = date.toISOString().replace('T', ' ').replace('.000Z', '')
  return text.endsWith(':00') ? text.slice(0, -3) : text
}
