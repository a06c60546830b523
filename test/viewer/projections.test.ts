import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { gridOf } from '../../apps/viewer/src/curvilinear.ts'
import { projectionOf } from '../../apps/viewer/src/projections.ts'
import { startScript } from '../../scripts/python.mjs'
import { RASTERIO } from '../adapters/geotiff/support.ts'
import { random } from '../af/rkyv/support.ts'
import { pythonWith } from '../support/python.ts'

const env = pythonWith(RASTERIO)
const python = env && startScript(fileURLToPath(new URL('projections.py', import.meta.url)), env)
afterAll(() => python?.close())

/** Grid mappings of CF, each with PROJ's definition of it and the degrees that it covers. */
const MAPPINGS: Readonly<Record<string, readonly [attrs: Record<string, unknown>, proj: string, box: readonly number[]]>> = {
  'Lambert, one parallel, on a sphere': [
    {
      grid_mapping_name: 'lambert_conformal_conic',
      standard_parallel: 38.5,
      longitude_of_central_meridian: -97.5,
      latitude_of_projection_origin: 38.5,
      earth_radius: 6371229,
    },
    '+proj=lcc +lat_1=38.5 +lat_0=38.5 +lon_0=-97.5 +R=6371229',
    [-130, -65, 20, 55],
  ],
  'Lambert, two parallels, on an ellipsoid': [
    {
      grid_mapping_name: 'lambert_conformal_conic',
      standard_parallel: Float64Array.of(35, 65),
      longitude_of_central_meridian: 10,
      latitude_of_projection_origin: 52,
      false_easting: 4e6,
      false_northing: 2.8e6,
      semi_major_axis: 6378137,
      inverse_flattening: 298.257222101,
    },
    '+proj=lcc +lat_1=35 +lat_2=65 +lat_0=52 +lon_0=10 +x_0=4000000 +y_0=2800000 +ellps=GRS80',
    [-10, 40, 35, 70],
  ],
  'polar stereographic': [
    {
      grid_mapping_name: 'polar_stereographic',
      standard_parallel: 70,
      straight_vertical_longitude_from_pole: -45,
      latitude_of_projection_origin: 90,
    },
    '+proj=stere +lat_0=90 +lat_ts=70 +lon_0=-45 +ellps=WGS84',
    [-180, 180, 40, 90],
  ],
  'polar stereographic of the south': [
    { grid_mapping_name: 'polar_stereographic', standard_parallel: -71, straight_vertical_longitude_from_pole: 0 },
    '+proj=stere +lat_0=-90 +lat_ts=-71 +lon_0=0 +ellps=WGS84',
    [-180, 180, -90, -50],
  ],
  Mercator: [
    { grid_mapping_name: 'mercator', standard_parallel: 20, longitude_of_projection_origin: 30 },
    '+proj=merc +lat_ts=20 +lon_0=30 +ellps=WGS84',
    [-100, 100, -70, 70],
  ],
  'transverse Mercator': [
    {
      grid_mapping_name: 'transverse_mercator',
      longitude_of_central_meridian: 9,
      latitude_of_projection_origin: 0,
      scale_factor_at_central_meridian: 0.9996,
      false_easting: 5e5,
      false_northing: 0,
    },
    '+proj=utm +zone=32 +ellps=WGS84',
    [6, 12, 0, 80],
  ],
  'equal areas, azimuthal': [
    {
      grid_mapping_name: 'lambert_azimuthal_equal_area',
      longitude_of_projection_origin: 10,
      latitude_of_projection_origin: 52,
      false_easting: 4321000,
      false_northing: 3210000,
    },
    '+proj=laea +lat_0=52 +lon_0=10 +x_0=4321000 +y_0=3210000 +ellps=WGS84',
    [-20, 40, 30, 75],
  ],
  'equal areas, conic': [
    {
      grid_mapping_name: 'albers_conical_equal_area',
      standard_parallel: [29.5, 45.5],
      longitude_of_central_meridian: -96,
      latitude_of_projection_origin: 23,
    },
    '+proj=aea +lat_1=29.5 +lat_2=45.5 +lat_0=23 +lon_0=-96 +ellps=WGS84',
    [-125, -65, 22, 52],
  ],
  'rotated pole': [
    { grid_mapping_name: 'rotated_latitude_longitude', grid_north_pole_latitude: 39.25, grid_north_pole_longitude: -162 },
    '+proj=ob_tran +o_proj=longlat +o_lon_p=0 +o_lat_p=39.25 +lon_0=18 +R=6371000 +to_meter=0.0174532925199433',
    [-20, 50, 30, 70],
  ],
  'UTM, by the number of GeoTIFF': [{ epsg_code: 'EPSG:32633' }, '+proj=utm +zone=33 +ellps=WGS84', [12, 18, 0, 80]],
}

