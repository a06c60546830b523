import { DiskArray } from '../array/disk-array.ts'
import { pointwiseSource } from '../array/lazy/pointwise.ts'
import { HyperslabError, invalidArgument } from '../core/errors.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import { quoted } from '../core/quoted.ts'
import { stridesOf } from '../core/shape.ts'
import type { Signal } from '../core/signal.ts'
import { allDims } from './all-variables.ts'
import type { LabelLike } from './between.ts'
import { findAxisKind } from './cf/axis-kind.ts'
import type { Coords, DatasetParts, Labelled } from './coords.ts'
import { SEL_CHECKS } from './label-selection.ts'
import { type SelOptions, takeLabels } from './label-selectors.ts'
import { nearestCells, parseMetres } from './nearest-place.ts'
import { listArray, Variable } from './variable.ts'
import { withIndex } from './with-index.ts'

/** A point: a label along each of some dimensions, or a latitude and a longitude. */
export type PointLabels = Readonly<Record<string, LabelLike>>

/** Points as a list, or by names, which label them. */
export type LabelledPoints = readonly PointLabels[] | Readonly<Record<string, PointLabels>>

/** Options of `selPoints`. */
export interface SelPointsOptions extends SelOptions {
  /** Name of the new dimension. Default: `points`. */
  readonly dim?: string
  /** Cancels the call when it is aborted. */
  readonly signal?: Signal | undefined
}

const POINTS_CHECKS: Checks<SelPointsOptions> = { ...SEL_CHECKS, dim: 'string', signal: 'AbortSignal' }

/** Selects points of an array. */
export async function findPoints(
  { variable, coordinates }: Labelled,
  points: LabelledPoints,
  options: SelPointsOptions,
): Promise<Labelled> {
  checkOptions('selPoints', options, POINTS_CHECKS, { array: variable.name })
  const taken = await resolvePoints(coordinates, variable.dims, points, options)
  return { variable: taken.take(variable), coordinates: taken.coords }
}

/** Selects points of a dataset. Variables without their dimensions stay unchanged. */
export async function pointsOfDataset(
  parts: DatasetParts,
  points: LabelledPoints,
  options: SelPointsOptions,
): Promise<DatasetParts> {
  checkOptions('selPoints', options, POINTS_CHECKS)
  const taken = await resolvePoints(parts.coords, allDims(parts), points, options)
  const variables = new Map([...parts.variables].map(([name, variable]) => [name, taken.take(variable)]))
  return { ...parts, variables, coords: taken.coords }
}

interface TakenPoints {
  readonly take: (variable: Variable) => Variable
  readonly coords: Coords
}

async function resolvePoints(
  coords: Coords,
  dims: readonly string[],
  points: LabelledPoints,
  { dim = 'points', signal, ...how }: SelPointsOptions,
): Promise<TakenPoints> {
  const { list, names } = listOfPoints(points)
  const keys = Object.keys(list[0]!)
  const places = keys.filter((key) => coords.get(key)?.index === undefined)
  const positions = new Map<string, Float64Array>()
  const { tolerance, ...others } = how
  const isLength = typeof tolerance === 'string' && /(m|km|deg)$/.test(tolerance) && places.length > 0
  const along: SelOptions = isLength || tolerance === undefined ? others : how
  for (const key of keys) {
    const index = coords.get(key)?.index
    if (index === undefined) continue
    const find = (point: PointLabels): number => {
      const found = takeLabels(index, point[key]!, along)
      if ('position' in found) return found.position
      return invalidArgument(`a point has one label along ${key}, of which ${String(point[key])} are several`, point[key])
    }
    positions.set(key, Float64Array.from(list, find))
  }
  if (places.length > 0) {
    const [lat, lon] = placeCoords(coords, dims, places)
    const twice = lat.dims.find((each) => positions.has(each))
    if (twice !== undefined) invalidArgument(`points are told both by ${twice} and by ${lat.name} and ${lon.name}`, keys)
    if (how.method !== 'nearest')
      invalidArgument(`places by ${lat.name} and ${lon.name} are found by { method: 'nearest' }`, how.method)
    const cells = await nearestCells(
      lat,
      lon,
      list.map((point) => ({ lat: degrees(point[lat.name], lat.name), lon: degrees(point[lon.name], lon.name) })),
      tolerance === undefined ? undefined : parseMetres(tolerance),
      signal,
    )
    const strides = stridesOf(lat.array.shape)
    for (const [axis, each] of lat.dims.entries())
      positions.set(each, cells.map((cell) => Math.floor(cell / strides[axis]!) % lat.array.shape[axis]!)) // biome-ignore format: one line
  }
  if (dims.includes(dim) || coords.has(dim))
    invalidArgument(`there is a dimension or coordinate ${dim} already: give another name as 'dim'`, dim)
  const take = (variable: Variable): Variable => takePoints(variable, positions, dim)
  const taken = new Map([...coords].map(([name, coord]) => [name, take(coord)]))
  if (names !== undefined) {
    taken.set(dim, withIndex(new Variable({ name: dim, array: listArray('string', names), dims: [dim], attrs: {} }), names))
  }
  return { take, coords: taken }
}

