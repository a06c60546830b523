// Zstandard blocks: the platform's library, if there is one, and the modules that replace it otherwise.
// Compared with fzstd, which decodes if WebAssembly cannot be compiled, and with libzstd compiled to
// WebAssembly, which encodes at level 1. Node 22.15 or newer covers all of them.

import zlib from 'node:zlib'
import { Zstd } from '@hpcc-js/wasm-zstd'
import { decompress } from 'fzstd'
import { create, MemoryStore, open } from '../../dist/index.js'
import { internals } from '../internals.mjs'
import { climate, MiB, median, report, sized, time } from '../measure.mjs'

const ROUNDS = sized(9, 1)
const LEVEL = 3
const BLOCKS = 4
const BLOCK = sized(8, 1) * MiB

const values = climate((BLOCKS * BLOCK) / 4, 1)
const block = new Uint8Array(values.buffer, 0, BLOCK)
const { parseFrames, decodeFrame, encodeFrame } = await internals('codec/zstd-frames', 'codec/zstd-wasm', 'codec/zstd-encode')
const wasm = await Zstd.load()
const encoded = wasm.compress(block, LEVEL)
const native = typeof zlib.zstdDecompressSync === 'function'
const call = (work) => new Promise((resolve, reject) => work((error, result) => (error ? reject(error) : resolve(result))))

const decoders = {
  fzstd: () => decompress(encoded),
  module: () => decodeFrame(parseFrames(encoded)[0], block.length),
  ...(native && {
    'native, synchronous': () => zlib.zstdDecompressSync(encoded, { chunkSize: block.length + 64 }),
    'native, asynchronous': () => call((done) => zlib.zstdDecompress(encoded, { chunkSize: block.length + 64 }, done)),
  }),
}
/** Contents to encode: a field, the same shuffled, and packed to 16 bits. */
const contents = {
  float32: block,
  'float32, shuffled': block.map((_, i) => block[(i % (BLOCK / 4)) * 4 + Math.floor((4 * i) / BLOCK)]),
  int16: new Uint8Array(Int16Array.from(values.subarray(0, BLOCK / 4), (value) => Math.round(value * 100)).buffer),
}
const encodersOf = (bytes) => ({
  module: () => encodeFrame(bytes),
  '@hpcc-js/wasm-zstd, level 1': () => wasm.compress(bytes, 1),
  ...(native && {
    'native, level 1': () => zlib.zstdCompressSync(bytes, { params: { [zlib.constants.ZSTD_c_compressionLevel]: 1 } }),
  }),
})

/** Returns the milliseconds of each, measured in turn. */
async function timesOf(works) {
  const times = Object.fromEntries(Object.keys(works).map((name) => [name, []]))
  for (let round = -1; round < ROUNDS; round++)
    for (const [name, work] of Object.entries(works)) {
      const spent = await time(work)
      if (round >= 0) times[name].push(spent)
    }
  return times
}

const speed = (bytes, ms) => (bytes / ms / 1e3).toFixed(0)
function print(what, bytes, times) {
  for (const [name, list] of Object.entries(times))
    console.log(
      `${what}, ${name}: ${speed(bytes, median(list))} MB/s (${speed(bytes, Math.max(...list))} to ${speed(bytes, Math.min(...list))})`,
    )
}

console.log(`a block of ${BLOCK / MiB} MiB in ${(encoded.length / MiB).toFixed(2)} MiB, level ${LEVEL}`)
const decoding = await timesOf(decoders)
print('decoding', block.length, decoding)
const encoding = {}
for (const [name, bytes] of Object.entries(contents)) {
  const encoders = encodersOf(bytes)
  encoding[name] = await timesOf(encoders)
  print(`encoding ${name}`, bytes.length, encoding[name])
  const ratios = Object.entries(encoders).map(([each, encode]) => `${each} ${(bytes.length / encode().length).toFixed(3)}`)
  console.log(`ratio of ${name}: ${ratios.join(', ')}`)
}

const store = new MemoryStore()
const options = { codec: 'zstd', level: LEVEL }
async function write(verifyWrites) {
  const file = await create({ store, path: 'a.af' }, { ...options, verifyWrites, overwrite: true })
  await file.createArray('x', { dtype: 'float32', shape: [values.length], chunks: [MiB / 4] }).set(null, values)
  await file.flush()
  await file.close()
}
const writing = await timesOf({ 'written and verified': () => write('foreign'), 'written unverified': () => write(false) })
print(`an array of ${values.byteLength / MiB} MiB`, values.byteLength, writing)
const reading = await timesOf({
  'read whole': async () => {
    const reader = await open({ store, path: 'a.af' })
    await reader.array('x').get()
  },
})
print('the array', values.byteLength, reading)

function judge(name, decoder, least) {
  const ratio = median(decoding.fzstd.map((spent, i) => spent / decoding[decoder][i]))
  report({ suite: 'zstd', name, peer: 'fzstd', ratio, goal: `at least ${least}`, met: ratio >= least })
}
judge('decoding by WebAssembly', 'module', 3)
if (native) judge('native decoding', 'native, asynchronous', 2)
const cost = median(writing['written and verified'].map((spent, i) => spent / writing['written unverified'][i]))
report({ suite: 'zstd', name: 'verified writes', peer: 'unverified', ratio: cost, goal: 'at most 1.5', met: cost <= 1.5 })
for (const [name, bytes] of Object.entries(contents)) {
  const { module, '@hpcc-js/wasm-zstd, level 1': peer } = encoding[name]
  const faster = median(peer.map((spent, i) => spent / module[i]))
  const mostBytes = encodeFrame(bytes).length / wasm.compress(bytes, 1).length
  const fast = bytes.length / median(module) / 1e3 >= 100
  const row = (what, ratio, goal, met) =>
    report({ suite: 'zstd', name: `encoding ${name}${what}`, peer: '@hpcc-js/wasm-zstd', ratio, goal, met })
  row('', faster, 'at least 1, and 100 MB/s', faster >= 1 && fast)
  row(', bytes', mostBytes, 'at most 1.1', mostBytes <= 1.1)
}
