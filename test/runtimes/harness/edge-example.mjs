// The example in workerd, asked over HTTP: node edge-example.mjs <application>. What it should answer is
// computed from the NetCDF file.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isHyperslabError } from '../../../dist/index.js'
import { checker, equal, near } from '../check.mjs'
import { demoGrid, flipped, importDemo, LARGE, writeFlipped, writeLarge } from './edge-data.mjs'
import { startWorker } from './edge-worker.mjs'

const [app] = process.argv.slice(2)
const { check, results } = checker(isHyperslabError)
const folder = mkdtempSync(join(tmpdir(), 'hyperslab-edge-'))
const miniflare = await startWorker(app, 'edge-example', {
  compatibilityDate: '2026-04-01',
  compatibilityFlags: ['enable_request_signal'],
})
try {
  const climate = demoGrid()
  const grids = { 'climate.af': climate, 'flipped.af': flipped(climate), 'large.af': LARGE }
  const files = {
    'climate.af': importDemo(folder),
    'flipped.af': await writeFlipped(folder, grids['flipped.af']),
    'large.af': await writeLarge(folder),
  }
  const bucket = await miniflare.getR2Bucket('BUCKET')
  // Miniflare takes no Buffer.
  for (const [key, bytes] of Object.entries(files)) await bucket.put(key, Uint8Array.from(bytes))
  for (const key of ['climate.af', 'flipped.af']) await checkAnswers(key, key, grids[key])
  await checkRefusals()
  await checkCaching()
  await checkCost(files['large.af'].length)
  await checkHttp(files)
} finally {
  await miniflare.dispose()
  rmSync(folder, { recursive: true })
}
console.log(JSON.stringify(results))
process.exit()

/** Asks the Worker. @returns status, headers, the answer, and what was read from the bucket for it */
async function ask(container, path, init = {}) {
  const headers = { ...init.headers, 'x-container': container }
  const response = await miniflare.dispatchFetch(`http://worker${path}`, { ...init, headers })
  const text = await response.text()
  const read = JSON.parse(response.headers.get('x-read'))
  return { status: response.status, headers: response.headers, answer: text === '' ? undefined : JSON.parse(text), read }
}

function nearAll(actual, expected) {
  equal(actual.length, expected.length)
  for (const [i, value] of expected.entries()) value === null ? equal(actual[i], null) : near(actual[i], value)
}

function range(length) {
  return Array.from({ length }, (_, i) => i)
}

/** The mean by area over some rows and columns, at each of some times. */
function meansOf({ lat, at }, times, rows, columns) {
  return times.map((t) => {
    let [sum, area] = [0, 0]
    for (const y of rows)
      for (const x of columns) {
        const value = at(t, y, x)
        if (value === null) continue
        const weight = Math.cos((lat[y] * Math.PI) / 180)
        sum += value * weight
        area += weight
      }
    return sum / area
  })
}

async function checkAnswers(label, container, grid) {
  const { shape, lat, lon, time, at } = grid
  const times = range(shape[0])
  const dates = Array.from(time, (days) => new Date(Date.UTC(1850, 0, 1) + days * 86_400_000).toJSON())
  const series = (y, x) => times.map((t) => at(t, y, x))
  const rowAt = (value) => range(shape[1]).sort((a, b) => Math.abs(lat[a] - value) - Math.abs(lat[b] - value))[0]
  /** The grid is one of even meridians: the nearest one is found by rounding. */
  const columnAt = (value) => {
    const step = 360 / shape[2]
    return ((Math.round((value - lon[0]) / step) % shape[2]) + shape[2]) % shape[2]
  }

  await check(`${label}: the series at points, across the seam of longitudes and at the poles`, async () => {
    for (const [y, x] of [
      [52.5, 13.4],
      [-33.9, 151.2],
      [40.7, -74],
      [0, 359.9],
      [0, -0.1],
      [0, 180],
      [0, -180],
      [90, 0],
      [-90, 720.4],
    ]) {
      const { status, answer } = await ask(container, `/point?array=tas&lat=${y}&lon=${x}`)
      const [row, column] = [rowAt(y), columnAt(x)]
      equal([status, answer.array, answer.lat, answer.lon], [200, 'tas', lat[row], lon[column]])
      equal(answer.time, dates)
      nearAll(answer.values, series(row, column))
    }
  })
  await check(`${label}: means over regions, across the seam, of some times, of all cells`, async () => {
    const rows = (from, to) => range(shape[1]).filter((y) => lat[y] >= from && lat[y] <= to)
    const columns = (test) => range(shape[2]).filter((x) => test((lon[x] + 360) % 360))
    for (const [query, ys, xs, ts] of [
      ['lat=45:55&lon=5:15', rows(45, 55), columns((x) => x >= 5 && x <= 15), times],
      ['lat=55:45&lon=350:10', rows(45, 55), columns((x) => x >= 350 || x <= 10), times],
      ['lat=-20:-90&lon=170:-170&time=2005-03:2005-07', rows(-90, -20), columns((x) => x >= 170 && x <= 190), [2, 3, 4, 5, 6]],
      ['lat=-90:90&lon=0:360&time=2005-04', range(shape[1]), range(shape[2]), [3]],
      ['lat=-90:90&lon=-180:180', range(shape[1]), range(shape[2]), times],
    ]) {
      const { status, answer } = await ask(container, `/mean?array=tas&${query}`)
      equal([status, answer.cells.lat, answer.cells.lon], [200, ys.length, xs.length])
      equal(
        answer.time,
        ts.map((t) => dates[t]),
      )
      nearAll(answer.mean, meansOf(grid, ts, ys, xs))
    }
    const { answer } = await ask(container, '/mean?array=tas&lat=-30:30&lon=350:20&per=whole&time=2005-05')
    near(
      answer.mean,
      meansOf(
        grid,
        [4],
        rows(-30, 30),
        columns((x) => x >= 350 || x <= 20),
      )[0],
    )
  })
}

