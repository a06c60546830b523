// LZ4: kernels against the system's liblz4 in the same process, and against npm packages, with bytes as input
// and output.
import { readFileSync } from 'node:fs'
import koffi from 'koffi'
import { KINDS } from '../data.mjs'
import { MiB, report, sized } from '../measure.mjs'
import { loadPeer, peerLabel } from '../peers.mjs'
import { print, sideBySide } from '../side-by-side.mjs'

const SIZES = { '64 KiB': 64 * 1024, '1 MiB': MiB, ...sized({ '8 MiB': 8 * MiB }, {}) }
/** Returns the number of blocks used in turn, so that none stays in caches and predictors. */
const blocksOf = (bytes) => Math.max(2, Math.min(sized(32, 2), (16 * MiB) / bytes))

/** Required speed relative to liblz4's decoder, by kind of data. */
const DECODE_GOALS = {
  climate: 0.95,
  'climate, shuffled': 1.2,
  terrain: 1,
  text: 0.95,
  zeros: 2,
  constants: 2,
  random: 0.95,
}
const PACKAGE_GOALS = { numcodecs: 4, 'lz4-wasm-nodejs': 2, 'lz4-napi': 1.2, lz4js: 6 }

const { instance } = await WebAssembly.instantiate(readFileSync(new URL('../../dist/kernels.wasm', import.meta.url)))
const kernels = instance.exports
const memory = () => new Uint8Array(kernels.memory.buffer)

/** Loads the system's library; undefined if there is none. */
function nativeLz4() {
  try {
    const library = koffi.load('liblz4.so.1')
    return {
      decode: library.func('int LZ4_decompress_safe(const void *src, void *dst, int srcBytes, int dstBytes)'),
      encode: library.func('int LZ4_compress_default(const void *src, void *dst, int srcBytes, int dstBytes)'),
    }
  } catch (error) {
    console.log(`peer not installed: liblz4 (Debian: liblz4-1; ${error.message})`)
    return undefined
  }
}

const put = (bytes) => {
  const pointer = kernels.arenaAlloc(bytes.length)
  memory().set(bytes, pointer)
  return pointer
}

/** Encodes with the kernel; the bytes belong to the caller. */
function encode(block) {
  const mark = kernels.arenaMark()
  const source = put(block)
  const bound = kernels.lz4Bound(block.length)
  const target = kernels.arenaAlloc(bound)
  const packed = memory().slice(target, target + kernels.lz4Encode(source, block.length, target))
  kernels.arenaReset(mark)
  return packed
}

const native = nativeLz4()

/** Compares the algorithms alone, in existing memory. */
async function kernelsAgainstNative(kind, size, bytes) {
  const mark = kernels.arenaMark()
  const blocks = Array.from({ length: blocksOf(bytes) }, (_, i) => KINDS[kind](bytes, i + 1))
  const packed = blocks.map(encode)
  const sources = packed.map(put)
  const target = kernels.arenaAlloc(bytes)
  const state = kernels.arenaAlloc(16)
  const decode = (i) => {
    new Uint32Array(kernels.memory.buffer, state, 2).fill(0)
    const k = i % packed.length
    if (kernels.lz4Decode(sources[k], packed[k].length, target, bytes, state, bytes) >>> 0 !== bytes)
      throw new Error('not decoded')
  }
  const out = Buffer.alloc(bytes)
  const decoders = { ours: decode }
  if (native) decoders.liblz4 = (i) => native.decode(packed[i % packed.length], out, packed[i % packed.length].length, bytes)
  const share = packed.reduce((sum, { length }) => sum + length, 0) / (blocks.length * bytes)
  const goals = size === '64 KiB' ? {} : { liblz4: DECODE_GOALS[kind] }
  print('lz4', `decode ${kind}, ${size} (${(1 / share).toFixed(2)}:1)`, bytes, await sideBySide(decoders), goals)
  if (!native) return kernels.arenaReset(mark)

  const originals = blocks.map(put)
  const bound = kernels.lz4Bound(bytes)
  const room = kernels.arenaAlloc(bound)
  const nativeRoom = Buffer.alloc(bound)
  const encoders = {
    ours: (i) => kernels.lz4Encode(originals[i % blocks.length], bytes, room),
    liblz4: (i) => native.encode(blocks[i % blocks.length], nativeRoom, bytes, bound),
  }
  const theirs = blocks.reduce((sum, block) => sum + native.encode(block, nativeRoom, bytes, bound), 0) / (blocks.length * bytes)
  const real = ['climate', 'climate, shuffled', 'terrain', 'text'].includes(kind)
  const grown = `${(100 * (share / theirs - 1)).toFixed(1)} % larger`
  print(
    'lz4',
    `encode ${kind}, ${size} (${grown})`,
    bytes,
    await sideBySide(encoders),
    size === '1 MiB' && real ? { liblz4: 1 } : {},
  )
  if (size === '1 MiB' && real) {
    const ratio = theirs / share
    const name = `compression of ${kind}, ${size}`
    report({ suite: 'lz4', name, peer: 'liblz4', speed: false, ratio, goal: '>= 0.99', met: ratio >= 0.99 })
  }
  kernels.arenaReset(mark)
}

