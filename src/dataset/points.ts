import { DiskArray } from '../array/disk-array.ts'
import { type PointPositions, pointwiseSource } from '../array/lazy/pointwise.ts'
import { indexAt } from '../core/axis-indices.ts'
import { HyperslabError, invalidArgument } from '../core/errors.ts'
import { member } from '../core/member.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import { quoted } from '../core/quoted.ts'
import { stridesOf } from '../core/shape.ts'
import type { Signal } from '../core/signal.ts'
import { SingleFlight } from '../core/single-flight.ts'
import { allDims } from './all-variables.ts'
import type { LabelLike } from './between.ts'
import { findAxisKind } from './cf/axis-kind.ts'
import type { Coords, DatasetParts, Labelled } from './coords.ts'
import { parseMetres } from './distances.ts'
import { SEL_CHECKS, takenByPosition } from './label-selection.ts'
import { type SelOptions, type Taken, takeLabels } from './label-selectors.ts'
import { listArray, Variable } from './variable.ts'
import { withIndex } from './with-index.ts'

/** A point: a label along each of some dimensions, or a latitude and a longitude. */
export type PointLabels = Readonly<Record<string, LabelLike>>

/** Points as a list, or by names, which label them. */
export type LabelledPoints = readonly PointLabels[] | Readonly<Record<string, PointLabels>>

/** A point by positions: an integer along each of some dimensions; negative ones count from the end. */
export type PointIndices = Readonly<Record<string, number>>

/** Options of selections of points by positions. */
export interface PointsOptions {
  /** Name of the new dimension. Default: `points`. */
  readonly dim?: string
}

/** Options of `selPoints`. */
export interface SelPointsOptions extends SelOptions, PointsOptions {}

const POINTS_CHECKS: Checks<PointsOptions> = { dim: 'string' }
const SEL_POINTS_CHECKS: Checks<SelPointsOptions> = { ...SEL_CHECKS, ...POINTS_CHECKS }

/** Selects points of an array, by labels. */
export function selectedPoints(
  { variable, coordinates }: Labelled,
  points: LabelledPoints,
  options: SelPointsOptions = {},
): Labelled {
  checkOptions('selPoints', options, SEL_POINTS_CHECKS, { array: variable.name })
  const taken = pointsByLabel(coordinates, variable.dims, points, options)
  return { variable: taken.take(variable), coordinates: taken.coords }
}

/** Selects points of a dataset, by labels. Variables without their dimensions stay unchanged. */
export function selectedPointsOfDataset(
  parts: DatasetParts,
  points: LabelledPoints,
  options: SelPointsOptions = {},
): DatasetParts {
  checkOptions('selPoints', options, SEL_POINTS_CHECKS)
  return ofDataset(parts, pointsByLabel(parts.coords, allDims(parts), points, options))
}

/** Selects points of an array, by positions. */
export function indexedPoints(
  { variable, coordinates }: Labelled,
  points: readonly PointIndices[],
  options: PointsOptions = {},
): Labelled {
  checkOptions('isel', options, POINTS_CHECKS, { array: variable.name })
  const { dims, array } = variable
  const taken = pointsByPosition(coordinates, dims, array.shape, points, options)
  return { variable: taken.take(variable), coordinates: taken.coords }
}

/** Selects points of a dataset, by positions. Variables without their dimensions stay unchanged. */
export function indexedPointsOfDataset(
  parts: DatasetParts,
  lengths: Readonly<Record<string, number>>,
  points: readonly PointIndices[],
  options: PointsOptions = {},
): DatasetParts {
  checkOptions('isel', options, POINTS_CHECKS)
  return ofDataset(parts, pointsByPosition(parts.coords, Object.keys(lengths), Object.values(lengths), points, options))
}

interface TakenPoints {
  readonly take: (variable: Variable) => Variable
  readonly coords: Coords
}

function ofDataset(parts: DatasetParts, { take, coords }: TakenPoints): DatasetParts {
  return { ...parts, variables: new Map([...parts.variables].map(([name, variable]) => [name, take(variable)])), coords }
}

/** Points along the dimensions that they select from. */
interface FoundPoints {
  readonly along: readonly string[]
  readonly length: number
  readonly names?: readonly string[] | undefined
  /** Positions along each dimension. */
  readonly known: ReadonlyMap<string, Float64Array>
  /** Finds the positions along all dimensions, if some are known only after reading coordinates. */
  readonly find?: ((signal?: Signal) => Promise<ReadonlyMap<string, Float64Array>>) | undefined
}

function takePointList(
  coords: Coords,
  dims: readonly string[],
  points: FoundPoints,
  { dim = 'points' }: PointsOptions,
): TakenPoints {
  if (dims.includes(dim) || coords.has(dim))
    invalidArgument(`there is a dimension or coordinate ${dim} already: give another name as \`dim\``, dim)
  const take = (variable: Variable): Variable => takePoints(variable, points, dim)
  const taken = new Map([...coords].map(([name, coord]) => [name, take(coord)]))
  const { names } = points
  if (names !== undefined) {
    taken.set(dim, withIndex(new Variable({ name: dim, array: listArray('string', names), dims: [dim], attrs: {} }), names))
  }
  return { take, coords: taken }
}

