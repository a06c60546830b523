// Formats values, types and attributes as text.
import type { DataArray } from 'hyperslab/dataset'
import { withoutNuls } from '../../../src/core/text.ts'

const TEXT_LENGTH = 200

/**
 * Formats a number with its significant digits, a date without trailing zeros, and other values as one line
 * of text.
 */
export function show(value: unknown): string {
  if (value === null) return 'no value'
  if (value instanceof Date)
    return value
      .toISOString()
      .replace('T', ' ')
      .replace(/(:00)?\.000Z$/, '')
      .replace(/ 00:00$/, '')
  if (typeof value === 'number') {
    if (Number.isNaN(value)) return 'no value'
    const rounded = Number(value.toPrecision(7))
    return Math.abs(rounded) < 1e9 ? String(rounded) : rounded.toExponential()
  }
  const list = ArrayBuffer.isView(value) || Array.isArray(value)
  const text = list ? Array.from(value as unknown as ArrayLike<unknown>, show).join(', ') : String(value)
  return text.length > TEXT_LENGTH ? `${text.slice(0, TEXT_LENGTH)}…` : text
}

export function showBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`
  const power = Math.min(3, Math.floor(Math.log2(bytes) / 10))
  return `${(bytes / 1024 ** power).toFixed(1)} ${['KiB', 'MiB', 'GiB'][power - 1]}`
}

export const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

/** Returns an attribute as text, without the NULs that some writers append. */
export const attribute = ({ attrs }: DataArray, name: string): string => withoutNuls(String(attrs[name] ?? '')).trim()

export const unitsOf = (array: DataArray): string => (array.dtype === 'timestamp_ns' ? '' : attribute(array, 'units'))

const SHORT_UNITS: readonly (readonly [RegExp, string])[] = [
  [/^(micro(met(er|re)s?|n)|um)$/i, 'µm'],
  [/^nanomet(er|re)s?$/i, 'nm'],
  [/^millimet(er|re)s?$/i, 'mm'],
  [/^centimet(er|re)s?$/i, 'cm'],
  [/^met(er|re)s?$/i, 'm'],
  [/^kilomet(er|re)s?$/i, 'km'],
  [/^seconds?$/i, 's'],
  [/^(degrees?_?c(elsius)?|deg_?c|celsius)$/i, '°C'],
]

/** Returns the symbol of units, if it is known; else the units. */
export const shortUnits = (units: string): string => SHORT_UNITS.find(([pattern]) => pattern.test(units))?.[1] ?? units

/** Returns the units of the drawn numbers. Times are drawn as seconds. */
export const unitsOfFloats = (array: DataArray): string =>
  array.dtype === 'timestamp_ns' ? 'seconds since 1970-01-01' : unitsOf(array)

/** Returns the full name of an array. */
export const longNameOf = (array: DataArray): string =>
  attribute(array, 'long_name') || attribute(array, 'standard_name').replaceAll('_', ' ') || array.name

/** Whether the values can be drawn. */
export const isNumeric = ({ dtype }: DataArray): boolean => dtype !== 'string' && dtype !== 'binary'

/** Formats the dimensions with their lengths. */
export const summarize = ({ dims, shape }: DataArray): string =>
  dims.map((dim, axis) => `${dim} ${shape[axis]}`).join(' × ') || 'scalar'

/** Returns all properties of an array that are known without reading it, as pairs of texts. */
export function describe(array: DataArray): [name: string, text: string][] {
  const { dtype: storedAs = array.dtype, chunks, ...packing } = array.encoding
  return [
    ['dimensions', summarize(array)],
    ['type', storedAs === array.dtype ? array.dtype : `${array.dtype}, stored as ${show(storedAs)}`],
    ['chunks', `${(chunks as number[] | undefined)?.join(' × ') || '1'} each`],
    ...Object.entries({ ...array.attrs, ...packing }).map(([name, value]): [string, string] => [name, show(value)]),
  ]
}