/** @throws InvalidArgumentError if there are none, or they have different labels */
function listOfPoints(points: LabelledPoints): {
  list: readonly PointLabels[]
  names: string[] | undefined
} {
  const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
  if (!isObject(points)) invalidArgument('selPoints takes a list of points, such as [{ lat, lon }], or points by name', points)
  const isList = Array.isArray(points)
  const list = isList ? (points as readonly PointLabels[]) : Object.values(points)
  if (list.length === 0) invalidArgument('there are no points', points)
  for (const point of list) {
    if (!isObject(point)) invalidArgument('a point is an object of labels, such as { lat, lon }', point)
    const [keys, expected] = [Object.keys(point), Object.keys(list[0]!)]
    if (keys.length !== expected.length || expected.some((key) => !keys.includes(key)) || keys.length === 0)
      invalidArgument(`all points have to have the same labels: [${keys.join(', ')}] and [${expected.join(', ')}]`, point)
  }
  return { list, names: isList ? undefined : Object.keys(points) }
}

/** Returns the coordinates of latitude and longitude that the points use. */
function placeCoords(coords: Coords, dims: readonly string[], names: readonly string[]): [Variable, Variable] {
  for (const name of names) {
    if (coords.has(name)) continue
    const text = dims.includes(name)
      ? `the dimension ${name} has no coordinate`
      : `there is no coordinate ${quoted(name)}: there are ${[...coords.keys()].join(', ') || 'none'}`
    throw new HyperslabError('InvalidArgumentError', text, { actual: name, expected: [...coords.keys()] })
  }
  const found = names.map((name) => coords.get(name)!)
  const of = (kind: string) => found.find(({ name, attrs }) => findAxisKind(name, attrs) === kind)
  const [lat, lon] = [of('latitude'), of('longitude')]
  if (names.length === 2 && lat && lon && lat.dims.length > 0 && String(lat.dims) === String(lon.dims)) return [lat, lon]
  const shown = found.map(({ name, dims }) => `${name} (${dims.join(', ')})`).join(' and ')
  const text = `${shown} are not labels of dimensions: points are found by these, or by one latitude and one longitude along the same dimensions`
  throw new HyperslabError('InvalidArgumentError', text, { actual: names })
}

function degrees(value: unknown, name: string): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value
  return invalidArgument(`${name} of a place is a number of degrees`, value)
}

function takePoints(variable: Variable, positions: ReadonlyMap<string, Float64Array>, dim: string): Variable {
  const along = variable.dims.filter((each) => positions.has(each))
  if (along.length === 0) return variable
  const first = along[0]!
  const dims = variable.dims.flatMap((each) => (each === first ? [dim] : positions.has(each) ? [] : [each]))
  if (along.length === 1) {
    const one = variable.take(new Map([[first, { parts: [{ positions: positions.get(first)!, shift: 0 }] }]]))
    return one.with({ dims, index: undefined })
  }
  const axes = along.map((each) => variable.dims.indexOf(each))
  const lists = along.map((each) => positions.get(each)!)
  const array = new DiskArray(pointwiseSource(variable.array.source, axes, lists, dim))
  return variable.with({ array, dims, index: undefined, stored: undefined })
}
