/**
 * Opens a container whose footer has the given bytes and is full of the smallest entries of one kind, and prints what that took:
 * `node --expose-gc costly-footer.mjs kind bytes`. A process of its own, so that memory can be told from that of others.
 */
import { MemoryStore, open } from '../../dist/index.js'
import { peakResident } from './peak-resident.mjs'

const [kind, size] = process.argv.slice(2)
const ROOT_BYTES = 96
const ARRAY_BYTES = 168
const payload = new Uint8Array(Number(size))
const view = new DataView(payload.buffer)
const root = payload.length - ROOT_BYTES

const vec = (at, target, count) => {
  view.setBigInt64(at, BigInt(target - at), true)
  view.setBigUint64(at + 8, BigInt(count), true)
}
/** A short text, which is different for each number. */
const text = (at, number = 0) => {
  payload.fill(0xff, at, at + 16)
  for (let rest = number, place = at; rest > 0; rest = Math.floor(rest / 32)) payload[place++] = 64 + (rest % 32)
}
/** Entries of so many bytes, one after another, from the beginning to `end`. */
const entries = (bytes, write, end = root) => {
  const count = Math.floor(end / bytes)
  for (let i = 0; i < count; i++) write(i * bytes, i)
  return [0, count]
}
/** An array whose lists are empty unless they are given, as place and number of entries, in this order. */
const array = (
  at,
  number,
  end,
  { shape = [0, 0], names = [shape[0], 0], chunkShape = [end, 0], chunks = [end, 0], pairs = [end, 0] } = {},
) => {
  text(at, number)
  vec(at + 40, ...shape)
  vec(at + 56, ...names)
  vec(at + 72, ...chunkShape)
  vec(at + 88, ...chunks)
  vec(at + 152, ...pairs)
}
/** One array, in front of the root. */
const single = root - ARRAY_BYTES
const one = (lists) => {
  array(single, 1, single, lists)
  return { arrays: [single, 1] }
}
/** One attribute of a type, whose list fills the rest. */
const attribute = (type, bytes, write = () => {}) => {
  const at = root - 24
  payload[at] = type
  vec(at + 8, ...entries(bytes, write, at))
  return { values: [at, 1] }
}

const KINDS = {
  // One array, of one axis, with chunks of one block, which come last; all but them are 72 bytes.
  chunks() {
    view.setUint32(56, 2 ** 32 - 1, true)
    view.setUint32(64, 1, true)
    const count = Math.floor((single - 80) / 36)
    const table = 72 + Math.ceil(count / 2) * 8
    for (let i = 0; i < count; i++) {
      view.setUint32(72 + 4 * i, i, true)
      vec(table + 32 * i, 72 + 4 * i, 1)
    }
    return { blocks: [0, 1], ...one({ shape: [56, 1], names: [64, 0], chunkShape: [64, 1], chunks: [table, count] }) }
  },
  blocks: () => ({ blocks: entries(56, (at, i) => view.setUint32(at, i, true)) }),
  arrays: () => ({ arrays: entries(ARRAY_BYTES, (at, i) => array(at, i, 0)) }),
  // Of no axes, each with one chunk of the block, which has no bytes.
  'arrays with a chunk'() {
    const count = Math.floor((root - 56) / (ARRAY_BYTES + 32))
    const first = 56 + 32 * count
    for (let i = 0; i < count; i++) {
      const chunk = 56 + 32 * i
      vec(chunk, chunk, 0)
      const none = [chunk, 0]
      const after = [chunk + 32, 0]
      array(first + i * ARRAY_BYTES, i, 0, { shape: none, names: none, chunkShape: none, chunks: [chunk, 1], pairs: after })
    }
    return { blocks: [0, 1], arrays: [first, count] }
  },
  keys: () => ({ keys: entries(16, text) }),
  values: () => ({ values: entries(24, () => {}) }),
  'dimension names': () => one({ names: entries(16, text, single) }),
  'attribute indices': () => one({ names: [0, 0], chunkShape: [0, 0], chunks: [0, 0], pairs: entries(4, () => {}, single) }),
  truths: () => attribute(13, 1),
  texts: () => attribute(24, 16, text),
  binaries: () => attribute(25, 16, (at) => vec(at, 0, 0)),
}
const lists = KINDS[kind]()
view.setUint32(root, 5, true)
let last = 0
for (const [place, name, bytes] of [
  [8, 'blocks', 56],
  [24, 'arrays', ARRAY_BYTES],
  [40, 'keys', 16],
  [56, 'values', 24],
]) {
  const [target, count] = lists[name] ?? [Math.ceil(last / 8) * 8, 0]
  vec(root + place, target, count)
  last = target + count * bytes
}
text(root + 80)

const store = new MemoryStore()
const trailer = new Uint8Array(12)
new DataView(trailer.buffer).setBigUint64(0, BigInt(payload.length), true)
trailer.set(new TextEncoder().encode('ARRF'), 8)
await store.put('x.af', Buffer.concat([payload, trailer]))

/** Bytes that are in use, of objects and of buffers. */
const used = () => {
  globalThis.gc()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
const before = used()
const peakBefore = peakResident()
const start = performance.now()
let outcome = 'opened'
let file
try {
  file = await open({ store, path: 'x.af' })
} catch (error) {
  outcome = error.tag ?? `${error}`
}
const ms = performance.now() - start
const peak = peakResident() - peakBefore
console.log(JSON.stringify({ outcome, kept: used() - before, peak, ms, arrays: file?.arrays().length ?? 0 }))
