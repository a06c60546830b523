// Zarr stores written by zarr-python, read by this package, zarrita.js, zarr-python and tensorstore (one
// thread each): from the disk, and over HTTP with 20 ms more per request.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createPool, HttpStore, slice } from '../../dist/index.js'
import { openZarr } from '../../dist/zarr.js'
import { inFolder, median, report, sized, time } from '../measure.mjs'
import { loadPeer, peerLabel } from '../peers.mjs'
import { startPython } from '../python.mjs'
import { serve } from '../range-server.mjs'
import { print, sideBySide } from '../side-by-side.mjs'

const SHAPE = [sized(64, 16), 512, 512]
const CHUNKS = [4, 256, 256]
const SHARDS = [SHAPE[0] / 2, 512, 512]
const LATENCY_MS = 20
const HTTP_ROUNDS = sized(5, 1)

/**
 * Codecs by name, as `write` of peers.py knows them, and the required speed of each pattern relative to
 * zarrita.js.
 */
const CODECS = {
  'blosc lz4, shuffled': { all: 3, 'sub-slab': 3, 'stride 2': 8 },
  'blosc zstd, shuffled': {},
  zstd: { all: 2, 'sub-slab': 3, 'stride 2': 2 },
  gzip: { all: 1, 'sub-slab': 3, 'stride 2': 1 },
  'zstd, sharded': {},
}
/** Goals with a pool of two workers. */
const POOL_GOALS = { zstd: 3 }

/** Selectors of each axis: a whole axis, a position, or `[start, stop, step]`. */
const READS = {
  all: [null, null, null],
  'sub-slab': [[5, sized(60, 12), 1], [100, 400, 1], [30, 500, 1]], // biome-ignore format: one line
  'stride 2': [null, null, [0, 512, 2]],
  'point series': [null, 100, 144],
}

const lengthOf = (axis, i) => (axis === null ? SHAPE[i] : typeof axis === 'number' ? 1 : Math.ceil((axis[1] - axis[0]) / axis[2]))
const bytesOf = (read) => 4 * read.reduce((product, axis, i) => product * lengthOf(axis, i), 1)
const selectionOf = (read, slice) => read.map((axis) => (Array.isArray(axis) ? slice(...axis) : axis))

const zarr = await loadPeer('zarrita')
const storage = zarr && (await loadPeer('zarrita', '@zarrita/storage/fs'))
const python = await startPython(['zarr==3.1.6', 'numcodecs==0.16.6', 'numpy==2.4.6'])
const tensorstore = await startPython(['tensorstore==0.1.86', 'numpy==2.4.6'])

const ask = (peer, name) => ({ timed: async (count) => (await peer.ask({ run: name, count })).ms })

/** Returns every file below a folder, by its relative path. */
const filesOf = (folder) =>
  new Map(
    readdirSync(folder, { recursive: true })
      .filter((name) => statSync(join(folder, name)).isFile())
      .map((name) => [`/${name}`, readFileSync(join(folder, name))]),
  )

async function fromDisk(codec, path, pool) {
  const array = await openZarr(path)
  const pooled = await openZarr(path, { pool })
  const peer = zarr && (await zarr.open.v3(new storage.default(path), { kind: 'array' }))
  await python?.ask({ make: 'zarr3_open', name: path, args: { path } })
  await tensorstore?.ask({ make: 'tensorstore_open', name: path, args: { path } })
  for (const [what, read] of Object.entries(READS)) {
    const selection = selectionOf(read, slice)
    const theirs = zarr && (() => zarr.get(peer, selectionOf(read, zarr.slice)))
    if (zarr) {
      const [a, b] = [(await array.get(selection)).data, (await theirs()).data]
      if (a.length !== b.length || a.some((value, i) => value !== b[i]))
        throw new Error(`${codec}, ${what}: the two read different values`)
    }
    const name = `${path} ${what}`
    await python?.ask({ make: 'zarr3_select', name, args: { source: path, read } })
    await tensorstore?.ask({ make: 'tensorstore_select', name, args: { source: path, read, fresh: true } })
    const peers = {
      ...(zarr && { zarrita: theirs }),
      ...(python && { 'zarr (Python)': ask(python, name) }),
      ...(tensorstore && { tensorstore: ask(tensorstore, name) }),
    }
    const options = { rounds: 7, roundMs: 1 }
    const alone = await sideBySide({ ours: () => array.get(selection), ...peers }, options)
    print('zarr', `${codec}, ${what}`, bytesOf(read), alone, { zarrita: CODECS[codec][what] })
    if (what !== 'all') continue
    const both = await sideBySide({ 'ours, two workers': () => pooled.get(selection), ...(zarr && { zarrita: theirs }) }, options)
    print('zarr', `${codec}, ${what}, two workers`, bytesOf(read), both, { zarrita: POOL_GOALS[codec] })
  }
  await mean(codec, path, array, peer)
  await array.close()
  await pooled.close()
}

