import { broadcast, concat } from '../../../array/combine.ts'
import { DiskArray } from '../../../array/disk-array.ts'
import { elementwise } from '../../../array/lazy/elementwise.ts'
import { missingElement, missingElements } from '../../../array/missing.ts'
import { coarsen } from '../../../array/reductions/windows.ts'
import { type DType, isFloat, toElement } from '../../../core/dtype.ts'
import { invalidArgument } from '../../../core/errors.ts'
import { slice } from '../../../grid/slice.ts'
import type { JsonObject } from '../document.ts'

/** Arrays by path, and the attributes of groups by theirs. */
export interface PyramidArrays {
  readonly arrays: Readonly<Record<string, DiskArray>>
  readonly groups: Readonly<Record<string, JsonObject>>
  /** How arrays of a level are made of those of the level before, by their paths. */
  readonly steps: Readonly<Record<string, PyramidStep>>
}

/** How an array is made of one that is twice as fine. */
export interface PyramidStep {
  /** The path of the finer one. */
  readonly finer: string
  /** Halves it. */
  halve(finer: DiskArray): DiskArray
}

/** What says that attributes of a group follow the convention `multiscales`. */
const MULTISCALES = {
  schema_url: 'https://raw.githubusercontent.com/zarr-conventions/multiscales/refs/tags/v1/schema.json',
  spec_url: 'https://github.com/zarr-conventions/multiscales/blob/v1/README.md',
  uuid: 'd35379db-88df-4056-af3a-620245f8e347',
  name: 'multiscales',
  description: 'Multiscale layout of zarr datasets',
}

/**
 * Means of these are numbers of the same type; of all others, and of flags, one element stands for its
 * neighbours.
 */
const AVERAGED: readonly DType[] = ['int8', 'int16', 'int32', 'uint8', 'uint16', 'uint32', 'float32', 'float64']

/**
 * Arrays at several resolutions, each half as fine as the one before along two dimensions: the last two of
 * the arrays with most of them, and of the others those that they have of these. Elements are means of what
 * is not missing; bounds are those of all cells that become one, and corners of cells are left out of coarser
 * levels. One array becomes an image of OME-NGFF 0.5, several become groups under the convention
 * `multiscales` of Zarr.
 * @throws InvalidArgumentError where arrays have less than two dimensions or, of several, no names of them
 */
export function pyramidOf(arrays: Readonly<Record<string, DiskArray>>, count: number, attributes: JsonObject): PyramidArrays {
  const all = Object.entries(arrays)
  const [name, widest] = all.reduce(
    (a, b) => (b[1].shape.length > a[1].shape.length ? b : a),
    all[0] ?? invalidArgument('there is no array', arrays),
  )
  const rank = widest.shape.length
  if (rank < 2) invalidArgument(`levels need an array of two dimensions; '${name}' has ${rank}`, rank)
  const levels = Array.from({ length: count }, (_, level) => level)
  const bounds = new Set(all.flatMap(([, { source }]) => ['bounds', 'climatology'].map((key) => source.attrs?.get(key))))
  const isBounds = (name: string): boolean => bounds.has(name.slice(name.lastIndexOf('/') + 1))
  const made = (pathOf: (level: number, name: string) => string, halved: (array: DiskArray) => readonly number[]) => ({
    arrays: Object.fromEntries(
      levels.flatMap((level) =>
        all.flatMap(([name, array]) => {
          const coarser = coarserBy(array, halved(array), 2 ** level, isBounds(name))
          return coarser === undefined ? [] : [[pathOf(level, name), coarser]]
        }),
      ),
    ),
    steps: Object.fromEntries(
      levels.slice(1).flatMap((level) =>
        all.map(([name, array]): [string, PyramidStep] => {
          const halve = (finer: DiskArray): DiskArray => coarserBy(finer, halved(array), 2, isBounds(name))!
          return [pathOf(level, name), { finer: pathOf(level - 1, name), halve }]
        }),
      ),
    ),
  })
  if (all.length === 1) {
    const multiscale = { name, axes: axesOf(widest), datasets: levels.map((level) => datasetOf(rank, level)) }
    return {
      ...made(String, () => [rank - 2, rank - 1]),
      groups: { '': { ...attributes, ome: { version: '0.5', multiscales: [multiscale] } } },
    }
  }
  const dims =
    widest.dimensionNames?.slice(-2) ??
    invalidArgument(`levels of several arrays need names of dimensions; '${name}' has none`, name)
  const halved = ({ dimensionNames = [] }: DiskArray): number[] =>
    dimensionNames.flatMap((dim, axis) => (dims.includes(dim) ? [axis] : []))
  const layout = levels.map((level) =>
    level === 0
      ? { asset: '0' }
      : { asset: `${level}`, derived_from: `${level - 1}`, transform: { scale: [2, 2], translation: [0.5, 0.5] } },
  )
  return {
    ...made((level, name) => `${level}/${name}`, halved),
    groups: {
      '': { ...attributes, zarr_conventions: [MULTISCALES], multiscales: { layout } },
      ...Object.fromEntries(levels.map((level) => [`${level}`, attributes])),
    },
  }
}

