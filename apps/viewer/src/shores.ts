// Coastlines on grids whose axes are not degrees of the globe.
import type { DataArray, Dataset } from 'hyperslab/dataset'
import { findAxisKind } from '../../../src/dataset/cf/axis-kind.ts'
import { type Axis, isEven } from './axes.ts'
import { loadCoastlines, visitCoastlines } from './coastlines.ts'
import { gridOf, type OnGrid } from './curvilinear.ts'
import { type Project, projectionOf, unitSize } from './projections.ts'
import { attribute } from './words.ts'

/** Most elements of a two-dimensional coordinate that are read for coastlines. */
const MOST_ELEMENTS = 2 ** 22
/** Most nodes along each side of a grid that coastlines are placed on. */
const MOST_NODES = 192
/** Longest step along a coastline, in degrees. */
const STEP = 0.25

/** Two-dimensional latitudes and longitudes of a plane. */
interface Places {
  readonly latitude: DataArray
  readonly longitude: DataArray
}

/** Returns the latitudes and longitudes with exactly these dimensions. */
export function placesOf(dataset: Dataset, y: string, x: string): Places | undefined {
  const both = Object.values({ ...dataset.variables, ...dataset.coords }).filter(
    ({ dims }) => dims.length === 2 && dims[0] === y && dims[1] === x,
  )
  const ofKind = (kind: string): DataArray | undefined =>
    both.find((each) => findAxisKind(each.name, each.attrs) === kind && !/^grid_/.test(attribute(each, 'standard_name')))
  const [latitude, longitude] = [ofKind('latitude'), ofKind('longitude')]
  return latitude === undefined || longitude === undefined ? undefined : { latitude, longitude }
}

/** Whether latitudes increase along the first dimension, by the middle of the first and the last row. */
export async function runsNorth({ latitude }: Places): Promise<boolean | undefined> {
  const [y, x] = latitude.dims as [string, string]
  const middle = latitude.shape[1]! >> 1
  const [first, last] = await Promise.all([0, -1].map((row) => latitude.isel({ [y]: row, [x]: middle }).values()))
  const [from, to] = [first, last].map((values) => Number((values as ArrayLike<number>)[0]))
  return from! < to! ? true : from! > to! ? false : undefined
}

/**
 * Returns the coastlines on a plane, as pairs of fractions of its width and height from its first column and
 * row. NaN follows each line. Undefined if the plane has neither a known grid mapping nor two-dimensional
 * coordinates of a bounded size.
 */
export async function readShores(dataset: Dataset, array: DataArray, y: Axis, x: Axis): Promise<Float64Array | undefined> {
  const onGrid = (await onProjection(dataset, array, y, x)) ?? (await onPlaces(dataset, y, x))
  return onGrid === undefined ? undefined : placeLines(await loadCoastlines(), onGrid)
}

async function onProjection(dataset: Dataset, array: DataArray, y: Axis, x: Axis): Promise<OnGrid | undefined> {
  // `crs: x y` names the coordinates, too.
  const name = String(array.attrs['grid_mapping'] ?? array.encoding['grid_mapping'] ?? '').split(/[\s:]/)[0]!
  const mapping = dataset.coords[name] ?? dataset.variables[name]
  const [down, right] = [unitSize(y.units), unitSize(x.units)]
  if (mapping === undefined || down === undefined || right === undefined || !isEven(y.places) || !isEven(x.places))
    return undefined
  const project = await projectionOf(mapping.attrs)
  return project && ((lon, lat) => onAxes(project(lon, lat), y.places!, down, x.places!, right))
}

function onAxes(
  at: ReturnType<Project>,
  rows: Float64Array,
  down: number,
  columns: Float64Array,
  right: number,
): ReturnType<OnGrid> {
  if (at === undefined) return undefined
  const fraction = (place: number, places: Float64Array): number => {
    const step = (places.at(-1)! - places[0]!) / (places.length - 1)
    return ((place - places[0]!) / step + 0.5) / places.length
  }
  return [fraction(at[0] / right, columns), fraction(at[1] / down, rows)]
}

async function onPlaces(dataset: Dataset, y: Axis, x: Axis): Promise<OnGrid | undefined> {
  const places = placesOf(dataset, y.dim, x.dim)
  if (places === undefined || y.length * x.length > MOST_ELEMENTS) return undefined
  const [rows, columns] = [nodesOf(y.length), nodesOf(x.length)]
  const [latitudes, longitudes] = await Promise.all(
    [places.latitude, places.longitude].map(
      async (each) => (await each.isel({ [y.dim]: rows, [x.dim]: columns }).values()) as ArrayLike<number>,
    ),
  )
  const fractions = (positions: readonly number[], length: number): number[] => positions.map((at) => (at + 0.5) / length)
  return gridOf({
    latitudes: latitudes!,
    longitudes: longitudes!,
    rows: fractions(rows, y.length),
    columns: fractions(columns, x.length),
  })
}

/** Returns positions along an axis, the first and the last included. */
function nodesOf(length: number): number[] {
  const count = Math.min(length, MOST_NODES)
  return Array.from({ length: count }, (_, i) => Math.round((i * (length - 1)) / Math.max(1, count - 1)))
}

/** Places coastlines on a grid. Lines end where they leave it. */
function placeLines(coasts: Int16Array, onGrid: OnGrid): Float64Array {
  const placed: number[] = []
  const end = (): void => {
    if (!Number.isNaN(placed.at(-1) ?? Number.NaN)) placed.push(Number.NaN)
  }
  let before: readonly [longitude: number, latitude: number] | undefined
  const add = (longitude: number, latitude: number): void => {
    const at = onGrid(longitude, latitude)
    // Points far beyond the picture may be on the other side of the globe.
    if (at === undefined || Math.abs(at[0] - 0.5) > 1.5 || Math.abs(at[1] - 0.5) > 1.5) {
      end()
      return
    }
    const last = placed.length > 1 ? [placed.at(-2)!, placed.at(-1)!] : []
    if (Math.hypot(at[0] - last[0]!, at[1] - last[1]!) > 0.25) end()
    placed.push(at[0], at[1])
  }
  visitCoastlines(coasts, (longitude, latitude) => {
    if (longitude === undefined) {
      before = undefined
      return end()
    }
    const parts =
      before === undefined
        ? 1
        : Math.max(1, Math.ceil(Math.max(Math.abs(longitude - before[0]), Math.abs(latitude! - before[1])) / STEP))
    for (let i = 1; i <= parts; i++)
      add(
        before === undefined ? longitude : before[0] + ((longitude - before[0]) * i) / parts,
        before === undefined ? latitude! : before[1] + ((latitude! - before[1]) * i) / parts,
      )
    before = [longitude, latitude!]
  })
  end()
  return Float64Array.from(placed)
}
