import { DiskArray } from '../../../array/disk-array.ts'
import { deriveSource } from '../../../array/lazy/derive.ts'
import { elementwise } from '../../../array/lazy/elementwise.ts'
import { missingElement, missingElements, missingOf } from '../../../array/missing.ts'
import { coarsen } from '../../../array/reductions/windows.ts'
import { type DType, isFloat, toElement } from '../../../core/dtype.ts'
import { invalidArgument } from '../../../core/errors.ts'
import { eachIndex } from '../../../core/shape.ts'
import { type Tensor, tensorOf } from '../../../core/tensor.ts'
import { placeAt } from '../../../core/tensor-index.ts'
import { ChunkGrid } from '../../../grid/chunks.ts'
import { type Box, boxShape } from '../../../grid/range.ts'
import { slice } from '../../../grid/slice.ts'
import type { JsonObject } from '../document.ts'
import { geographicPlane } from './geographic.ts'

/** Arrays and attributes of groups, by path. */
export interface PyramidArrays {
  readonly arrays: Readonly<Record<string, DiskArray>>
  readonly groups: Readonly<Record<string, JsonObject>>
  /** Computations of the arrays of a level from the level before, by path. */
  readonly steps: Readonly<Record<string, PyramidStep>>
}

/** Computation of an array from one of twice the resolution. */
export interface PyramidStep {
  /** Path of the finer array. */
  readonly finer: string
  /** Returns the array at half its resolution. */
  halve(finer: DiskArray): DiskArray
}

/** Declares that the attributes of a group follow the convention `multiscales`. */
const MULTISCALES = {
  schema_url: 'https://raw.githubusercontent.com/zarr-conventions/multiscales/refs/tags/v1/schema.json',
  spec_url: 'https://github.com/zarr-conventions/multiscales/blob/v1/README.md',
  uuid: 'd35379db-88df-4056-af3a-620245f8e347',
  name: 'multiscales',
  description: 'Multiscale layout of zarr datasets',
}

/**
 * Types whose means have the same type. For other types and for flags, one element represents its neighbours.
 */
const AVERAGED: readonly DType[] = ['int8', 'int16', 'int32', 'uint8', 'uint16', 'uint32', 'float32', 'float64']

/**
 * Returns arrays at several resolutions, each half as fine as the one before along two dimensions. These are
 * the last two dimensions of the arrays with most dimensions; other arrays are halved along those of the two
 * that they have. Elements are means of the elements that are neither missing nor NaN. Bounds are those of
 * all merged cells; coarser levels omit the corners of cells. One array becomes an image of OME-NGFF 0.5.
 * Several become groups under the convention `multiscales` of Zarr, with `proj:` and `spatial:` for a plane
 * of latitudes and longitudes.
 * @throws InvalidArgumentError for arrays of fewer than two dimensions or, if there are several, without
 *   names of dimensions; errors of reading coordinates
 */
export async function pyramidMetadata(
  arrays: Readonly<Record<string, DiskArray>>,
  count: number,
  attributes: JsonObject,
): Promise<PyramidArrays> {
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
    const multiscale = { name, axes: axesOf(widest), datasets: levels.map((level) => levelDataset(rank, level)) }
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
  const groups = groupsOfLevels(levels, attributes, await geographicPlane(arrays, dims))
  return { ...made((level, name) => `${level}/${name}`, halved), groups }
}

/** Returns the attributes of the groups of a pyramid, by the convention `multiscales`. */
function groupsOfLevels(
  levels: readonly number[],
  attributes: JsonObject,
  plane: Awaited<ReturnType<typeof geographicPlane>>,
): PyramidArrays['groups'] {
  const placed = (level: number): JsonObject => plane?.level(2 ** level) ?? {}
  const layout = levels.map((level) => {
    const made = { derived_from: `${level - 1}`, transform: { scale: [2, 2], translation: [0.5, 0.5] } }
    return { asset: `${level}`, ...(level > 0 && made), ...placed(level) }
  })
  const ofLevel = (level: number): JsonObject =>
    plane === undefined
      ? attributes
      : { ...attributes, ...plane.attributes, ...placed(level), zarr_conventions: plane.conventions }
  return {
    '': {
      ...attributes,
      ...plane?.attributes,
      zarr_conventions: [MULTISCALES, ...(plane?.conventions ?? [])],
      multiscales: { layout },
    },
    ...Object.fromEntries(levels.map((level) => [`${level}`, ofLevel(level)])),
  }
}

/** Returns the axes of an image, with the kinds that their names imply. */
function axesOf({ dimensionNames, shape }: DiskArray): JsonObject[] {
  const names = dimensionNames ?? shape.map((_, axis) => ['y', 'x'][axis - shape.length + 2] ?? `axis${axis}`)
  return names.map((name, axis) => {
    if (axis >= shape.length - 2 || /^(z|depth)$/i.test(name)) return { name, type: 'space' }
    return /^t(ime)?$/i.test(name) ? { name, type: 'time' } : /^c(hannel)?$/i.test(name) ? { name, type: 'channel' } : { name }
  })
}