/** The axes of an image, with their kinds as far as their names tell. */
function axesOf({ dimensionNames, shape }: DiskArray): JsonObject[] {
  const names = dimensionNames ?? shape.map((_, axis) => ['y', 'x'][axis - shape.length + 2] ?? `axis${axis}`)
  return names.map((name, axis) => {
    if (axis >= shape.length - 2 || /^(z|depth)$/i.test(name)) return { name, type: 'space' }
    return /^t(ime)?$/i.test(name) ? { name, type: 'time' } : /^c(hannel)?$/i.test(name) ? { name, type: 'channel' } : { name }
  })
}

/** A level of an image, in pixels of the finest: the middle of a pixel is that of those it is made of. */
function datasetOf(rank: number, level: number): JsonObject {
  const of = (whole: number, halved: number): number[] =>
    Array.from({ length: rank }, (_, axis) => (axis < rank - 2 ? whole : halved))
  return {
    path: `${level}`,
    coordinateTransformations: [
      { type: 'scale', scale: of(1, 2 ** level) },
      { type: 'translation', translation: of(0, (2 ** level - 1) / 2) },
    ],
  }
}

/**
 * An array of which so many neighbours along some axes, a power of two, have become one; undefined for bounds
 * that are not intervals along one axis.
 */
function coarserBy(array: DiskArray, axes: readonly number[], factor: number, isBounds: boolean): DiskArray | undefined {
  const { source } = array
  const { dtype, attrs } = source
  if (factor === 1 || axes.length === 0) return array
  if (isBounds) return coarserBounds(array, axes, factor)
  const isFlags = attrs?.get('flag_values') !== undefined || attrs?.get('flag_masks') !== undefined
  if (isFlags || !AVERAGED.includes(dtype))
    return array.view(array.shape.map((_, axis) => (axes.includes(axis) ? slice(null, null, factor) : null)))
  const isLongitude = isFloat(dtype) && /^degrees?_?e(ast)?$/i.test(String(attrs?.get('units')))
  const means = isLongitude
    ? middles(array, axes, factor)
    : coarsen(array, Object.fromEntries(axes.map((axis) => [axis, factor])), 'mean')
  const missing = missingElement(missingElements(source))
  const back = (mean: number): unknown =>
    Number.isNaN(mean) && missing !== undefined ? missing : toElement(dtype, isFloat(dtype) ? mean : Math.round(mean))
  return new DiskArray(elementwise(means.source, source, { forth: back as never }))
}

/** The first, or the last, of so many neighbours along an axis each; there may be fewer at its end. */
function outermost(array: DiskArray, axis: number, factor: number, which: 'first' | 'last'): DiskArray {
  const length = array.shape[axis]!
  const lasts = (): number[] =>
    Array.from({ length: Math.ceil(length / factor) }, (_, i) => Math.min((i + 1) * factor, length) - 1)
  const pick = which === 'first' ? slice(null, null, factor) : lasts()
  return array.view(array.shape.map((_, each) => (each === axis ? pick : null)))
}

/** Angles in the middle of their neighbours, the short way round: that of 359 and 1 is not 180. */
function middles(array: DiskArray, axes: readonly number[], factor: number): DiskArray {
  const middle = (a: number, b: number): number => a + (((((b - a + 180) % 360) + 360) % 360) - 180) / 2
  let angles = array
  for (let left = factor; left > 1; left /= 2)
    for (const axis of axes)
      angles = broadcast(middle as never, outermost(angles, axis, 2, 'first'), outermost(angles, axis, 2, 'last'))
  return angles
}

/** Intervals that hold those of neighbours, with the end first that was first. */
function coarserBounds(array: DiskArray, [axis, ...others]: readonly number[], factor: number): DiskArray | undefined {
  const { source, shape, dtype } = array
  const end = shape.length - 1
  if (others.length > 0 || axis === end || shape[end] !== 2) return undefined
  const column = (of: DiskArray, at: number): DiskArray =>
    of.view(shape.map((_, each) => (each === end ? slice(at, at + 1) : null)))
  const [first, last] = [outermost(array, axis!, factor, 'first'), outermost(array, axis!, factor, 'last')]
  const [a, b, y, z] = [column(first, 0), column(first, 1), column(last, 0), column(last, 1)]
  type Bound = number | bigint
  const low = (a: Bound, b: Bound, y: Bound): Bound => (a <= b === y < a ? y : a)
  const high = (a: Bound, b: Bound, z: Bound): Bound => (a <= b === z > b ? z : b)
  const ends = [broadcast(low as never, a, b, y, { dtype }), broadcast(high as never, a, b, z, { dtype })]
  return new DiskArray(elementwise(concat(ends, { axis: end }).source, source, { forth: ((bound: Bound) => bound) as never }))
}
