// Projections of grid mappings, as chapter 5.6 and appendix F of the CF conventions describe them.
import type { DataArray } from 'hyperslab/dataset'

/** Converts degrees to coordinates of a grid in metres, degrees or radians; undefined if there are none. */
export type Project = (longitude: number, latitude: number) => readonly [x: number, y: number] | undefined

type Attrs = DataArray['attrs']

/** Parameters of PROJ, by the attribute of CF that contains each. */
const PARAMETERS: Readonly<Record<string, string>> = {
  latitude_of_projection_origin: 'lat_0',
  longitude_of_projection_origin: 'lon_0',
  longitude_of_central_meridian: 'lon_0',
  straight_vertical_longitude_from_pole: 'lon_0',
  scale_factor_at_central_meridian: 'k_0',
  scale_factor_at_projection_origin: 'k_0',
  false_easting: 'x_0',
  false_northing: 'y_0',
  perspective_point_height: 'h',
  sweep_angle_axis: 'sweep',
  earth_radius: 'R',
  semi_major_axis: 'a',
  semi_minor_axis: 'b',
  inverse_flattening: 'rf',
}

/** Projections of PROJ, by `grid_mapping_name`. */
const NAMES: Readonly<Record<string, string>> = {
  albers_conical_equal_area: 'aea',
  azimuthal_equidistant: 'aeqd',
  geostationary: 'geos',
  lambert_azimuthal_equal_area: 'laea',
  lambert_conformal_conic: 'lcc',
  lambert_cylindrical_equal_area: 'cea',
  mercator: 'merc',
  orthographic: 'ortho',
  polar_stereographic: 'stere',
  sinusoidal: 'sinu',
  stereographic: 'stere',
  transverse_mercator: 'tmerc',
}

const RADIAN = Math.PI / 180

/** Rotates the globe so that a given point becomes its north pole. */
function rotatedPole(attrs: Attrs): Project {
  const latitude = Number(attrs['grid_north_pole_latitude'] ?? 90) * RADIAN
  const longitude = Number(attrs['grid_north_pole_longitude'] ?? 0)
  const turn = Number(attrs['north_pole_grid_longitude'] ?? 0)
  return (lon, lat) => {
    const [east, north] = [(lon - longitude) * RADIAN, lat * RADIAN]
    const up = Math.sin(north) * Math.sin(latitude) + Math.cos(north) * Math.cos(latitude) * Math.cos(east)
    const towards = Math.sin(north) * Math.cos(latitude) - Math.cos(north) * Math.sin(latitude) * Math.cos(east)
    const across = Math.atan2(-Math.cos(north) * Math.sin(east), towards) / RADIAN + turn
    return [across - 360 * Math.round(across / 360), Math.asin(Math.min(1, Math.max(-1, up))) / RADIAN]
  }
}

/** Returns the parameters of PROJ for a grid mapping; undefined for an unknown one. */
function parametersOf(attrs: Attrs): string | undefined {
  const name = String(attrs['grid_mapping_name'] ?? '')
  // GeoTIFF names systems by number. PROJ knows those of UTM and of web maps.
  if (name === '' && attrs['epsg_code'] !== undefined) return String(attrs['epsg_code'])
  const projection = NAMES[name]
  if (projection === undefined) return undefined
  const found = new Map<string, unknown>([['proj', projection], ['x_0', 0], ['y_0', 0]]) // biome-ignore format: one line
  for (const [attribute, parameter] of Object.entries(PARAMETERS))
    if (attrs[attribute] !== undefined) found.set(parameter, attrs[attribute])
  const parallels = attrs['standard_parallel']
  const list = typeof parallels === 'object' && parallels !== null ? Array.from(parallels as ArrayLike<number>) : [parallels]
  if (parallels !== undefined) {
    if (projection === 'lcc' || projection === 'aea') {
      found.set('lat_1', list[0])
      found.set('lat_2', list.at(-1))
    } else found.set('lat_ts', list[0])
  }
  if (projection === 'lcc' && !found.has('lat_1')) found.set('lat_1', found.get('lat_0'))
  if (name === 'polar_stereographic' && !found.has('lat_0')) found.set('lat_0', Number(list[0] ?? 90) < 0 ? -90 : 90)
  if (!found.has('R') && !found.has('a')) found.set('ellps', 'WGS84')
  return [...found].map(([key, value]) => `+${key}=${value}`).join(' ')
}

/**
 * Returns the projection of a grid mapping.
 * @param attrs attributes of the variable that `grid_mapping` names
 * @returns undefined if the mapping is unknown or its parameters define no projection
 */
export async function projectionOf(attrs: Attrs): Promise<Project | undefined> {
  if (attrs['grid_mapping_name'] === 'rotated_latitude_longitude') return rotatedPole(attrs)
  const parameters = parametersOf(attrs)
  if (parameters === undefined) return undefined
  const { default: proj4 } = await import('proj4')
  // Coordinates of a geostationary grid are angles.
  const divisor = attrs['grid_mapping_name'] === 'geostationary' ? Number(attrs['perspective_point_height']) : 1
  try {
    const { forward } = proj4(parameters)
    return (longitude, latitude) => {
      // Points that a projection does not show are errors or not finite.
      try {
        const [x, y] = forward([longitude, latitude]) as [number, number]
        return Number.isFinite(x) && Number.isFinite(y) ? [x / divisor, y / divisor] : undefined
      } catch {
        return undefined
      }
    }
  } catch {
    return undefined
  }
}

/**
 * Returns the metres, degrees or radians in a unit of a coordinate; undefined for unknown units. Coordinates
 * without units have those of the projection.
 */
export function unitSize(units: string): number | undefined {
  if (/^(|m|met(er|re)s?|degrees?|radians?|rad)$/i.test(units)) return 1
  return /^(km|kilomet(er|re)s?)$/i.test(units) ? 1000 : undefined
}