/** Loads packages that decode a raw block behind its length, unless they need another form. */
async function packages(blocks) {
  const found = {}
  const prefixed = (packed, length) => {
    const out = Buffer.alloc(packed.length + 4)
    out.writeUInt32LE(length)
    out.set(packed, 4)
    return out
  }
  const inputs = blocks.map((block) => prefixed(encode(block), block.length))
  const of = (i) => inputs[i % inputs.length]
  const napi = await loadPeer('lz4-napi')
  if (napi) found['lz4-napi'] = (i) => napi.uncompressSync(of(i))
  const wasm = await loadPeer('lz4-wasm-nodejs')
  if (wasm) found['lz4-wasm-nodejs'] = (i) => wasm.decompress(of(i))
  const js = await loadPeer('lz4js')
  const { decompressBlock, makeBuffer } = js?.default ?? js ?? {}
  if (js)
    found.lz4js = (i) => {
      const out = makeBuffer(blocks[0].length)
      decompressBlock(of(i), out, 4, of(i).length - 4, 0)
      return out
    }
  const numcodecs = await loadPeer('numcodecs', 'numcodecs/lz4')
  if (numcodecs) {
    const codec = numcodecs.default.fromConfig({ id: 'lz4' })
    found.numcodecs = (i) => codec.decode(of(i))
  }
  return { inputs, found }
}

/** Compares complete calls: JavaScript bytes as input, a new array as output. */
async function withBytesInAndOut(kind, size, bytes) {
  const blocks = Array.from({ length: blocksOf(bytes) }, (_, i) => KINDS[kind](bytes, i + 1))
  const { inputs, found } = await packages(blocks)
  const ours = (i) => {
    const mark = kernels.arenaMark()
    const input = inputs[i % inputs.length]
    const source = put(input)
    const target = kernels.arenaAlloc(bytes)
    const state = kernels.arenaAlloc(16)
    new Uint32Array(kernels.memory.buffer, state, 2).fill(0)
    kernels.lz4Decode(source + 4, input.length - 4, target, bytes, state, bytes)
    const out = memory().slice(target, target + bytes)
    kernels.arenaReset(mark)
    return out
  }
  print('lz4', `decode ${kind}, ${size}, bytes in and out`, bytes, await sideBySide({ ours, ...found }), PACKAGE_GOALS)
}

for (const kind of Object.keys(KINDS))
  for (const [size, bytes] of Object.entries(SIZES)) await kernelsAgainstNative(kind, size, bytes)
for (const kind of ['climate', 'text']) await withBytesInAndOut(kind, '1 MiB', MiB)
console.log(`peers: ${Object.keys(PACKAGE_GOALS).map(peerLabel).join(', ')}`)
