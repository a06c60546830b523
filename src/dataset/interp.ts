import { DiskArray } from '../array/disk-array.ts'
import { type AxisPlaces, interpolatedSource } from '../array/lazy/interpolated.ts'
import type { BlockSource } from '../array/source.ts'
import { isNumeric } from '../core/dtype.ts'
import { HyperslabError, invalidArgument } from '../core/errors.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import { allDims } from './all-variables.ts'
import type { LabelLike } from './between.ts'
import { asFloats } from './cast-float.ts'
import { type Coords, type DatasetParts, type Labelled, labelledDims } from './coords.ts'
import type { LabelIndex } from './label-index.ts'
import { withInstants } from './replace-times.ts'
import { packInstants } from './time/instant.ts'
import { parseTimeLabel } from './time/labels.ts'
import { listArray, type Variable } from './variable.ts'
import { withIndex } from './with-index.ts'

/** Labels to interpolate at, by dimension: one label, which drops the dimension, or a list. */
export type InterpLabels = Readonly<Record<string, LabelLike | readonly LabelLike[]>>

/** Options of `interp`. */
export interface InterpOptions {
  /** Method: `linear`, along one dimension after the other. */
  readonly method?: 'linear'
}

const INTERP_CHECKS: Checks<InterpOptions> = { method: ['linear'] }

/** Interpolates an array between its labels. */
export function interpolated({ variable, coordinates }: Labelled, labels: InterpLabels, options: InterpOptions): Labelled {
  checkOptions('interp', options, INTERP_CHECKS, { array: variable.name })
  const places = placesAlong(labels, coordinates, variable.dims)
  if (!isInterpolable(variable)) refuseValues(variable)
  return { variable: variableAt(variable, places), coordinates: coordsAt(coordinates, places) }
}

/** Interpolates all variables of a dataset. Variables without these dimensions stay unchanged. */
export function interpolatedDataset(parts: DatasetParts, labels: InterpLabels, options: InterpOptions): DatasetParts {
  checkOptions('interp', options, INTERP_CHECKS)
  const places = placesAlong(labels, parts.coords, allDims(parts))
  for (const variable of parts.variables.values())
    if (variable.dims.some((dim) => places.has(dim)) && !isInterpolable(variable)) refuseValues(variable)
  const variables = new Map([...parts.variables].map(([name, variable]) => [name, variableAt(variable, places)]))
  return { ...parts, variables, coords: coordsAt(parts.coords, places) }
}

/** Positions of the labels along a dimension, and the resulting coordinate. */
interface Along {
  readonly places: Omit<AxisPlaces, 'axis'>
  readonly coord: Variable
  /** Whether a single label was given, which drops its dimension. */
  readonly single: boolean
}

const isInterpolable = ({ array: { dtype }, times }: Variable): boolean => isNumeric(dtype) && times === undefined

function refuseValues({ name, array: { dtype } }: Variable): never {
  const text = `there is nothing between ${dtype === 'timestamp_ns' ? 'times' : `${dtype} values`}: select with sel, or drop them`
  throw new HyperslabError('UnsupportedError', text, { array: name, actual: dtype })
}

function placesAlong(labels: InterpLabels, coords: Coords, dims: readonly string[]): Map<string, Along> {
  const isPlain = typeof labels === 'object' && labels !== null && Object.getPrototypeOf(labels) === Object.prototype
  if (!isPlain) invalidArgument('interp takes labels by dimension, such as { lat: 52.3, lon: [13, 13.5] }', labels)
  const places = new Map<string, Along>()
  for (const [dim, given] of Object.entries(labels)) {
    const coord = coords.get(dim)
    if (coord?.index === undefined || !dims.includes(dim)) {
      const known = labelledDims(coords)
      const text = `${JSON.stringify(dim)} is not a dimension with labels: labels are along ${known.join(', ') || 'no dimension'}`
      throw new HyperslabError('InvalidArgumentError', text, { actual: dim, expected: known })
    }
    const { index } = coord
    const single = !Array.isArray(given) && !ArrayBuffer.isView(given)
    const wanted = Array.from(single ? [given as LabelLike] : (given as readonly LabelLike[]), (label) => labelOf(index, label))
    places.set(dim, { places: findPlaces(index, wanted), coord: interpolatedCoord(coord, wanted), single })
  }
  return places
}

function labelOf(index: LabelIndex, label: LabelLike): number | bigint {
  const { calendar } = index.kind
  if (calendar !== undefined) return parseTimeLabel(label as never, calendar).start
  if (typeof label === 'number' && Number.isFinite(label) && typeof index.at(0) === 'number') return label
  return invalidArgument(`labels to interpolate at along ${index.dim} are finite numbers`, label)
}