async function checkRefusals() {
  const refused = async (status, message, path, container = 'flipped.af', init = {}) => {
    const { status: actual, answer, headers } = await ask(container, path, init)
    if (actual !== status || !message.test(answer.error)) throw new Error(`${path}: ${actual} ${JSON.stringify(answer)}`)
    equal(headers.get('cache-control'), 'no-store')
  }
  await check('what is wrong with a request is said, with the status that fits', async () => {
    await refused(404, /\/point and \/mean/, '/')
    await refused(405, /GET/, '/point', 'flipped.af', { method: 'POST' })
    await refused(400, /array is missing/, '/point?lat=1&lon=2')
    await refused(400, /lon is missing/, '/point?array=tas&lat=1')
    await refused(400, /lat takes numbers, got 'north'/, '/point?array=tas&lat=north&lon=2')
    await refused(400, /between -90 and 90, not 91/, '/point?array=tas&lat=91&lon=2')
    await refused(400, /lat=10:20/, '/mean?array=tas&lat=5&lon=1:2')
    await refused(400, /between -90 and 90/, '/mean?array=tas&lat=5:95&lon=1:2')
    await refused(404, /no label along lat is from 0\.1 to 0\.2/, '/mean?array=tas&lat=0.1:0.2&lon=1:2')
    await refused(400, /per is step or whole/, '/mean?array=tas&lat=1:9&lon=1:9&per=year')
    for (const time of ['2006', '2005-07:2005-03'])
      await refused(404, /along time/, `/mean?array=tas&lat=1:9&lon=1:9&time=${time}`)
    for (const time of ['-1', 'x', '2005-03:2005-04:2005-05'])
      await refused(400, /is not a time|a date or two/, `/mean?array=tas&lat=1:9&lon=1:9&time=${time}`)
    await refused(404, /no variable of this name.*tas/, '/point?array=pr&lat=1&lon=2')
    await refused(400, /lies on depth, lat, lon/, '/point?array=soil&lat=1&lon=2')
    await refused(400, /no time axis/, '/mean?array=land&lat=1:9&lon=1:9&time=2005')
    await refused(404, /no such file/, '/point?array=tas&lat=1&lon=2', 'nowhere.af')
  })
  await check('arrays without times, and cells without data', async () => {
    const [, land] = [0, await ask('flipped.af', '/point?array=land&lat=1&lon=2')]
    equal([land.status, land.answer.values, land.answer.time], [200, [7], undefined])
    const { lat, lon } = flipped(demoGrid())
    const { answer } = await ask('flipped.af', `/point?array=tas&lat=${lat[5]}&lon=${lon[0]}`)
    equal(
      answer.values.map((value) => value === null),
      range(12).map((t) => t === 3),
    )
    const one = `lat=${lat[5]}:${lat[5]}&lon=${lon[0]}:${lon[0]}`
    equal((await ask('flipped.af', `/mean?array=tas&${one}&time=2005-04`)).answer.mean, [null])
  })
}

async function checkCaching() {
  await check('answers may be cached, and are confirmed by their tag', async () => {
    const path = '/point?array=tas&lat=52.5&lon=13.4'
    const first = await ask('climate.af', path)
    const etag = first.headers.get('etag')
    equal([first.headers.get('cache-control'), first.headers.get('content-type')], ['public, max-age=300', 'application/json'])
    for (const [tag, status] of [
      [etag, 304],
      [`W/${etag}`, 304],
      [`"x", ${etag}`, 304],
      ['"x"', 200],
    ]) {
      const again = await ask('climate.af', path, { headers: { 'if-none-match': tag } })
      equal([again.status, again.headers.get('etag'), again.answer === undefined], [status, etag, status === 304])
    }
    const head = await ask('climate.af', path, { method: 'HEAD' })
    equal([head.status, head.headers.get('etag'), head.answer], [200, etag, undefined])
  })
}