function pointsByPosition(
  coords: Coords,
  dims: readonly string[],
  shape: readonly number[],
  points: readonly PointIndices[],
  options: PointsOptions,
): TakenPoints {
  const { list } = listOfPoints('isel', points)
  const along = Object.keys(list[0]!)
  for (const point of list)
    for (const key of along)
      if (!Number.isInteger(member(point, key)))
        invalidArgument(`a point of isel has an integer along ${key}, got ${quoted(member(point, key))}`, point)
  const lists = Object.fromEntries(along.map((key) => [key, list.map((point) => point[key]!)]))
  const taken = takenByPosition(lists, dims, shape)
  const known = new Map(
    along.map((key) => {
      const { positions } = (taken.get(key) as Extract<Taken, { parts: unknown }>).parts[0]!
      return [key, Float64Array.from(list, (_, i) => indexAt(positions, i))]
    }),
  )
  return takePointList(coords, dims, { along, length: list.length, known }, options)
}

function pointsByLabel(
  coords: Coords,
  dims: readonly string[],
  points: LabelledPoints,
  { dim, ...how }: SelPointsOptions,
): TakenPoints {
  const { list, names } = listOfPoints('selPoints', points)
  const keys = Object.keys(list[0]!)
  const places = keys.filter((key) => coords.get(key)?.index === undefined)
  const known = new Map<string, Float64Array>()
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
    known.set(key, Float64Array.from(list, find))
  }
  const options = dim === undefined ? {} : { dim }
  if (places.length === 0) return takePointList(coords, dims, { along: keys, length: list.length, names, known }, options)
  const [lat, lon] = placeCoords(coords, dims, places)
  const twice = lat.dims.find((each) => known.has(each))
  if (twice !== undefined) invalidArgument(`points are told both by ${twice} and by ${lat.name} and ${lon.name}`, keys)
  if (how.method !== 'nearest')
    invalidArgument(`places by ${lat.name} and ${lon.name} are found by \`method: 'nearest'\``, how.method)
  const wanted = list.map((point) => ({ lat: degrees(point[lat.name], lat.name), lon: degrees(point[lon.name], lon.name) }))
  const within = tolerance === undefined ? undefined : parseMetres(tolerance)
  const find = oncePositions(async (signal) => {
    const { nearestCells } = await import('./nearest-place.ts')
    const cells = await nearestCells(lat, lon, wanted, within, signal)
    const { shape } = lat.array
    const strides = stridesOf(shape)
    const own = lat.dims.map(
      (each, axis) => [each, cells.map((cell) => Math.floor(cell / strides[axis]!) % shape[axis]!)] as const,
    )
    return new Map([...known, ...own])
  })
  return takePointList(coords, dims, { along: [...known.keys(), ...lat.dims], length: list.length, names, known, find }, options)
}

/** Returns a function that finds positions on its first call. Calls at the same time share the work. */
function oncePositions<T>(work: (signal: Signal) => Promise<T>): (signal?: Signal) => Promise<T> {
  const flights = new SingleFlight<'positions', T>()
  let found: T | undefined
  return async (signal) => {
    found ??= await flights.share('positions', work, signal)
    return found
  }
}

/** @throws InvalidArgumentError if there are none, or they have different labels */
function listOfPoints<P extends PointLabels>(
  call: string,
  points: readonly P[] | Readonly<Record<string, P>>,
): {
  list: readonly P[]
  names: string[] | undefined
} {
  const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
  if (!isObject(points))
    invalidArgument(
      `${call} takes a list of points, such as [{ lat, lon }]${call === 'isel' ? '' : ', or points by name'}`,
      points,
    )
  const isList = Array.isArray(points)
  const list = isList ? (points as readonly P[]) : Object.values(points)
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

function takePoints(variable: Variable, { along: all, length, known, find }: FoundPoints, dim: string): Variable {
  const along = variable.dims.filter((each) => all.includes(each))
  if (along.length === 0) return variable
  const first = along[0]!
  const dims = variable.dims.flatMap((each) => (each === first ? [dim] : along.includes(each) ? [] : [each]))
  const toLists = (positions: ReadonlyMap<string, Float64Array>): Float64Array[] => along.map((each) => positions.get(each)!)
  const needsFind = find !== undefined && along.some((each) => !known.has(each))
  if (along.length === 1 && !needsFind) {
    const one = variable.take(new Map([[first, { parts: [{ positions: known.get(first)!, shift: 0 }] }]]))
    return one.with({ dims, index: undefined })
  }
  const axes = along.map((each) => variable.dims.indexOf(each))
  const positions: PointPositions = needsFind
    ? { length, find: async (signal) => toLists(await find(signal)) }
    : { length, known: toLists(known) }
  const array = new DiskArray(pointwiseSource(variable.array.source, axes, positions, dim))
  return variable.with({ array, dims, index: undefined, stored: undefined })
}
