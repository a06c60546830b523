import type { ArrayFile } from '../af/file.js'
import type { FileArray } from '../af/file-array.js'
import { isFixed } from '../core/dtype.js'
import { showTime } from './cf-time.js'
import { printable, showShort } from './element.js'
import { type AxisSelection, partOf } from './excerpt.js'

/** A coordinate variable: the array of one axis that is named like it and says where its positions lie. */
export interface Coordinate {
  readonly name: string
  /** Values at the selected positions. */
  readonly values: readonly number[]
  readonly units: string
  readonly calendar: string | undefined
  readonly isLatitude: boolean
  readonly isLongitude: boolean
}

/** An attribute that is text; some writers pad it with NULs. */
export function textAttribute(array: Pick<FileArray, 'attrs'>, name: string): string | undefined {
  const value = array.attrs.get(name)
  const text = typeof value === 'string' ? printable(value.replace(/\0+$/, '').trim()) : ''
  return text === '' ? undefined : text
}

/** The coordinate variable of an axis of `length` positions, read at the selected ones; `undefined` when the file has none. */
export async function readCoordinate(
  file: ArrayFile,
  name: string,
  length: number,
  selected: AxisSelection,
): Promise<Coordinate | undefined> {
  if (!file.arrays().includes(name)) return undefined
  const array = file.array(name)
  if (array.shape.length !== 1 || array.shape[0] !== length || !isFixed(array.dtype) || array.dtype === 'bool') return undefined
  const { data } = await array.get([partOf(selected, { from: 0, length: selected.length })])
  const units = textAttribute(array, 'units') ?? ''
  const standardName = textAttribute(array, 'standard_name')
  return {
    name,
    values: Array.from(data as ArrayLike<number | bigint>, Number),
    units,
    calendar: textAttribute(array, 'calendar')?.toLowerCase(),
    isLatitude: standardName === 'latitude' || /^degrees?_?n(orth)?$/i.test(units),
    isLongitude: standardName === 'longitude' || /^degrees?_?e(ast)?$/i.test(units),
  }
}

/** True when positions run from south to north, so that they have to be drawn from the last to the first. */
export const runsNorth = ({ isLatitude, values }: Coordinate): boolean =>
  isLatitude && values.length > 1 && values.at(-1)! > values[0]!

/** One position of a coordinate in words: `45.5N`, `2005-01-16 12:00`, `850 hPa`. */
export function showPosition({ values, units, calendar, isLatitude, isLongitude }: Coordinate, position: number): string {
  const value = values[position]!
  const degrees = showShort(Math.abs(value))
  if (isLatitude) return value === 0 ? '0' : `${degrees}${value < 0 ? 'S' : 'N'}`
  if (isLongitude) return value === 0 ? '0' : `${degrees}${value < 0 ? 'W' : 'E'}`
  return showTime(value, units, calendar) ?? `${showShort(value, 7)}${/^1?$/.test(units) ? '' : ` ${units}`}`
}
