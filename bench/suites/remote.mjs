// Reads of a remote array over HTTP: requests, bytes, and time if every request takes 20 ms longer.
// Compared with zarrita.js, which reads the same values in the same chunks from Zarr v3: one object per
// chunk, or all in one shard.
// Node opens as many connections as zarrita requests, this package makes up to 128 requests at a time;
// browsers limit both to six.
import { create, HttpStore, MemoryStore, open, slice, writeImmutable } from '../../dist/index.js'
import { climate, median, report, sized, time } from '../measure.mjs'
import { loadPeer, peerLabel } from '../peers.mjs'
import { serve } from '../range-server.mjs'

const SHAPE = [120, 192, 288]
const CHUNKS = [1, 96, 96]
const CHUNK_BYTES = 4 * 96 * 96
const LATENCY_MS = 20
const ROUNDS = sized(5, 1)
const PATH = '/climate'

/** Selectors of each axis: `null` (a whole axis), a number or `[start, stop]`. */
const READS = {
  point: [60, 100, 144],
  row: [60, 100, null],
  plane: [60, null, null],
  region: [[40, 52], [50, 80], [100, 130]], // biome-ignore format: one line
  series: [null, 100, 144],
  all: [null, null, null],
}

const zarr = await loadPeer('zarrita')
const values = climate(SHAPE.reduce((a, b) => a * b), 7) // biome-ignore format: one line

/** Ways to write the array. */
const WAYS = [
  { name: 'af none', codec: 'none' },
  { name: 'af lz4', codec: 'lz4' },
  { name: 'af lz4, chunk a block', codec: 'lz4', blockBytes: CHUNK_BYTES },
  { name: 'af 6 lz4', codec: 'lz4', immutable: true },
]
if (zarr !== undefined) {
  WAYS.push({ name: 'zarr none', codecs: [] })
  WAYS.push({ name: 'zarr lz4', codecs: ['numcodecs.lz4'] })
  WAYS.push({ name: 'zarr lz4, sharded', codecs: ['numcodecs.lz4'], sharded: true })
}
/** Reported are those with the same compression; the table contains all. */
const OURS = ['af lz4, chunk a block', 'af 6 lz4']
const THEIRS = ['zarr lz4', 'zarr lz4, sharded']

/** Writes the objects of a container. */
async function writeContainer({ codec, blockBytes, immutable }) {
  const store = new MemoryStore()
  const file = await create({ store, path: 'x.af' }, { codec, blockBytes })
  const array = file.createArray('tas', { dtype: 'float32', shape: SHAPE, chunks: CHUNKS })
  await array.set(null, { data: values, shape: SHAPE })
  await file.compact()
  if (immutable) await writeImmutable(file, { store, path: 'y.af' }, { codec, blockBytes })
  const path = immutable ? 'y.af' : 'x.af'
  const { size } = await store.stat(path)
  return new Map([[`${PATH}/x.af`, await store.getRange(path, 0, size)]])
}

const BYTES_CODEC = { name: 'bytes', configuration: { endian: 'little' } }

async function writeZarr({ codecs, sharded }) {
  const store = new Map()
  const named = [BYTES_CODEC, ...codecs.map((name) => ({ name, configuration: {} }))]
  const array = await zarr.create(store, { shape: SHAPE, chunkShape: CHUNKS, dtype: 'float32', codecs: named })
  await zarr.set(array, null, { data: values, shape: SHAPE, stride: [SHAPE[1] * SHAPE[2], SHAPE[2], 1] })
  if (sharded) shard(store, named)
  return new Map([...store].map(([key, bytes]) => [`${PATH}${key}`, bytes]))
}

/**
 * Combines all chunks to one shard, which zarrita reads but does not write: the chunks, then offset and
 * length of each in 64 bits.
 */
function shard(store, codecs) {
  const counts = SHAPE.map((size, axis) => size / CHUNKS[axis])
  const parts = []
  const index = []
  let offset = 0
  for (let chunk = 0; chunk < counts.reduce((a, b) => a * b); chunk++) {
    const [i, j, k] = [Math.floor(chunk / counts[1] / counts[2]), Math.floor(chunk / counts[2]) % counts[1], chunk % counts[2]]
    const key = `/c/${i}/${j}/${k}`
    const bytes = store.get(key)
    store.delete(key)
    index.push(BigInt(offset), BigInt(bytes.length))
    parts.push(bytes)
    offset += bytes.length
  }
  store.set('/c/0/0/0', Buffer.concat([...parts, Buffer.from(BigUint64Array.from(index).buffer)]))
  const metadata = JSON.parse(new TextDecoder().decode(store.get('/zarr.json')))
  metadata.chunk_grid.configuration.chunk_shape = SHAPE
  const configuration = { chunk_shape: CHUNKS, codecs, index_codecs: [BYTES_CODEC], index_location: 'end' }
  metadata.codecs = [{ name: 'sharding_indexed', configuration }]
  store.set('/zarr.json', new TextEncoder().encode(JSON.stringify(metadata)))
}

