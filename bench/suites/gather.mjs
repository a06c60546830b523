// Strided and fancy selections of an uncompressed array in memory, against zarrita.js (slices only) and
// numpy. Also many concurrent slow reads.
import { create, DiskArray, MemoryStore, open, slice } from '../../dist/index.js'
import { climate, random, report, sized, time } from '../measure.mjs'
import { loadPeer } from '../peers.mjs'
import { startPython } from '../python.mjs'
import { print, sideBySide } from '../side-by-side.mjs'
import { viewsOf } from '../views.mjs'

const SHAPE = [64, 512, 512]
const CHUNKS = [8, 128, 256]
const SIZE = SHAPE.reduce((a, b) => a * b)

const next = random(5)
const some = (count, length) => Array.from({ length: count }, () => Math.floor(next() * length))
const sorted = (list) => [...new Set(list)].sort((a, b) => a - b)
/** Selectors of each axis: `null`, a slice or a list of positions. */
const SELECTIONS = {
  'every third column': [null, null, { slice: [0, 512, 3] }],
  'every second of all': [{ slice: [0, 64, 2] }, { slice: [0, 512, 2] }, { slice: [0, 512, 2] }],
  backwards: [null, null, { slice: [511, null, -1] }],
  'a list of rows': [null, sorted(some(100, 512)), null],
  'a list of columns, in any order': [null, null, some(100, 512)],
  'lists on two axes': [null, some(60, 512), sorted(some(60, 512))],
}

const values = climate(SIZE, 3)
const store = new MemoryStore()
const file = await create({ store, path: 'x.af' }, { codec: 'none' })
await file.createArray('x', { dtype: 'float32', shape: SHAPE, chunks: CHUNKS }).set(null, { data: values, shape: SHAPE })
await file.compact()
await file.close()
const array = (await open({ store: await viewsOf(store, 'x.af'), path: 'x.af' })).array('x', 'float32')

const zarr = await loadPeer('zarrita')
let peer
if (zarr) {
  const codecs = [{ name: 'bytes', configuration: { endian: 'little' } }]
  peer = await zarr.create(new Map(), { shape: SHAPE, chunkShape: CHUNKS, dtype: 'float32', codecs })
  await zarr.set(peer, null, { data: values, shape: SHAPE, stride: [SHAPE[1] * SHAPE[2], SHAPE[2], 1] })
}
const python = await startPython(['numpy==2.4.6'])

for (const [name, selection] of Object.entries(SELECTIONS)) {
  const given = selection.map((axis) => (axis === null || Array.isArray(axis) ? axis : slice(...axis.slice)))
  const { shape } = await array.get(given)
  const ways = { ours: () => array.get(given) }
  // zarrita.js supports neither lists nor negative steps.
  if (peer && selection.every((axis) => axis === null || (!Array.isArray(axis) && axis.slice[2] > 0)))
    ways.zarrita = () => zarr.get(peer, selection.map((axis) => axis && zarr.slice(...axis.slice))) // biome-ignore format: one line
  if (python) {
    await python.ask({ make: 'pick', name, args: { shape: SHAPE, selection } })
    ways['numpy, from one piece of memory'] = { timed: async (count) => (await python.ask({ run: name, count })).ms }
  }
  const bytes = 4 * shape.reduce((a, b) => a * b)
  print('gather', name, bytes, await sideBySide(ways, { rounds: 9 }), { zarrita: 5 })
}
python?.close()

const READS = sized(10_000, 1000)
const LATENCY_MS = 64
const AT_A_TIME = 500
let underWay = 0
let most = 0
const slow = new DiskArray({
  dtype: 'float32',
  shape: [2 * READS],
  chunks: [1],
  async readBlock([{ start }], out) {
    most = Math.max(most, ++underWay)
    await new Promise((resolve) => setTimeout(resolve, LATENCY_MS))
    underWay--
    out.data[out.offset] = start
  },
})
const taken = await time(() => slow.get([slice(0, null, 2)], { concurrency: AT_A_TIME }))
const least = (READS / AT_A_TIME) * LATENCY_MS
console.log(`${READS} reads of ${LATENCY_MS} ms, ${most} at a time: ${taken.toFixed(0)} ms; ${READS * LATENCY_MS} ms one by one`)
const ratio = taken / least
report({
  suite: 'gather',
  name: 'slow reads that overlap',
  peer: 'the least there can be',
  ratio,
  goal: '<= 1.25',
  met: ratio <= 1.25,
})