test.skipIf(env === undefined).each(Object.keys(MAPPINGS))('%s: coordinates are those of PROJ', async (name) => {
  const [attrs, proj, [west, east, south, north]] = MAPPINGS[name]! as readonly [Record<string, never>, string, number[]]
  const next = random(20_261_128)
  const between = (low: number, high: number): number => low + (next(100_001) / 100_000) * (high - low)
  const points = Array.from({ length: 200 }, () => [between(west!, east!), between(south!, north!)] as const)
  const project = (await projectionOf(attrs))!
  const wanted = (await python!.ask({ proj, points })) as [number, number][]
  // A millimetre, or its share of a degree.
  const most = attrs['grid_mapping_name'] === 'rotated_latitude_longitude' ? 1e-8 : 1e-3
  for (const [i, [x, y]] of wanted.entries()) {
    const got = project(...points[i]!)!
    expect(Math.hypot(got[0] - x, got[1] - y), `${points[i]} of ${name}`).toBeLessThan(most)
  }
  expect(wanted.length).toBe(200)
})

test('an unknown mapping, and one without its parameters, has no projection', async () => {
  expect(await projectionOf({ grid_mapping_name: 'vertical_perspective_of_nothing' })).toBeUndefined()
  expect(await projectionOf({ epsg_code: 'EPSG:999999' })).toBeUndefined()
  expect(await projectionOf({})).toBeUndefined()
})

test('places on a curvilinear grid are between the nodes around them, also across 180 degrees', () => {
  const positions = [0, 0.25, 0.5, 0.75, 1]
  // A grid turned by 30 degrees about a point near the line of dates.
  const placeAt = (right: number, down: number): [lon: number, lat: number] => {
    const [x, y] = [right * 10 - 5, 5 - down * 10]
    const lon = 179 + x * Math.cos(Math.PI / 6) - y * Math.sin(Math.PI / 6)
    return [lon > 180 ? lon - 360 : lon, 20 + x * Math.sin(Math.PI / 6) + y * Math.cos(Math.PI / 6)]
  }
  const nodes = positions.flatMap((down) => positions.map((right) => placeAt(right, down)))
  const onGrid = gridOf({
    longitudes: nodes.map(([lon]) => lon),
    latitudes: nodes.map(([, lat]) => lat),
    rows: positions,
    columns: positions,
  })
  for (let i = 0; i <= 20; i++)
    for (let k = 0; k <= 20; k++) {
      const [right, down] = [0.001 + (i / 20) * 0.998, 0.001 + (k / 20) * 0.998]
      const got = onGrid(...placeAt(right, down))
      expect(got![0]).toBeCloseTo(right, 9)
      expect(got![1]).toBeCloseTo(down, 9)
    }
  for (const [right, down] of [[-0.01, 0.5], [1.01, 0.5], [0.5, -0.01], [0.5, 1.01]] as const) // biome-ignore format: one line
    expect(onGrid(...placeAt(right, down))).toBeUndefined()
})

test('cells with missing nodes contain no place', () => {
  const onGrid = gridOf({
    longitudes: [0, 1, Number.NaN, 0, 1, 2],
    latitudes: [1, 1, 1, 0, 0, 0],
    rows: [0, 1],
    columns: [0, 0.5, 1],
  })
  expect(onGrid(0.5, 0.5)).toEqual([0.25, 0.5])
  expect(onGrid(1.5, 0.5)).toBeUndefined()
})

test('places in no order yield positions within the grid', () => {
  const next = random(7)
  const count = 192
  const positions = Array.from({ length: count }, (_, i) => i / count)
  const degrees = (most: number): number[] =>
    Array.from({ length: count * count }, () => (next(2 * most * 1000) - most * 1000) / 1000)
  const onGrid = gridOf({ latitudes: degrees(90), longitudes: degrees(180), rows: positions, columns: positions })
  const found = Array.from({ length: 200 }, () => onGrid(next(360) - 180, next(180) - 90)).filter((at) => at !== undefined)
  expect(found.length).toBeGreaterThan(0)
  for (const [right, down] of found) expect(Math.min(right, down) >= 0 && Math.max(right, down) <= 1).toBe(true)
})
