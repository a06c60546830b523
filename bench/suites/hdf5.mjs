// Listing, reads and means of HDF5 files on disk, against h5py with hdf5plugin, and h5wasm. Each call opens
// the file anew, in all of them, because libhdf5 keeps decoded chunks.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openHdf5 } from '../../dist/hdf5.js'
import { createPool, slice } from '../../dist/index.js'
import { climate, inFolder, report, sized, time } from '../measure.mjs'
import { loadPeer } from '../peers.mjs'
import { startPython } from '../python.mjs'
import { print, sideBySide } from '../side-by-side.mjs'

const SHAPE = [sized(60, 3), 180, 360]
const CHUNKS = [1, 90, 180]
const BYTES = 4 * SHAPE.reduce((size, length) => size * length)
const BOX = [null, [40, 60], [100, 140]]
const VARIABLES = 20
/** Chunks of an index that is held whole, with the most bytes and milliseconds that this may take. */
const [MANY, MOST_BYTES, MOST_MS] = [sized(1_000_000, 2000), 24e6, 1000]

/** Required speeds of a whole read, relative to peers, by filter. */
const FILTERS = {
  none: { h5py: 0.8 },
  'deflate, shuffled': { h5wasm: 1.7, h5py: 0.9 },
  zstd: { h5py: 0.8 },
  'blosc lz4': { h5py: 0.8 },
  'bitshuffle lz4': { h5py: 0.8 },
  szip: { h5py: 0.5 },
  nbit: { h5py: 0.5 },
  scaleoffset: { h5py: 0.5 },
  float64: { h5py: 0.8 },
  'float64, big-endian': { h5py: 0.8 },
}
/** Bytes of an element, if they are not four. */
const WIDTHS = { nbit: 2, scaleoffset: 2, float64: 8, 'float64, big-endian': 8 }
/** Filters that h5wasm reads without plug-ins. It returns wrong numbers for some n-bit types. */
const READ_BY_H5WASM = ['none', 'deflate, shuffled', 'float64', 'float64, big-endian']

