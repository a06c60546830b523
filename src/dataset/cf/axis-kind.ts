import { type Attrs, attributeText } from '../attributes.ts'

/** Direction of a coordinate, by the CF conventions. */
export type AxisKind = 'latitude' | 'longitude' | 'vertical' | 'time'

const STANDARD_NAMES: Readonly<Record<string, AxisKind>> = {
  latitude: 'latitude',
  grid_latitude: 'latitude',
  longitude: 'longitude',
  grid_longitude: 'longitude',
  time: 'time',
  air_pressure: 'vertical',
  height: 'vertical',
  altitude: 'vertical',
  depth: 'vertical',
  geopotential_height: 'vertical',
  model_level_number: 'vertical',
}

const AXES: Readonly<Record<string, AxisKind>> = { X: 'longitude', Y: 'latitude', Z: 'vertical', T: 'time' }

/** Names of coordinates without attributes. */
const NAMES: readonly (readonly [RegExp, AxisKind])[] = [
  [/^(lat|latitude|nav_lat)$/i, 'latitude'],
  [/^(lon|long|longitude|nav_lon)$/i, 'longitude'],
  [/^(time|valid_time)$/i, 'time'],
  [/^(lev|level|plev|pressure|pressure_level|height|depth|isobaricInhPa)$/i, 'vertical'],
]

/** Returns the direction of units of degrees. */
const degrees = (units: string): AxisKind | undefined => {
  if (/^degrees?_?(north|N)$/.test(units)) return 'latitude'
  return /^degrees?_?(east|E)$/.test(units) ? 'longitude' : undefined
}

/**
 * Returns the direction of a coordinate by its units, standard name, attributes `axis` and `positive`, and
 * name, in this order (CF conventions, chapter 4). Undefined if none of them defines it. A projected `x` or
 * `y` is neither longitude nor latitude.
 */
export function findAxisKind(name: string, attrs: Attrs): AxisKind | undefined {
  const units = attributeText(attrs, 'units') ?? ''
  if (/\bsince\b/.test(units)) return 'time'
  const known = degrees(units) ?? STANDARD_NAMES[attributeText(attrs, 'standard_name') ?? '']
  if (known !== undefined) return known
  if (/^projection_[xy]_/.test(attributeText(attrs, 'standard_name') ?? '')) return undefined
  const axis = AXES[(attributeText(attrs, 'axis') ?? '').toUpperCase()]
  if (axis === 'time' || axis === 'vertical') return axis
  if (/^(up|down)$/i.test(attributeText(attrs, 'positive') ?? '')) return 'vertical'
  // Metres east of some point are no longitude.
  const named = NAMES.find(([pattern]) => pattern.test(name))?.[1]
  return named ?? (units === '' || /^degrees?$/.test(units) ? axis : undefined)
}
