import type { DiskArray } from '../array/disk-array.ts'
import { isFixed } from '../core/dtype.ts'
import { showShort } from './element.ts'
import { type AxisSelection, excerptOf } from './excerpt.ts'
import { printable } from './output.ts'
import { physical } from './physical.ts'
import type { PlacedArray } from './place.ts'

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
export function textAttribute({ attrs }: Pick<DiskArray, 'attrs'>, name: string): string | undefined {
  const value = attrs?.get(name)
  const text = typeof value === 'string' ? printable(value.replace(/\0+$/, '').trim()) : ''
  return text === '' ? undefined : text
}

/**
 * The coordinate variable of an axis, read at the selected positions; `undefined` when there is none.
 * @param beside the arrays it may be among
 */
export async function readCoordinate(
  beside: readonly PlacedArray[],
  of: PlacedArray,
  axis: number,
  selected: AxisSelection,
): Promise<Coordinate | undefined> {
  const found = findCoordinate(beside, of, axis)
  if (found === undefined) return undefined
  const { array } = physical(found.array, {})
  const { data } = await array.get([excerptOf(selected, { from: 0, length: selected.length })])
  const values = Array.from(data as ArrayLike<number | bigint>, Number)
  const [isLatitude, isLongitude, isUpward] = [tellsLatitude, tellsLongitude, tellsUpward].map((tell) => tell(found.array))
  const place = { name: found.name, isLatitude: isLatitude!, isLongitude: isLongitude!, isUpward: isUpward! }
  if (array.dtype === 'timestamp_ns')
    return { ...place, values: values.map((time) => time / 1e9), units: 'seconds since 1970-01-01', calendar: undefined }
  return {
    ...place,
    values,
    units: textAttribute(found.array, 'units') ?? '',
    calendar: textAttribute(found.array, 'calendar')?.toLowerCase(),
  }
}

/**
 * Of the arrays along an axis those are coordinates that are named like its dimension, and those that say so:
 * by their units, their standard name or the axis they are for, or that the array names. They are in the same
 * group as the array, or in one above it. Ones that tell a direction come first, then the dimension's own,
 * and of alike ones that of the nearest group.
 */
function findCoordinate(beside: readonly PlacedArray[], of: PlacedArray, axis: number): PlacedArray | undefined {
  const dimension = of.array.dimensionNames?.[axis]
  if (dimension === undefined || dimension === '') return undefined
  const named = textAttribute(of.array, 'coordinates')?.split(/\s+/) ?? []
  const along = beside.filter(({ name, array }) => {
    if (array.shape.length !== 1 || array.shape[0] !== of.array.shape[axis]) return false
    if (!isFixed(array.dtype) || array.dtype === 'bool' || !of.name.startsWith(groupOf(name))) return false
    return lastName(name) === dimension || array.dimensionNames?.[0] === dimension
  })
  const rank = ({ name, array }: PlacedArray): number => {
    const own = lastName(name) === dimension
    if (tellsLatitude(array) || tellsLongitude(array) || textAttribute(array, 'axis') !== undefined) return own ? 4 : 3
    return own ? 2 : named.includes(lastName(name)) ? 1 : 0
  }
  const depth = ({ name }: PlacedArray): number => groupOf(name).length
  return along.filter((array) => rank(array) > 0).sort((a, b) => rank(b) - rank(a) || depth(b) - depth(a))[0]
}

const lastName = (name: string): string => name.slice(name.lastIndexOf('/') + 1)

/** Of the name of an array, with the slash at its end; empty for the outermost. */
const groupOf = (name: string): string => name.slice(0, name.lastIndexOf('/') + 1)

const tells = (array: DiskArray, standardName: string, units: RegExp): boolean =>
  textAttribute(array, 'standard_name') === standardName || units.test(textAttribute(array, 'units') ?? '')
const tellsLatitude = (array: DiskArray): boolean => tells(array, 'latitude', /^degrees?_?n(orth)?$/i)
const tellsLongitude = (array: DiskArray): boolean => tells(array, 'longitude', /^degrees?_?e(ast)?$/i)
const tellsUpward = (array: DiskArray): boolean =>
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