/**
 * Returns a level of an image, in pixels of the finest level. The centre of a pixel is that of the merged
 * pixels.
 */
function levelDataset(rank: number, level: number): JsonObject {
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
 * Merges `factor` neighbours, a power of two, along some axes; undefined for bounds that are not intervals
 * along one axis.
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
    : coarsen(isFloat(dtype) ? withoutNaN(array) : array, Object.fromEntries(axes.map((axis) => [axis, factor])), 'mean')
  const missing = missingElement(missingElements(source))
  const back = (mean: number): unknown =>
    Number.isNaN(mean) && missing !== undefined ? missing : toElement(dtype, isFloat(dtype) ? mean : Math.round(mean))
  return new DiskArray(elementwise(means.source, source, { forth: back as never }))
}

/** Treats NaN as missing, too. Otherwise areas without data would grow from level to level. */
function withoutNaN({ source }: DiskArray): DiskArray {
  const missing = { ...missingOf(source), nan: true }
  return new DiskArray(deriveSource(source, { readBlock: source.readBlock.bind(source) }, { ...source, missing }))
}

/**
 * Merges each pair of neighbours along an axis. A single element at the end stays.
 * @param merge receives the elements of a box, dense and with the whole last axis, and the target box
 */
function halvedBy(array: DiskArray, axis: number, merge: (from: Tensor, to: Tensor, box: Box) => void): DiskArray {
  const { source, shape, dtype, chunks } = array
  const last = shape.length - 1
  const half = (length: number): number => Math.max(1, Math.ceil(length / 2))
  return new DiskArray(
    deriveSource(source, {
      chunks: ChunkGrid.regular(
        shape.with(axis, Math.ceil(shape[axis]! / 2)),
        chunks.chunkShape.map((length, each) => (each === axis ? half(length) : Math.max(1, length))),
      ),
      capabilities: {},
      readBlock: async (box, out, options) => {
        const [{ start, stop }, end] = [box[axis]!, shape[last]!]
        const finer = box.with(last, { start: 0, stop: end, step: 1 })
        finer[axis] = { start: 2 * start, stop: Math.min(2 * stop, shape[axis]!), step: 1 }
        const from = tensorOf(dtype, boxShape(finer))
        await source.readBlock(finer, from, options)
        merge(from, out, axis === last ? box.with(last, { start: 0, stop: stop - start, step: 1 }) : box)
      },
      bulk: {},
    }),
  )
}

/** Returns angles midway between neighbours, the short way round: 359 and 1 yield 0, not 180. */
function middles(array: DiskArray, axes: readonly number[], factor: number): DiskArray {
  const missing = missingElement(missingElements(array.source))
  const isMissing = (angle: number): boolean => angle === missing || Number.isNaN(angle)
  const middle = (a: number, b: number): number => {
    if (isMissing(a) || isMissing(b)) return isMissing(a) ? b : a
    return a + (((((b - a + 180) % 360) + 360) % 360) - 180) / 2
  }
  const last = array.shape.length - 1
  let angles = array
  for (let left = factor; left > 1; left /= 2)
    for (const axis of axes)
      angles = halvedBy(angles, axis, (from, to, box) => {
        eachIndex(to.shape, (index) => {
          const own = index.with(last, index[last]! + box[last]!.start)
          const at = (i: number): number => from.data[placeAt(from, own.with(axis, i))] as number
          const first = 2 * own[axis]!
          to.data[placeAt(to, index)] = middle(at(first), at(Math.min(first + 1, from.shape[axis]! - 1))) as never
        })
      })
  return angles
}

/** Returns intervals that contain those of neighbours, in the same direction. */
function coarserBounds(array: DiskArray, axes: readonly number[], factor: number): DiskArray | undefined {
  const { shape } = array
  if (axes.length > 1 || axes[0] !== 0 || shape.length !== 2 || shape[1] !== 2) return undefined
  let bounds = array
  for (let left = factor; left > 1; left /= 2)
    bounds = halvedBy(bounds, 0, (from, to, box) => {
      eachIndex(to.shape, (index) => {
        const [row, column] = [2 * index[0]!, index[1]! + box[1]!.start]
        const at = (row: number, column: number): number => from.data[2 * row + column] as number
        const [own, next] = [at(row, column), at(Math.min(row + 1, from.shape[0]! - 1), column)]
        const isLow = at(row, 0) <= at(row, 1) === (column === 0)
        to.data[placeAt(to, index)] = (next < own === isLow ? next : own) as never
      })
    })
  return bounds
}
