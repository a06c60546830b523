// A Cloudflare Worker that answers questions about gridded data: the series at a point, the mean over a region.
import { isHyperslabError } from 'hyperslab'
import { between, cos, openDataset } from 'hyperslab/dataset'
import { Refusal } from './refusal.mjs'

const ROUTES = { '/point': answerPoint, '/mean': answerMean }

export default {
  async fetch(request, env) {
    try {
      if (request.method !== 'GET' && request.method !== 'HEAD') throw new Refusal(405, 'only GET and HEAD')
      const { pathname, searchParams } = new URL(request.url)
      const answer = ROUTES[pathname]
      if (answer === undefined) throw new Refusal(404, `there is no ${pathname}, only ${Object.keys(ROUTES).join(' and ')}`)
      return await cacheable(request, await answer(parametersOf(searchParams), env, request.signal))
    } catch (error) {
      // Nobody is there to read it.
      return request.signal.aborted ? new Response(null, { status: 499 }) : refuse(error)
    }
  },
}

/** `GET /point?array=tas&lat=52.5&lon=13.4`: all times at the nearest grid cell. */
async function answerPoint({ text, number }, env, signal) {
  const [name, lat, lon] = [text('array'), latitude(number('lat')), number('lon')]
  return withArray(env, signal, name, async (array) => {
    const near = async (dim) => ({ method: 'nearest', tolerance: await spacing(array, dim) })
    const point = array.sel({ lat }, await near('lat')).sel({ lon }, await near('lon'))
    const cell = { lat: Number(await point.coords.lat.get()), lon: Number(await point.coords.lon.get()) }
    return { array: name, ...cell, ...(await timesOf(point)), units: array.attrs.units, values: await valuesOf(point, signal) }
  })
}

/** `GET /mean?array=tas&lat=45:55&lon=350:10`: the mean over a region by area, at each time or, with `per=whole`, of all times. */
async function answerMean({ text, pair, optional }, env, signal) {
  const [name, lat, [west, east], per] = [text('array'), pair('lat').map(latitude), pair('lon'), optional('per') ?? 'step']
  if (per !== 'step' && per !== 'whole') throw new Refusal(400, `per is step or whole, not ${per}`)
  return withArray(env, signal, name, async (array) => {
    const time = timeRange(array, optional('time'))
    // All around there are all longitudes, each of them once.
    const lon = Math.abs(east - west) < 360 ? between(west, west + eastward(west, east)) : undefined
    const region = array.sel({ lat: between(Math.min(...lat), Math.max(...lat)), lon, time })
    const cells = { lat: lengthOf(region, 'lat'), lon: lengthOf(region, 'lon') }
    const answer = { array: name, cells, units: array.attrs.units }
    // Cells are as large as the cosine of their latitude.
    const weighted = region.weighted(cos(region.coords.lat))
    if (per === 'whole') return { ...answer, mean: (await valuesOf(weighted.mean(), signal))[0] }
    const means = weighted.mean({ axis: ['lat', 'lon'] })
    return { ...answer, ...(await timesOf(means)), mean: await valuesOf(means, signal) }
  })
}

/** A dataset belongs to one request: workerd lets no request wait for what another one has begun. */
async function withArray(env, signal, name, work) {
  const dataset = await openDataset(env.CONTAINER_URL ?? { bucket: env.BUCKET, key: env.CONTAINER }, { signal })
  try {
    const array = dataset.get(name)
    const isKnown = array.dims.every((dim) => ['time', 'lat', 'lon'].includes(dim))
    if (!isKnown || !['lat', 'lon'].every((dim) => array.dims.includes(dim)))
      throw new Refusal(400, `${name} lies on ${array.dims.join(', ') || 'no dimension'}; it takes lat and lon, and time or not`)
    return await work(array)
  } finally {
    await dataset.close()
  }
}

const lengthOf = ({ dims, shape }, dim) => shape[dims.indexOf(dim)]

/** Decoded values, `null` where there is none. */
async function valuesOf(array, signal) {
  const result = await array.get({ signal })
  return Array.from(array.dims.length === 0 ? [result] : result.data, (value) => (Number.isNaN(value) ? null : Number(value)))
}

/** Times as dates, of what has any. */
async function timesOf({ dims, coords }) {
  return dims.includes('time') ? { time: await coords.time.dates() } : {}
}

function latitude(value) {
  if (Math.abs(value) > 90) throw new Refusal(400, `a latitude is between -90 and 90, not ${value}`)
  return value
}

/** Degrees from `from` eastward to `to`, from 0 to below 360; rounded, so that 349.7 lies on -10.3. */
function eastward(from, to) {
  const degrees = (Math.round((to - from) * 1e9) / 1e9) % 360
  return degrees < 0 ? degrees + 360 : degrees
}

/** How far the centres of cells are apart: half as much beyond the outermost ones there is no data. */
async function spacing({ coords }, dim) {
  const centres = await coords[dim].values()
  return centres.length > 1 ? Math.abs(Number(centres[1]) - Number(centres[0])) : 360
}

/** `2005-03`, or `2005-03:2005-07`, both included. */
function timeRange({ dims }, text) {
  if (text === undefined) return undefined
  if (!dims.includes('time')) throw new Refusal(400, 'this array has no time axis')
  const [from, to = from, ...more] = text.split(':')
  if (more.length > 0) throw new Refusal(400, `time is a date or two, as in time=2005-03:2005-07; got '${text}'`)
  return between(from, to)
}

function parametersOf(search) {
  const optional = (name) => search.get(name) ?? undefined
  const text = (name) => {
    const value = optional(name)
    if (!value) throw new Refusal(400, `the parameter ${name} is missing`)
    return value
  }
  const parse = (name, value) => {
    if (value.trim() === '' || !Number.isFinite(Number(value))) throw new Refusal(400, `${name} takes numbers, got '${value}'`)
    return Number(value)
  }
  const number = (name) => parse(name, text(name))
  const pair = (name) => {
    const parts = text(name).split(':')
    if (parts.length !== 2) throw new Refusal(400, `${name} takes two numbers, as in ${name}=10:20`)
    return parts.map((part) => parse(name, part))
  }
  return { optional, text, number, pair }
}

/** The tag is that of the answer: the same numbers have the same one, wherever they were read. */
async function cacheable(request, answer) {
  const body = JSON.stringify(answer)
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(body))
  const etag = `"${Array.from(new Uint8Array(digest, 0, 12), (byte) => byte.toString(16).padStart(2, '0')).join('')}"`
  const headers = { 'content-type': 'application/json', 'cache-control': 'public, max-age=300', etag }
  const known = request.headers.get('if-none-match') ?? ''
  // Caches that compress make tags weak.
  const unchanged = known.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag)
  if (unchanged) return new Response(null, { status: 304, headers })
  return new Response(request.method === 'HEAD' ? null : body, { headers })
}

/** What asks for labels that are not there, or are no labels, has an error that says so. */
const STATUSES = {
  ...{ UnknownArrayError: 404, NotFoundError: 404, InvalidSelectionError: 404 },
  ...{ InvalidArgumentError: 400, UnsupportedError: 400 },
}

function refuse(error) {
  const status = error instanceof Refusal ? error.status : isHyperslabError(error) ? (STATUSES[error.tag] ?? 502) : 500
  if (status >= 500) console.error(error)
  // What is wrong inside is for the log.
  const message = status >= 500 ? 'the data cannot be read' : error.message
  return Response.json({ error: message }, { status, headers: { 'cache-control': 'no-store' } })
}
