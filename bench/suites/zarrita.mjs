// Whole reads from memory, including all steps: this package from a container; zarrita.js, zarr for Python
// and tensorstore (one thread) from Zarr with the same values and chunks.
import { create, MemoryStore, open, slice } from '../../dist/index.js'
import { climate, sized } from '../measure.mjs'
import { loadPeer } from '../peers.mjs'
import { startPython } from '../python.mjs'
import { print, sideBySide } from '../side-by-side.mjs'
import { viewsOf } from '../views.mjs'

const SHAPE = [sized(64, 16), 512, 512]
const CHUNKS = [8, 128, 256]
const SIZE = SHAPE.reduce((a, b) => a * b)
const values = climate(SIZE, 3)

/** Selectors of each axis: `null` or `[start, stop, step]`. */
const READS = {
  all: [null, null, null],
  'sub-slab': [[5, sized(60, 12), 1], [100, 400, 1], [30, 500, 1]], // biome-ignore format: one line
  'stride 2': [null, null, [0, 512, 2]],
}
const shapeOf = (read) => read.map((axis, i) => (axis === null ? SHAPE[i] : Math.ceil((axis[1] - axis[0]) / axis[2])))
/** Required speed relative to zarrita.js, by codec and kind of read; into `out` only without a codec. */
const GOALS = {
  lz4: { all: 5, 'sub-slab': 6, 'stride 2': 12 },
  none: { all: 2.5, 'stride 2': 25 },
}
const PYTHON_GOALS = { lz4: 1, none: 1.3 }

const zarr = await loadPeer('zarrita')
const python = await startPython(['zarr==2.18.7', 'numcodecs==0.15.1', 'numpy==2.4.6'])
const tensorstore = await startPython(['tensorstore==0.1.86', 'numpy==2.4.6'])

async function ours(codec) {
  const store = new MemoryStore()
  const file = await create({ store, path: 'x.af' }, { codec })
  await file.createArray('x', { dtype: 'float32', shape: SHAPE, chunks: CHUNKS }).set(null, { data: values, shape: SHAPE })
  await file.compact()
  await file.close()
  const opened = await open({ store: await viewsOf(store, 'x.af'), path: 'x.af' }, { cacheBytes: 0 })
  return opened.array('x', 'float32')
}

async function zarrita(codec) {
  const bytes = { name: 'bytes', configuration: { endian: 'little' } }
  const codecs = codec === 'none' ? [bytes] : [bytes, { name: 'numcodecs.lz4', configuration: {} }]
  const array = await zarr.create(new Map(), { shape: SHAPE, chunkShape: CHUNKS, dtype: 'float32', codecs })
  await zarr.set(array, null, { data: values, shape: SHAPE, stride: [SHAPE[1] * SHAPE[2], SHAPE[2], 1] })
  return array
}

const tensorOf = (shape) => ({
  data: new Float32Array(shape.reduce((a, b) => a * b)),
  shape,
  stride: shape.map((_, axis) => shape.slice(axis + 1).reduce((a, b) => a * b, 1)),
  offset: 0,
})

async function compare(codec) {
  const [array, peer] = [await ours(codec), zarr && (await zarrita(codec))]
  const name = `zarr ${codec}`
  const layout = { shape: SHAPE, chunks: CHUNKS, codec }
  await python?.ask({ make: 'zarr_read', name, args: layout })
  await tensorstore?.ask({ make: 'tensorstore_read', name, args: layout })
  for (const [what, read] of Object.entries(READS)) {
    const selection = read.map((axis) => axis && slice(...axis))
    const out = tensorOf(shapeOf(read))
    const bytes = 4 * out.data.length
    const get = zarr && (() => zarr.get(peer, read.map((axis) => axis && zarr.slice(...axis)))) // biome-ignore format: one line
    if (zarr) {
      const [a, b] = [(await array.get(selection)).data, (await get()).data]
      if (a.length !== b.length || a.some((value, i) => value !== b[i])) throw new Error(`${what}: the two read different values`)
    }
    const ask = (python, name) => python && { timed: async (count) => (await python.ask({ run: name, count })).ms }
    for (const kind of ['fresh', 'into']) {
      const args = { source: name, read, fresh: kind === 'fresh' }
      await tensorstore?.ask({ make: 'tensorstore_select', name: `${name} ${what} ${kind}`, args })
    }
    const inTensorstore = (kind) => tensorstore && { tensorstore: ask(tensorstore, `${name} ${what} ${kind}`) }
    const ways = { ours: () => array.get(selection), ...(zarr && { zarrita: get }), ...inTensorstore('fresh') }
    const fresh = await sideBySide(ways, { rounds: 11 })
    print('zarrita', `${codec}, ${what}`, bytes, fresh, { zarrita: GOALS[codec][what] })
    const selected = `${name} ${what}`
    await python?.ask({ make: 'zarr_select', name: selected, args: { source: name, read } })
    const into = {
      ours: () => array.get(selection, { out }),
      ...(zarr && { zarrita: get }),
      ...(python && { 'zarr (Python)': ask(python, selected) }),
      ...inTensorstore('into'),
    }
    const goals = { 'zarr (Python)': PYTHON_GOALS[codec], ...(codec === 'none' && what === 'all' && { zarrita: 5 }) }
    print('zarrita', `${codec}, ${what}, into out`, bytes, await sideBySide(into, { rounds: 11 }), goals)
  }
}

try {
  for (const codec of ['lz4', 'none']) await compare(codec)
} finally {
  python?.close()
  tensorstore?.close()
}