await inFolder(async (folder) => {
  const packages = ['numpy==2.4.6', 'h5py==3.16.0', 'hdf5plugin==7.1.0', 'netcdf4==1.7.5.1.post1']
  const python = await startPython(packages)
  // In one process with netCDF4, hdf5plugin does not encode Blosc.
  const writer = await startPython(packages)
  if (!python || !writer) return
  const peer = (await loadPeer('h5wasm', 'h5wasm/node'))?.default
  await peer?.ready
  const source = join(folder, 'raw')
  writeFileSync(source, climate(BYTES / 4, 3))
  const make = async (name, args) => {
    await python.ask({ make: name, name: 'made', args })
    return args.path
  }
  const asked = async (name, args) => {
    const label = JSON.stringify([name, args])
    await python.ask({ make: name, name: label, args })
    return { timed: async (count) => (await python.ask({ run: label, count })).ms }
  }
  const ours = (path, name, work, options) => async () => {
    const file = await openHdf5(path, options)
    await work(await file.array(name))
    await file.close()
  }
  const theirs = (path, name, box) => () => {
    const file = new peer.File(path, 'r')
    const dataset = file.get(name)
    const values = box ? dataset.slice(box.map((axis) => axis ?? [])) : dataset.value
    file.close()
    return values
  }
  const selectors = BOX.map((axis) => axis && slice(...axis))

  for (const compressed of [false, true]) {
    const kind = compressed ? 'gzipped' : 'uncompressed'
    const shape = [4, ...SHAPE.slice(1)]
    const path = join(folder, `variables ${kind}.nc`)
    writeFileSync(`${source} of variables`, climate(4 * SHAPE[1] * SHAPE[2], 4))
    // biome-ignore format: one line
    await writer.ask({ make: 'hdf5_variables', name: 'made', args: { path, source: `${source} of variables`, shape, chunks: CHUNKS, variables: VARIABLES, compressed } })
    const ways = {
      ours: async () => {
        const file = await openHdf5(path)
        for (const name of await file.arrays()) {
          const { shape, attrs } = await file.array(name)
          if (!shape || !attrs) throw new Error(`'${name}' has no shape`)
        }
        await file.close()
      },
      h5py: await asked('hdf5_list', { path }),
    }
    if (peer)
      ways.h5wasm = () => {
        const file = new peer.File(path, 'r')
        for (const name of file.keys()) {
          const dataset = file.get(name)
          for (const attribute of Object.values(dataset.attrs)) void [dataset.shape, attribute.value]
        }
        file.close()
      }
    const compared = await sideBySide(ways, { rounds: 15 })
    print('hdf5', `opening and listing ${VARIABLES + 3} variables, ${kind}`, 0, compared, { h5wasm: 2 })
  }
  writer.close()

  const pool = createPool({ size: 2 })
  for (const [kind, goals] of Object.entries(FILTERS)) {
    const path = await make('hdf5_write', { path: join(folder, `${kind}.h5`), source, shape: SHAPE, chunks: CHUNKS, kind })
    const bytes = (BYTES / 4) * (WIDTHS[kind] ?? 4)
    const whole = ours(path, 't', (array) => array.get())
    const compare = async (what, work, args, goals, box) => {
      const ways = { ours: work, h5py: await asked('hdf5_read', { path, name: 't', read: [null], mean: false, ...args }) }
      if (peer && READ_BY_H5WASM.includes(kind) && !args.mean) ways.h5wasm = theirs(path, 't', box)
      print(
        'hdf5',
        `${kind}, ${what}`,
        box ? (bytes / SHAPE[1] / SHAPE[2]) * 800 : bytes,
        await sideBySide(ways, { rounds: 9 }),
        goals,
      )
    }
    await compare('all', whole, {}, goals)
    if (kind !== 'none' && kind !== 'deflate, shuffled') continue
    const [before, started] = [process.cpuUsage(), performance.now()]
    for (let i = 0; i < 4; i++) await whole()
    const { user, system } = process.cpuUsage(before)
    const cpu = `CPU time ${((user + system) / 4000).toFixed(0)} ms`
    console.log(`${kind}, all without a pool: ${cpu}, wall time ${((performance.now() - started) / 4).toFixed(0)} ms`)
    const byTwo = ours(path, 't', (array) => array.get(), { pool })
    await compare('all with two workers', byTwo, {}, kind === 'none' ? {} : { h5wasm: 2.4 })
    const slab = ours(path, 't', (array) => array.get(selectors))
    await compare('a slab of all time steps', slab, { read: BOX }, { h5wasm: 2 }, BOX)
    await compare(
      'mean',
      ours(path, 't', (array) => array.mean()),
      { mean: true },
      { h5py: 1 },
    )
  }

  for (const [what, bounds] of [
    ['a B-tree', 'earliest'],
    ['an extensible array', 'latest'],
  ]) {
    const path = await make('hdf5_many', { path: join(folder, `many ${bounds}.h5`), count: MANY, bounds })
    await locateAll(what, path)
  }
  await pool.close()
  python.close()
})

/** Finds all chunks of an index of a file on disk, and reports the time and the memory that stays. */
async function locateAll(what, path) {
  const file = await openHdf5(path)
  const { index } = await file.array('t')
  await index.load([0])
  const before = heldBytes()
  const ms = await time(() => index.load(Array.from({ length: MANY }, (_, i) => i)))
  const bytes = heldBytes() - before
  await file.close()
  const name = `${what} of ${MANY} chunks`
  console.log(`${name}: found in ${ms.toFixed(0)} ms, ${(bytes / 1e6).toFixed(1)} MB stay`)
  const row = { suite: 'hdf5', speed: false, goal: 'at most 1' }
  report({ ...row, name: `time of ${name}`, peer: `${MOST_MS} ms`, ratio: ms / MOST_MS, met: ms <= MOST_MS })
  report({
    ...row,
    name: `memory of ${name}`,
    peer: `${MOST_BYTES / 1e6} MB`,
    ratio: bytes / MOST_BYTES,
    met: bytes <= MOST_BYTES,
  })
}

/** Returns the bytes of memory that are in use. */
function heldBytes() {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
