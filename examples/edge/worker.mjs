// A Cloudflare Worker that answers questions about a container of gridded data: the series at a point, the mean over a region.
import { isHyperslabError, open } from 'hyperslab'
import { findPoint, findRegion, selectTime } from './grid.mjs'
import { Refusal } from './refusal.mjs'
import { regionOf } from './region.mjs'

/** A Worker has 128 MB. Blocks of a few MiB fit in here several times. */
const CACHE_BYTES = 16 * 1024 * 1024

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
  const [name, lat, lon] = [text('array'), number('lat'), number('lon')]
  return withArray(env, signal, name, async ({ array, axes, time, values }) => {
    const { row, column } = findPoint(axes, lat, lon)
    const selection = array.dimensionNames.map((axis) => ({ lat: row, lon: column })[axis] ?? null)
    const { data } = await seriesOf(array, selection, signal)
    const cell = { lat: axes.lat[row], lon: axes.lon[column] }
    return { array: name, ...cell, ...time(null), values: values(data) }
  })
}

/** `GET /mean?array=tas&lat=45:55&lon=350:10`: the mean over a region at each time, or, with `per=whole`, one of all times. */
async function answerMean({ text, pair, optional }, env, signal) {
  const [name, lat, lon, per] = [text('array'), pair('lat'), pair('lon'), optional('per') ?? 'step']
  if (per !== 'step' && per !== 'whole') throw new Refusal(400, `per is step or whole, not ${per}`)
  return withArray(env, signal, name, async ({ array, axes, time, values, times }) => {
    const spans = { ...findRegion(axes, lat, lon), time: selectTime(times, optional('time')) }
    const region = regionOf(array, spans)
    const cells = { lat: spans.lat.length, lon: spans.lon.length }
    if (per === 'whole') {
      const mean = await region.mean({ signal })
      return { array: name, cells, mean: values([mean])[0] }
    }
    const { data } = await region.mean({ axis: ['lat', 'lon'], signal })
    return { array: name, cells, ...time(spans.time), mean: values(data) }
  })
}

/** A container belongs to one request: workerd lets no request wait for what another one has begun. */
async function withArray(env, signal, name, work) {
  const location = env.CONTAINER_URL ?? { bucket: env.BUCKET, key: env.CONTAINER }
  const file = await open(location, { cacheBytes: CACHE_BYTES, signal })
  try {
    const array = file.array(name)
    const dimensions = array.dimensionNames ?? []
    const known = dimensions.every((axis) => ['time', 'lat', 'lon'].includes(axis))
    if (!known || !dimensions.includes('lat') || !dimensions.includes('lon'))
      throw new Refusal(400, `${name} lies on ${dimensions.join(', ') || 'no named axes'}; it takes lat and lon, and time or not`)
    const axes = { lat: await coordinates(file, 'lat', signal), lon: await coordinates(file, 'lon', signal) }
    const instants = dimensions.includes('time') ? await coordinates(file, 'time', signal) : undefined
    const units = instants && file.array('time').attrs.get('units')
    const time = (span) =>
      instants && { time: span ? instants.slice(span.start, span.start + span.length) : instants, timeUnits: units }
    return await work({ array, axes, times: instants?.length, time, values: (data) => decode(array, data) })
  } finally {
    await file.close()
  }
}

async function coordinates(file, name, signal) {
  const { data } = await file.array(name).get([null], { signal })
  return Array.from(data, Number)
}

/** Without a time axis the point is a single value. */
async function seriesOf(array, selection, signal) {
  const result = await array.get(selection, { signal })
  return selection.includes(null) ? result : { data: [result] }
}

/** Packed numbers as NetCDF's conventions unpack them; `null` where there is none. */
function decode({ attrs, fillValue }, data) {
  const [scale, offset] = [Number(attrs.get('scale_factor') ?? 1), Number(attrs.get('add_offset') ?? 0)]
  return Array.from(data, (value) => (value === fillValue || Number.isNaN(value) ? null : Number(value) * scale + offset))
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

const STATUSES = { UnknownArrayError: 404, NotFoundError: 404, InvalidSelectionError: 400, UnsupportedError: 400 }

function refuse(error) {
  const status = error instanceof Refusal ? error.status : isHyperslabError(error) ? (STATUSES[error.tag] ?? 502) : 500
  if (status >= 500) console.error(error)
  // What is wrong inside is for the log.
  const message = status >= 500 ? 'the data cannot be read' : error.message
  return Response.json({ error: message }, { status, headers: { 'cache-control': 'no-store' } })
}
