// Chooses the dimensions of a picture, and describes positions along each.
import type { DataArray, Dataset } from 'hyperslab/dataset'
import { type AxisKind, findAxisKind } from '../../../src/dataset/cf/axis-kind.ts'
import { unitSize } from './projections.ts'
import type { ClimatologyUnit } from './state.ts'
import { attribute, isNumeric, shortUnits, show, unitsOf } from './words.ts'

/** A dimension with the properties of its coordinate. */
export interface Axis {
  readonly dim: string
  readonly length: number
  readonly kind: AxisKind | undefined
  readonly units: string
  /**
   * Coordinate of each position; seconds since 1970 for dates. Undefined without a coordinate, and for
   * calendars that Dates lack.
   */
  readonly places: Float64Array | undefined
  readonly isTime: boolean
  /** Whether places are degrees on the globe. Those of a rotated pole or a projection are not. */
  readonly isGlobe: boolean
  /** Whether the axis is one of a projection or a rotated pole, by its standard name or its units. */
  readonly isGrid: boolean
  /** Whether positions run north, if two-dimensional latitudes say so. */
  readonly runsNorth?: boolean | undefined
  /** Whether greater places are drawn further down, as for depths and pressures. */
  readonly isDown: boolean
  /** Describes a position. */
  label(position: number): string
}

/**
 * Returns the coordinate of a dimension: an array along it alone that defines a direction, or has its name.
 */
function coordinateOf(dataset: Dataset, dim: string): DataArray | undefined {
  const along = Object.values({ ...dataset.variables, ...dataset.coords }).filter(
    ({ dims }) => dims.length === 1 && dims[0] === dim,
  )
  const rank = ({ name, attrs }: DataArray): number =>
    2 * Number(findAxisKind(name, attrs) !== undefined && name in dataset.coords) + Number(name === dim)
  return along.filter((each) => isNumeric(each) && rank(each) > 0).sort((a, b) => rank(b) - rank(a))[0]
}

/** Whether a coordinate is an axis of a projection or a rotated pole. */
function isOfGrid(coordinate: DataArray, units: string): boolean {
  const name = attribute(coordinate, 'standard_name')
  if (/^(projection_[xy]_(coordinate|angular_coordinate)|grid_(latitude|longitude))$/.test(name)) return true
  // Rows of images have no units, and run downwards.
  return units !== '' && unitSize(units) !== undefined && /^[xy]$/i.test(attribute(coordinate, 'axis'))
}

const isPressure = (units: string): boolean => /^(pa|hpa|mbar|millibars?)$/i.test(units)

/** Reads the coordinate of a dimension. */
export async function readAxis(dataset: Dataset, dim: string, length: number): Promise<Axis> {
  const found = coordinateOf(dataset, dim)
  const none = {
    dim,
    length,
    kind: undefined,
    units: '',
    places: undefined,
    isTime: false,
    isGlobe: false,
    isGrid: false,
    isDown: false,
  }
  if (found === undefined) return { ...none, label: (position) => `${dim} ${position}` }
  const kind = found.dtype === 'timestamp_ns' ? 'time' : findAxisKind(found.name, found.attrs)
  const units = unitsOf(found)
  if (found.dtype === 'timestamp_ns' || /\bsince\b/.test(units)) {
    const dates = await found.dates()
    const isTime = dates.every((date) => date instanceof Date)
    const places = isTime ? Float64Array.from(dates as Date[], (date) => date.getTime() / 1000) : undefined
    return { ...none, kind, places, isTime, label: (position) => show(dates[position] ?? null) }
  }
  const values = Float64Array.from((await found.values()) as ArrayLike<number | bigint>, Number)
  const isDown = kind === 'vertical' && (String(found.attrs['positive']).toLowerCase() === 'down' || isPressure(units))
  const isGlobe = (kind === 'latitude' || kind === 'longitude') && !/^grid_/.test(attribute(found, 'standard_name'))
  return {
    ...none,
    kind,
    units,
    places: values,
    isGlobe,
    isGrid: isOfGrid(found, units),
    isDown,
    label: (position) => placeInWords(values[position]!, isGlobe ? kind : undefined, units),
  }
}

const MONTHS = 'January February March April May June July August September October November December'.split(' ')

