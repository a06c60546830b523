import type { DiskArray } from '../../../array/disk-array.ts'
import { isFloat } from '../../../core/dtype.ts'
import type { JsonObject } from '../document.ts'

/** Declares that the attributes of a group follow the convention `proj:`. */
const PROJ = {
  schema_url: 'https://raw.githubusercontent.com/zarr-conventions/geo-proj/refs/tags/v1/schema.json',
  spec_url: 'https://github.com/zarr-conventions/geo-proj/blob/v1/README.md',
  uuid: 'f17cb550-5864-4468-aeb7-f3180cfb622f',
  name: 'proj:',
  description: 'Coordinate reference system information for geospatial data',
}
/** Declares that the attributes of a group follow the convention `spatial:`. */
const SPATIAL = {
  schema_url: 'https://raw.githubusercontent.com/zarr-conventions/spatial/refs/tags/v1/schema.json',
  spec_url: 'https://github.com/zarr-conventions/spatial/blob/v1/README.md',
  uuid: '689b58e2-cf7b-45e0-9fff-9cfc0883d6b4',
  name: 'spatial:',
  description: 'Spatial coordinate information',
}

/** Tolerance of even spacing, as a part of one step. Coordinates are often 32-bit numbers. */
const EVEN = 1e-3

/** Location of a plane of latitudes and longitudes, as attributes of Zarr. */
export interface GeographicPlane {
  readonly conventions: readonly JsonObject[]
  /** Attributes of the group of each level, and of the group that contains the levels. */
  readonly attributes: JsonObject
  /** Returns the additional attributes of a level with cells of `factor` times the finest length. */
  level(factor: number): JsonObject
}

/** Cells along an axis of even steps: edge of the first cell, and distance to the next. */
interface EvenAxis {
  readonly edge: number
  readonly step: number
  readonly length: number
}

/**
 * Describes the location of the plane of two dimensions by their coordinates: the reference system if they
 * are degrees north and east, and the affine transform if they are evenly spaced. Undefined for other
 * coordinates.
 * @throws errors of reading the coordinates
 */
export async function geographicPlane(
  arrays: Readonly<Record<string, DiskArray>>,
  dims: readonly string[],
): Promise<GeographicPlane | undefined> {
  const [lat, lon] = dims.map((dim) => arrays[dim]) as [DiskArray | undefined, DiskArray | undefined]
  if (!isDegrees(lat, /^degrees?_?n(orth)?$/i) || !isDegrees(lon, /^degrees?_?e(ast)?$/i)) return undefined
  const [y, x] = [await evenAxis(lat), await evenAxis(lon)]
  // Programs that draw CF coordinates without a datum assume WGS 84.
  const proj = { 'proj:code': 'EPSG:4326' }
  if (y === undefined || x === undefined) return { conventions: [PROJ], attributes: proj, level: () => ({}) }
  const ends = ({ edge, step, length }: EvenAxis): number[] => [edge, edge + step * length].sort((a, b) => a - b)
  const [[west, east], [south, north]] = [ends(x), ends(y)] as [[number, number], [number, number]]
  return {
    conventions: [PROJ, SPATIAL],
    attributes: { ...proj, 'spatial:dimensions': [...dims], 'spatial:bbox': [west, south, east, north] },
    level: (factor) => ({
      'spatial:shape': [y, x].map(({ length }) => Math.ceil(length / factor)),
      'spatial:transform': [factor * x.step, 0, x.edge, 0, factor * y.step, y.edge],
    }),
  }
}

/** Whether an array has one-dimensional, decoded coordinates in the given units. */
const isDegrees = (array: DiskArray | undefined, units: RegExp): array is DiskArray =>
  array !== undefined &&
  array.shape.length === 1 &&
  isFloat(array.dtype) &&
  units.test(String(array.source.attrs?.get('units'))) &&
  ['scale_factor', 'add_offset'].every((name) => array.source.attrs?.get(name) === undefined)

async function evenAxis(array: DiskArray): Promise<EvenAxis | undefined> {
  const values = (await array.toTensor()).data as ArrayLike<number>
  const { length } = values
  const [first, last] = [values[0]!, values[length - 1]!]
  const step = (last - first) / (length - 1)
  if (length < 2 || !Number.isFinite(step) || step === 0) return undefined
  for (let i = 1; i < length; i++) if (!(Math.abs(values[i]! - first - i * step) < EVEN * Math.abs(step))) return undefined
  return { edge: first - step / 2, step, length }
}