/** Returns the coordinate with other labels. */
function interpolatedCoord(coord: Variable, labels: readonly (number | bigint)[]): Variable {
  if (coord.index!.kind.calendar !== undefined) return withInstants(coord, packInstants(labels as bigint[]))
  const data = Float64Array.from(labels as number[])
  return withIndex(coord.with({ array: listArray('float64', data), index: undefined, encoding: {} }), data)
}

/** @throws InvalidArgumentError if labels are not ordered */
function findPlaces(index: LabelIndex, labels: readonly (number | bigint)[]): Omit<AxisPlaces, 'axis'> {
  const { length, direction } = index
  const { period } = index.kind
  if (direction === 0) invalidArgument(`${index.disorder()}: nothing lies between such labels`, index.dim)
  const [below, above, weights] = [0, 1, 2].map(() => new Float64Array(labels.length)) as Float64Array[]
  // Ranks count from the smallest label.
  const position = (rank: number): number => (direction < 0 ? length - 1 - rank : rank)
  const at = (rank: number): number | bigint => index.at(position(rank)) as number | bigint
  const seam = findSeam(index, at)
  for (const [i, label] of labels.entries()) {
    const wanted =
      period === undefined || index.reaches(label as number) ? label : aroundFrom(at(0) as number, label as number, period)
    const rank = index.rank(wanted)
    const near = [rank, rank - 1].find((each) => each >= 0 && each < length && index.matches(position(each), wanted))
    let found: readonly [number, number, number] = [-1, -1, 0]
    if (near !== undefined) found = [position(near), position(near), 0]
    else if (rank > 0 && rank < length)
      found = [position(rank - 1), position(rank), share(at(rank - 1), wanted, at(rank))] // biome-ignore format: one line
    else if (seam !== undefined && rank === length)
      found = [position(length - 1), position(0), ((wanted as number) - (at(length - 1) as number)) / seam]
    below![i] = found[0]
    above![i] = found[1]
    weights![i] = found[2]
  }
  return { below: below!, above: above!, weights: weights! }
}

/**
 * Returns the distance from the greatest longitude across the seam to the smallest. Undefined if labels have
 * no period, or if the gap at the seam is wider than gaps within them.
 */
function findSeam({ kind: { period }, length }: LabelIndex, at: (rank: number) => number | bigint): number | undefined {
  if (period === undefined || length < 2) return undefined
  let widest = 0
  for (let rank = 1; rank < length; rank++) widest = Math.max(widest, Number(at(rank)) - Number(at(rank - 1)))
  const seam = Number(at(0)) + period - Number(at(length - 1))
  return seam > 0 && seam <= 1.5 * widest ? seam : undefined
}

const aroundFrom = (low: number, label: number, period: number): number => label - period * Math.floor((label - low) / period)

const share = (low: number | bigint, label: number | bigint, high: number | bigint): number =>
  typeof low === 'bigint'
    ? Number((label as bigint) - low) / Number((high as bigint) - low)
    : ((label as number) - low) / ((high as number) - low)

function variableAt(variable: Variable, places: ReadonlyMap<string, Along>): Variable {
  const along = variable.dims.filter((dim) => places.has(dim))
  if (along.length === 0) return variable
  const axes = along.map((dim) => ({ axis: variable.dims.indexOf(dim), ...places.get(dim)!.places }))
  const array = new DiskArray(interpolatedSource(asFloats(variable.array).source as BlockSource<'float64'>, axes)) as DiskArray
  return dropped(variable.with({ array, encoding: {}, stored: undefined }), places)
}

/** Interpolates other coordinates along the dimensions, too. Coordinates that are not numbers are dropped. */
function coordsAt(coords: Coords, places: ReadonlyMap<string, Along>): Coords {
  const at = ([name, coord]: readonly [string, Variable]): (readonly [string, Variable])[] => {
    const along = places.get(name)
    if (along !== undefined) return [[name, dropped(along.coord, places)]]
    if (!coord.dims.some((dim) => places.has(dim))) return [[name, coord]]
    return isInterpolable(coord) ? [[name, variableAt(coord, places)]] : []
  }
  return new Map([...coords].flatMap(at))
}

/** Drops the dimensions of single labels. */
function dropped(variable: Variable, places: ReadonlyMap<string, Along>): Variable {
  const single = variable.dims.filter((dim) => places.get(dim)?.single)
  return variable.take(new Map(single.map((dim) => [dim, { position: 0 }])))
}
