import type { DiskArray } from '../../array/disk-array.ts'
import { plainAttrs } from '../attributes.ts'
import { findAxisKind } from '../cf/axis-kind.ts'
import type { RawVariable } from '../cf/decode.ts'
import type { Coords } from '../coords.ts'
import { DataArray } from '../data-array.ts'
import { Dataset } from '../dataset.ts'
import type { Label } from '../label-values.ts'
import type { Variable } from '../variable.ts'
import { lastName, listDimensions, parentGroup, type TreeArray, textAttribute } from './tree-array.ts'

/**
 * Preferred coordinate of a dimension among several: its own, which has its name (`own`), or one with a
 * direction (`direction`).
 */
export type PreferredCoordinates = 'own' | 'direction'

/**
 * Returns the coordinate of each axis by dimension, with its labels in memory. A coordinate is a
 * one-dimensional array along the axis, in the same group or in one above. It has the name of the dimension,
 * defines a direction, or is listed by the array. Its units, its standard name or the attribute `axis` define
 * a direction. Among equals the nearest group wins. Candidates that cannot be decoded are ignored.
 * @param beside arrays of the group of the array, and of those above
 */
export async function findCoordinates(
  array: TreeArray,
  beside: readonly TreeArray[],
  prefer: PreferredCoordinates,
): Promise<Coords> {
  const named = textAttribute(array.array, 'coordinates')?.split(/\s+/) ?? []
  const names = new Map<string, string>()
  const variables = listDimensions(array.array).flatMap((dim, axis): RawVariable[] => {
    const rank = (each: TreeArray): number => {
      const isOwn = lastName(each.path) === dim
      if (isOwn && prefer === 'own') return 5
      if (hasDirection(each)) return isOwn ? 4 : 3
      return isOwn ? 2 : named.includes(lastName(each.path)) ? 1 : 0
    }
    const depth = ({ path }: TreeArray): number => parentGroup(path).length
    const [best] = beside
      .filter((each) => isAlong(each, array, dim, axis) && rank(each) > 0)
      .sort((a, b) => rank(b) - rank(a) || depth(b) - depth(a))
    if (best === undefined) return []
    names.set(dim, lastName(best.path))
    return [{ name: dim, array: best.array, dims: [dim] }]
  })
  const { coords } = await Dataset.from({ variables })
  return new Map(Object.entries(coords).map(([dim, { variable }]) => [dim, variable.with({ name: names.get(dim)! })]))
}

/** Whether an array may label an axis of another one. */
function isAlong({ path, array }: TreeArray, other: TreeArray, dim: string, axis: number): boolean {
  if (array.shape.length !== 1 || array.shape[0] !== other.array.shape[axis]) return false
  if (typeof array.dtype !== 'string' || array.dtype === 'binary' || array.dtype === 'bool') return false
  return other.path.startsWith(parentGroup(path)) && (lastName(path) === dim || array.dimensionNames?.[0] === dim)
}

function hasDirection({ path, array }: TreeArray): boolean {
  if (textAttribute(array, 'axis') !== undefined) return true
  const kind = findAxisKind(lastName(path), plainAttrs(array.attrs))
  return kind === 'latitude' || kind === 'longitude'
}

/** Returns coordinates as labelled arrays, by dimension. */
export const coordinateArrays = (coords: Coords): Record<string, DataArray> =>
  Object.fromEntries([...coords].map(([dim, coord]) => [dim, new DataArray(coord, coords)]))

/** Returns the direction of a coordinate by the CF conventions. */
const kindOf = ({ name, attrs }: Variable) => findAxisKind(name, attrs)

/** Returns the labels of a coordinate at the selected positions, even for a single one. */
const listLabels = ({ index, scalar }: Variable): ArrayLike<Label> => (index ?? scalar)?.values ?? []

/** Returns a textual attribute of a coordinate. */
const textOf = ({ attrs }: Variable, name: string): string | undefined =>
  textAttribute({ attrs: { get: (key: string) => attrs[key] } as unknown as DiskArray['attrs'] }, name)

/**
 * Whether positions along a coordinate run upwards, such as from south to north. A picture of them begins
 * with the last one.
 * @example
 * const coords = { lat: { dims: ['lat'], data: [50, 55], attrs: { units: 'degrees_north' } } }
 * const { lat } = new Dataset({ t: { dims: ['lat'], data: [281, 285] } }, { coords }).coords
 * console.log(runsUpwards(lat)) // true
 */
export function runsUpwards(coordinate: DataArray): boolean {
  const { variable } = coordinate
  const isUpward =
    kindOf(variable) === 'latitude' ||
    textOf(variable, 'axis')?.toUpperCase() === 'Y' ||
    textOf(variable, 'standard_name') === 'projection_y_coordinate'
  const labels = listLabels(variable)
  return isUpward && labels.length > 1 && labels[labels.length - 1]! > labels[0]!
}

/**
 * Returns one position of a coordinate in words: `45.5N`, `2005-01-16 12:00`, `850 hPa`.
 * @param position along the coordinate. Default: 0, which is that of a single label
 * @example
 * const coords = { lat: { dims: ['lat'], data: [50, 52.5], attrs: { units: 'degrees_north' } } }
 * const { lat } = new Dataset({ t: { dims: ['lat'], data: [281, 285] } }, { coords }).coords
 * console.log(positionText(lat, 1)) // 52.5N
 */
export function positionText(coordinate: DataArray, position = 0): string {
  const { variable } = coordinate
  const index = variable.index ?? variable.scalar
  if (index === undefined) return String(position)
  const label = index.at(position)
  if (typeof label === 'string') return label
  if (index.kind.calendar !== undefined) return index.show(label).replace('T', ' ')
  const value = Number(label)
  const [kind, units] = [kindOf(variable), textOf(variable, 'units') ?? '']
  // The grid north of a rotated grid is not north.
  const isTurned = textOf(variable, 'standard_name')?.startsWith('grid_') ?? false
  if (/^degree/i.test(units) && !isTurned && (kind === 'latitude' || kind === 'longitude')) {
    const [positive, negative] = kind === 'latitude' ? ['N', 'S'] : ['E', 'W']
    return value === 0 ? '0' : `${withDigits(Math.abs(value), 5)}${value < 0 ? negative : positive}`
  }
  return `${withDigits(value, 7)}${/^1?$/.test(units) ? '' : ` ${units}`}`
}

/** Formats a number with few digits. */
const withDigits = (value: number, digits: number): string =>
  Number.isFinite(value) ? String(Number(value.toPrecision(digits))) : String(value)