async function checkCost(fileBytes) {
  const chunks = (LARGE.shape[1] / LARGE.chunkShape[1]) * (LARGE.shape[2] / LARGE.chunkShape[2])
  await check('a point of 249 MB reads the footer, the coordinates and one block', async () => {
    const { answer, read } = await ask('large.af', '/point?array=tas&lat=-89.75&lon=30.25')
    equal(
      answer.values,
      LARGE.time.map((t) => LARGE.at(t, 0, 60)),
    )
    equal(read.operations, ['list', 'get', 'head', 'get', 'get'])
    // The end of the file, which may hold more than the footer, and of the blocks about one in so many.
    const most = 64 * 1024 + (2 * fileBytes) / chunks + 16 * 1024
    if (read.bytes > most) throw new Error(`${read.bytes} bytes, more than ${most}`)
  })
  await check('a region of four chunks reads four blocks, also across the seam', async () => {
    const { answer, read } = await ask('large.af', '/mean?array=tas&lat=-80:-70&lon=355:5')
    const rows = range(360).filter((y) => LARGE.lat[y] >= -80 && LARGE.lat[y] <= -70)
    const columns = range(720).filter((x) => LARGE.lon[x] >= 355 || LARGE.lon[x] <= 5)
    nearAll(answer.mean, meansOf(LARGE, LARGE.time, rows, columns))
    equal(read.operations.filter((each) => each === 'get').length <= 2 + 4, true)
  })
  await check('the mean of 249 MB reads each block once, and fits a Worker', async () => {
    const before = peakBytes()
    const { answer, read } = await ask('large.af', '/mean?array=tas&lat=-90:90&lon=0:360')
    const [first] = meansOf(LARGE, [0], range(360), range(720))
    nearAll(
      answer.mean,
      LARGE.time.map((t) => first + t * 2),
    )
    if (read.bytes > fileBytes + 128 * 1024) throw new Error(`${read.bytes} bytes of a file of ${fileBytes}`)
    // Miniflare does not enforce the limit of 128 MB. What all of workerd grows by stays below it.
    if (before !== undefined && peakBytes() - before > 100e6) throw new Error(`memory grew by ${peakBytes() - before} bytes`)
  })
}

async function checkHttp(files) {
  const server = await serve(files)
  try {
    await checkAnswers('over HTTP', server.url('climate.af'), demoGrid())
    await check('over HTTP: a point reads the footer, the coordinates and one block', async () => {
      server.requests = 0
      await ask(server.url('large.af'), '/point?array=tas&lat=-89.75&lon=30.25')
      // The end of the file, whether there is a sidecar, whether the file is still the same, and the block.
      equal(server.requests, 4)
    })
    await check('over HTTP: when the client is gone, no further block is read', async () => {
      server.requests = 0
      await ask(server.url('large.af'), '/mean?array=tas&lat=-90:90&lon=0:360')
      const all = server.requests
      server.delayMs = 100
      const headers = { 'x-container': server.url('large.af') }
      const request = get(new URL('/mean?array=tas&lat=-90:90&lon=0:360', await miniflare.ready), { headers })
      const gone = new Promise((resolve) => request.on('error', resolve))
      const before = server.requests
      await until(() => server.requests >= before + 2)
      // A connection that is merely closed could still be waiting for an answer.
      request.socket.resetAndDestroy()
      await gone
      await pause(200)
      const then = server.requests
      await pause(1000)
      equal(server.requests, then)
      if (then - before >= all) throw new Error(`${then - before} requests, of ${all} that all of it takes`)
    })
  } finally {
    server.close()
  }
}

/** The containers by name, in ranges. */
async function serve(files) {
  const state = { requests: 0, delayMs: 0, url: (name) => `http://127.0.0.1:${server.address().port}/${name}`, close }
  const server = createServer(async (request, response) => {
    const bytes = files[request.url.slice(1)]
    if (bytes === undefined) return response.writeHead(404).end()
    state.requests++
    await pause(state.delayMs)
    if (request.method === 'HEAD') {
      response.writeHead(200, { 'content-length': bytes.length, etag: `"${bytes.length}"` }).end()
      return
    }
    const [, from, to] = /^bytes=(\d*)-(\d*)$/.exec(request.headers.range)
    const start = from === '' ? Math.max(0, bytes.length - Number(to)) : Number(from)
    const end = from === '' ? bytes.length : Math.min(bytes.length, Number(to) + 1)
    const range = `bytes ${start}-${end - 1}/${bytes.length}`
    const headers = { 'content-length': end - start, 'content-range': range, etag: `"${bytes.length}"` }
    response.writeHead(206, headers).end(bytes.subarray(start, end))
  })
  function close() {
    server.close()
    server.closeAllConnections()
  }
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return state
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

async function until(holds) {
  for (let left = 1000; !holds(); left--) {
    if (left === 0) throw new Error('it does not happen')
    await pause(10)
  }
}

/**
 * The most memory that workerd has ever held, in bytes, the simulated bucket included; undefined where the
 * system does not tell.
 */
function peakBytes() {
  if (process.platform !== 'linux') return undefined
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ')
  const workerd = children.find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0].endsWith('/workerd'))
  return Number(/VmHWM:\s*(\d+) kB/.exec(readFileSync(`/proc/${workerd}/status`, 'utf8'))[1]) * 1024
}
