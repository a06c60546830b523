// Where places lie on a grid: coordinates in degrees to positions along the axes `lat` and `lon`.
import { Refusal } from './refusal.mjs'

/** Degrees from `from` eastward to `to`, from 0 to below 360; rounded, so that 349.7 lies on -10.3. */
function eastward(from, to) {
  const degrees = (Math.round((to - from) * 1e9) / 1e9) % 360
  return degrees < 0 ? degrees + 360 : degrees
}

/** The grid cell whose centre is nearest. Latitudes may run either way, longitudes go round. */
export function findPoint({ lat, lon }, latitude, longitude) {
  checkLatitude(latitude)
  const row = nearest(lat, (value) => Math.abs(value - latitude))
  const column = nearest(lon, (value) => Math.min(eastward(value, longitude), eastward(longitude, value)))
  return { row, column }
}

function nearest(centres, distanceTo) {
  let best = 0
  for (let i = 1; i < centres.length; i++) if (distanceTo(centres[i]) < distanceTo(centres[best])) best = i
  // Half a cell beyond the outermost centres there is no data.
  const spacing = centres.length > 1 ? Math.abs(centres[1] - centres[0]) : 360
  if (distanceTo(centres[best]) > spacing)
    throw new Refusal(404, `the grid does not reach there; the nearest cell is at ${centres[best]}`)
  return best
}

/** The cells whose centres lie in a region, as a span `{ start, length }` an axis; that of longitudes may go on at the start of the axis. */
export function findRegion({ lat, lon }, latitudes, [west, east]) {
  latitudes.forEach(checkLatitude)
  const [south, north] = [Math.min(...latitudes), Math.max(...latitudes)]
  const width = Math.abs(east - west) >= 360 ? 360 : eastward(west, east)
  return {
    lat: spanOf(lat, (value) => value >= south && value <= north, `latitudes ${south} to ${north}`),
    lon: spanOf(lon, (value) => eastward(west, value) <= width, `longitudes ${west} to ${east}`),
  }
}

/** Positions inside are neighbours, the last one and the first included. */
function spanOf(centres, isInside, what) {
  const inside = centres.map(isInside)
  const length = inside.filter(Boolean).length
  if (length === 0) throw new Refusal(404, `there is no grid cell between the ${what}`)
  const start = inside.findIndex((is, i) => is && !inside.at(i - 1))
  return { start: Math.max(0, start), length }
}

function checkLatitude(value) {
  if (Math.abs(value) > 90) throw new Refusal(400, `a latitude is between -90 and 90, not ${value}`)
}

/** Positions along the time axis, `3` or `0:12`, the end not included; all when left out. */
export function selectTime(length, text) {
  if (length === undefined) {
    if (text === undefined) return undefined
    throw new Refusal(400, 'this array has no time axis')
  }
  if (text === undefined) return { start: 0, length }
  const match = /^(\d+)(?::(\d+))?$/.exec(text)
  const [start, stop] = match ? [Number(match[1]), Number(match[2] ?? Number(match[1]) + 1)] : [0, 0]
  if (start >= stop || stop > length)
    throw new Refusal(400, `time is a position or two, as in time=0:12, of ${length}; got '${text}'`)
  return { start, length: stop - start }
}