/** Opens the array, and returns a function that reads it. */
async function openContainer(origin) {
  const file = await open({ store: new HttpStore(), path: `${origin}${PATH}/x.af` })
  const array = file.array('tas', 'float32')
  return async (read) => array.get(read.map((s) => (Array.isArray(s) ? slice(...s) : s)))
}

async function openZarr(origin) {
  // With all of zarrita's options that reduce requests.
  const store = zarr.withRangeCoalescing(new zarr.FetchStore(`${origin}${PATH}`, { useSuffixRequest: true }))
  const array = await zarr.open.v3(store, { kind: 'array' })
  return (read) => zarr.get(array, read.map((s) => (Array.isArray(s) ? zarr.slice(...s) : s))) // biome-ignore format: one line
}

const dataOf = (result) => (typeof result === 'number' ? [result] : result.data)

/** Prepares every way: opened once, with its server. */
async function prepare(way) {
  const ours = way.codec !== undefined
  const openAt = ours ? openContainer : openZarr
  return { name: way.name, openAt, server: await serve(await (ours ? writeContainer(way) : writeZarr(way))), costs: {} }
}

/** Measures one read of an array that was opened for it, or opening it. */
async function costOf({ openAt, server }, read, latency) {
  const get = read === 'open' ? () => openAt(server.origin) : await openAt(server.origin)
  server.take()
  server.setLatency(latency)
  let result
  const ms = await time(async () => {
    result = await get(READS[read])
  })
  server.setLatency(0)
  return { ...server.take(), ms, data: read === 'open' ? [] : dataOf(result) }
}

/** Measures in rounds, one way after another, so that disturbances of the machine affect all. */
async function measure(ways, read) {
  let first
  // The first round counts requests, compares results and warms up.
  for (const way of ways) {
    const { requests, bytes, data } = await costOf(way, read, 0)
    way.costs[read] = { requests, bytes, times: [] }
    first ??= data
    if (data.length !== first.length || data.some((value, i) => value !== first[i]))
      throw new Error(`${read}: ${way.name} and ${ways[0].name} have different values`)
  }
  if (read === 'all' && first.some((value, i) => value !== values[i])) throw new Error('what is read is not what was written')
  for (let round = 0; round < ROUNDS; round++)
    for (const way of ways) way.costs[read].times.push((await costOf(way, read, LATENCY_MS)).ms)
}

function compare(ours, theirs) {
  for (const [read, cost] of Object.entries(ours.costs)) {
    const other = theirs.costs[read]
    const ratios = {
      requests: cost.requests / other.requests,
      bytes: cost.bytes / other.bytes,
      time: median(cost.times.map((ms, round) => ms / other.times[round])),
    }
    for (const [what, ratio] of Object.entries(ratios)) {
      const limit = what === 'time' && read === 'open' ? 1.1 : 1.05
      const peer = `${peerLabel('zarrita')} (${theirs.name})`
      const name = `${what} of ${read} (${ours.name})`
      const speed = what === 'time'
      report({ suite: 'remote', name, peer, speed, ratio, goal: `at most ${limit}`, met: ratio <= limit })
    }
  }
}

const ways = []
for (const way of WAYS) ways.push(await prepare(way))
for (const read of ['open', ...Object.keys(READS)]) await measure(ways, read)
for (const { server } of ways) await server.close()

console.log(`[${SHAPE}] float32 in chunks of [${CHUNKS}]: requests / KiB / ms with ${LATENCY_MS} ms a request`)
console.log(''.padEnd(22) + Object.keys(ways[0].costs).map((read) => read.padStart(19)).join('')) // biome-ignore format: one line
for (const { name, costs } of ways) {
  const cells = Object.values(costs).map(
    ({ requests, bytes, times }) =>
      `${requests} /${(bytes / 1024).toFixed(0).padStart(6)} /${median(times).toFixed(0).padStart(5)}`,
  )
  console.log(name.padEnd(22) + cells.map((cell) => cell.padStart(19)).join(''))
}
if (zarr !== undefined)
  for (const ours of OURS)
    for (const theirs of THEIRS) compare(...[ours, theirs].map((name) => ways.find((way) => way.name === name)))