/** Reduces chunk by chunk with this package; the others have to hold the whole array. */
async function mean(codec, path, array, peer) {
  const name = `${path} mean`
  await python?.ask({ make: 'zarr3_mean', name, args: { source: path } })
  const theirs = async () => {
    const { data } = await zarr.get(peer)
    let sum = 0
    for (let i = 0; i < data.length; i++) sum += data[i]
    return sum / data.length
  }
  const ways = {
    ours: () => array.mean(),
    ...(zarr && { zarrita: theirs }),
    ...(python && { 'zarr (Python)': ask(python, name) }),
  }
  print('zarr', `${codec}, mean`, bytesOf([null, null, null]), await sideBySide(ways, { rounds: 7, roundMs: 1 }), {})
}

/** Opens the array anew for each read, and measures requests, bytes and time. */
async function overHttp(codec, path) {
  const server = await serve(filesOf(path))
  const goal = codec.includes('sharded') ? 0.7 : 1.05
  const openers = {
    ours: async () => {
      const array = await openZarr({ store: new HttpStore(), path: server.origin })
      return (read) => array.get(selectionOf(read, slice))
    },
    ...(zarr && {
      zarrita: async () => {
        const array = await zarr.open.v3(new zarr.FetchStore(server.origin, { useSuffixRequest: true }), { kind: 'array' })
        return (read) => zarr.get(array, selectionOf(read, zarr.slice))
      },
    }),
  }
  for (const [what, read] of Object.entries(READS)) {
    const costs = Object.fromEntries(Object.keys(openers).map((name) => [name, { times: [] }]))
    let first
    for (let round = -1; round < HTTP_ROUNDS; round++)
      for (const [name, opener] of Object.entries(openers)) {
        const get = await opener()
        server.take()
        server.setLatency(round < 0 ? 0 : LATENCY_MS)
        let result
        const ms = await time(async () => {
          result = await get(read)
        })
        server.setLatency(0)
        first ??= result.data
        if (result.data.some((value, i) => value !== first[i]) || !first.some((value) => value > 0))
          throw new Error(`${codec}, ${what}, over HTTP: ${name} reads other values`)
        const cost = server.take()
        if (round < 0) Object.assign(costs[name], cost)
        else costs[name].times.push(ms)
      }
    const shown = Object.entries(costs).map(
      ([name, { requests, bytes, times }]) =>
        `${name} ${requests} requests, ${(bytes / 1024).toFixed(0)} KiB, ${median(times).toFixed(0)} ms`,
    )
    console.log(`${codec}, ${what}, over HTTP: ${shown.join('; ')}`)
    if (zarr === undefined) continue
    const ratio = median(costs.ours.times.map((ms, round) => ms / costs.zarrita.times[round]))
    const requests = costs.ours.requests / costs.zarrita.requests
    const peer = peerLabel('zarrita')
    report({ suite: 'zarr', name: `time of ${codec}, ${what}`, peer, ratio, goal: `at most ${goal}`, met: ratio <= goal })
    report({
      suite: 'zarr',
      name: `requests of ${codec}, ${what}`,
      peer,
      speed: false,
      ratio: requests,
      goal: 'at most 1',
      met: requests <= 1,
    })
  }
  await server.close()
}

if (python === undefined) console.log('not run: zarr-python writes the stores')
else
  await inFolder(async (folder) => {
    const pool = createPool({ size: 2 })
    for (const codec of Object.keys(CODECS)) {
      const path = join(folder, codec.replace(/\W+/g, '-'))
      await python.ask({
        make: 'zarr3_write',
        name: 'written',
        args: { path, shape: SHAPE, chunks: CHUNKS, shards: SHARDS, codec },
      })
      await fromDisk(codec, path, pool)
      await overHttp(codec, path)
    }
    await pool.close()
  })
python?.close()
tensorstore?.close()