/** Returns the groups of a climatology as a dimension. */
export async function readGroups(climatology: DataArray, unit: ClimatologyUnit): Promise<Axis> {
  const labels = Array.from((await climatology.coords[unit]!.values()) as ArrayLike<unknown>)
  const label = (position: number): string => {
    const text = show(labels[position])
    return unit === 'month' ? MONTHS[Number(text) - 1]! : unit === 'hour' ? `${text}:00` : text
  }
  const none = { units: '', places: undefined, isTime: false, isGlobe: false, isGrid: false, isDown: false }
  return { ...none, dim: unit, length: labels.length, kind: 'time', label }
}

const SIDES: Partial<Record<AxisKind, readonly [string, string]>> = { latitude: ['N', 'S'], longitude: ['E', 'W'] }

/** Describes a place along an axis: degrees with the side of the globe, other values with their units. */
export function placeInWords(place: number, kind: AxisKind | undefined, units: string): string {
  const sides = kind !== undefined && /^degree/i.test(units) ? SIDES[kind] : undefined
  if (sides === undefined) return `${show(place)} ${shortUnits(units)}`.trim()
  const turned = kind === 'longitude' && place > 180 ? place - 360 : place
  // A thousandth of a degree is a hundred metres.
  const degrees = Number(Math.abs(turned).toFixed(3))
  // Half a turn east equals half a turn west.
  const isBoth = degrees === 0 || (kind === 'longitude' && degrees === 180)
  return `${degrees}°${isBoth ? '' : sides[turned > 0 ? 0 : 1]}`
}

/** Dimensions of a picture: from top to bottom, from left to right, and those that are not drawn. */
export interface Chosen {
  readonly y: string
  readonly x: string
  readonly others: readonly string[]
}

/**
 * Chooses the drawn dimensions. Longitude is x and latitude y, if they exist. Otherwise heights are y, and
 * the last dimensions fill the rest.
 */
export function chooseAxes(dims: readonly string[], axes: ReadonlyMap<string, Axis>): Chosen {
  const ofKind = (kind: AxisKind): string | undefined => dims.find((dim) => axes.get(dim)!.kind === kind)
  const last = (taken: string | undefined): string => dims.filter((dim) => dim !== taken).at(-1)!
  const longitude = ofKind('longitude')
  const upright = ofKind('latitude') ?? ofKind('vertical')
  const isSection = ofKind('vertical') !== undefined && longitude === undefined && ofKind('latitude') !== undefined
  const y = isSection ? ofKind('vertical')! : (upright ?? (longitude === undefined ? dims.at(-2)! : last(longitude)))
  const x = isSection ? ofKind('latitude')! : (longitude ?? last(y))
  return { y, x, others: dims.filter((dim) => dim !== y && dim !== x) }
}

/** Whether axes form a map, on which coastlines can be drawn. */
export const areOfMap = (y: Axis, x: Axis): boolean =>
  y.isGlobe && x.isGlobe && y.kind === 'latitude' && x.kind === 'longitude' && isMonotone(y.places) && isMonotone(x.places)

/** Whether places strictly ascend or descend. */
export function isMonotone(places: Float64Array | undefined): boolean {
  if (places === undefined || places.length < 2) return false
  const sign = Math.sign(places[1]! - places[0]!)
  for (let i = 1; i < places.length; i++) if (!(Math.sign(places[i]! - places[i - 1]!) === sign && sign !== 0)) return false
  return true
}

/** Whether places ascend or descend by even steps, within a hundredth of a step. */
export function isEven(places: Float64Array | undefined): boolean {
  if (!isMonotone(places)) return false
  const step = (places!.at(-1)! - places![0]!) / (places!.length - 1)
  return places!.every((place, i) => Math.abs(place - places![0]! - i * step) <= Math.abs(step) / 100)
}

/** Whether axes have the same units and are drawn to scale. */
export const areToScale = (y: Axis, x: Axis): boolean =>
  y.isGrid && x.isGrid && y.units === x.units && isMonotone(y.places) && isMonotone(x.places)

/** Returns the dimension of a series: the one with times, else the first undrawn dimension longer than 1. */
export const slowDimension = ({ others }: Pick<Chosen, 'others'>, axes: ReadonlyMap<string, Axis>): string | undefined =>
  others.find((dim) => axes.get(dim)!.kind === 'time' && axes.get(dim)!.length > 1) ??
  others.find((dim) => axes.get(dim)!.length > 1)
