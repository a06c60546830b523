import type { DiskArray } from '../../../array/disk-array.ts'
import { isFloat } from '../../../core/dtype.ts'
import type { JsonObject } from '../document.ts'

/** What says that attributes of a group follow the convention `proj:`. */
const PROJ = {
  schema_url: 'https://raw.githubusercontent.com/zarr-conventions/geo-proj/refs/tags/v1/schema.json',
  spec_url: 'https://github.com/zarr-conventions/geo-proj/blob/v1/README.md',
  uuid: 'f17cb550-5864-4468-aeb7-f3180cfb622f',
  name: 'proj:',
  description: 'Coordinate reference system information for geospatial data',
}
/** The same of the convention `spatial:`. */
const SPATIAL = {
  schema_url: 'https://raw.githubusercontent.com/zarr-conventions/spatial/refs/tags/v1/schema.json',
  spec_url: 'https://github.com/zarr-conventions/spatial/blob/v1/README.md',
  uuid: '689b58e2-cf7b-45e0-9fff-9cfc0883d6b4',
  name: 'spatial:',
  description: 'Spatial coordinate information',
}

/** Steps between neighbours differ by less than so much of one: coordinates are often 32-bit numbers. */
const EVEN = 1e-3

/** Where a plane of latitudes and longitudes lies, as attributes of Zarr say it. */
export interface GeographicPlane {
  readonly conventions: readonly JsonObject[]
  /** Attributes of a group with arrays of a level, and of that with all levels. */
  readonly attributes: JsonObject
  /** What only a level has, of cells that are so many of the finest long. */
  level(factor: number): JsonObject
}

/** The cells along an axis of even steps: where the first begins, and how far it is to the next. */
interface EvenAxis {
  readonly edge: number
  readonly step: number
  readonly length: number
}

/**
 * Where the plane of two dimensions lies, by the coordinates of their names: the reference system where these
 * are degrees north and east, and the affine transform where they are evenly spaced. Undefined where they are
 * no such coordinates.
 * @throws errors of reading the coordinates
 */
export async function geographicPlane(
  arrays: Readonly<Record<string, DiskArray>>,
  dims: readonly string[],
): Promise<GeographicPlane | undefined> {
  const [lat, lon] = dims.map((dim) => arrays[dim]) as [DiskArray | undefined, DiskArray | undefined]
  if (!isDegrees(lat, /^degrees?_?n(orth)?$/i) || !isDegrees(lon, /^degrees?_?e(ast)?$/i)) return undefined
  const [y, x] = [await evenAxis(lat), await evenAxis(lon)]
  // Coordinates of CF that name no other datum are taken for those of WGS 84 by whoever draws them.
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

/** Whether an array has decoded coordinates of one dimension in units. */
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
