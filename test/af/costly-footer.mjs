/**
 * Opens a container whose footer has the given bytes and is full of the smallest entries of one kind, and
 * prints what that took: `node --expose-gc costly-footer.mjs kind bytes [version]`. A process of its own, so
 * that memory can be told from that of others.
 */
import { MemoryStore, open } from '../../dist/index.js'
import { peakResident } from './peak-resident.mjs'

const [kind, size, version = '5'] = process.argv.slice(2)
const isVersion6 = version === '6'
const ROOT_BYTES = isVersion6 ? 72 : 96
const ARRAY_BYTES = isVersion6 ? 256 : 168
const PAIRS_AT = isVersion6 ? 136 : 152
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
  vec(at + PAIRS_AT, ...pairs)
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
  // Arrays without axes, each with one chunk in the block, which has no bytes.
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
/** A block of one byte, or some of one byte each, which lie one after another. */
const block = (at, number = 0) => {
  view.setUint32(at, number, true)
  view.setUint32(at + 8, number, true)
  view.setUint32(at + 16, 1, true)
  view.setUint32(at + 24, 1, true)
}
/**
 * One value in front of the root, of strings that a list names which fills the rest; the pool has one string.
 */
const STRING = 11
const STRINGS = 24
/** A number of entries that no file has room for. */
const BOUNDLESS = { blocks: 2n ** 40n, strings: 2n ** 32n, values: 2n ** 63n, arrays: 2n ** 53n }

const KINDS_6 = {
  chunks() {
    block(0)
    const count = Math.floor((single - 80) / 36)
    view.setUint32(56, count, true)
    view.setUint32(64, 1, true)
    // The name of the axis lies between its length and the length of its chunks.
    text(72)
    view.setUint32(88, 1, true)
    const coords = 96
    const table = coords + Math.ceil((count * 4) / 8) * 8
    const most = Math.floor((single - table) / 32)
    for (let i = 0; i < most; i++) {
      view.setUint32(coords + 4 * i, i, true)
      vec(table + 32 * i, coords + 4 * i, 1)
      view.setUint32(table + 32 * i + 24, 1, true)
    }
    return { blocks: [0, 1], ...one({ shape: [56, 1], names: [72, 1], chunkShape: [88, 1], chunks: [table, most] }) }
  },
  blocks: () => ({ blocks: entries(56, block) }),
  arrays: () => KINDS.arrays(),
  'arrays with a chunk'() {
    const lists = KINDS['arrays with a chunk']()
    block(0)
    for (let i = 0; i < lists.arrays[1]; i++) view.setUint32(56 + 32 * i + 24, 1, true)
    return lists
  },
  'arrays with statistics'() {
    const lists = KINDS.arrays()
    for (let i = 0; i < lists.arrays[1]; i++) {
      const at = i * ARRAY_BYTES
      // Statistics of a bool array: the name, two bounds that are unsigned integers, and one row.
      payload[at + 152] = 1
      text(at + 160, i)
      for (const bound of [at + 176, at + 208]) {
        payload[bound] = 1
        payload[bound + 8] = 1
        payload[bound + 16] = 1
      }
      payload[at + 248] = 1
    }
    return lists
  },
  strings: () => ({ strings: entries(16, text) }),
  values() {
    text(0)
    const count = Math.floor((root - 16) / 24)
    for (let i = 0; i < count; i++) payload[16 + 24 * i] = STRING
    return { strings: [0, 1], values: [16, count] }
  },
  'string indices'() {
    text(0)
    const at = root - 24
    payload[at] = STRINGS
    vec(at + 8, 16, Math.floor((at - 16) / 4))
    return { strings: [0, 1], values: [at, 1] }
  },
  // One long string, and as many names of it as the file has room for.
  'a long string'() {
    const bytes = Math.floor(root / 2 / 8) * 8
    payload.fill(120, 0, bytes)
    view.setBigUint64(bytes, (BigInt(bytes >> 6) << 8n) | 0x80n | BigInt(bytes & 0x3f), true)
    view.setBigInt64(bytes + 8, BigInt(-bytes), true)
    const at = root - 24
    payload[at] = STRINGS
    vec(at + 8, bytes + 16, Math.floor((at - bytes - 16) / 4))
    return { strings: [bytes, 1], values: [at, 1] }
  },
  // Arrays that all have the same attributes: pairs are the smallest entries.
  attributes() {
    const keys = 1000
    for (let i = 0; i < keys; i++) text(16 * i, i)
    const value = 16 * keys
    const first = value + 24
    const count = Math.floor((root - first) / (8 * keys + ARRAY_BYTES))
    const arrays = first + count * 8 * keys
    for (let i = 0; i < count; i++) {
      const pairs = first + i * 8 * keys
      for (let key = 0; key < keys; key++) view.setUint32(pairs + 8 * key, key, true)
      const none = [pairs, 0]
      array(arrays + i * ARRAY_BYTES, i, 0, { shape: none, names: none, chunkShape: none, chunks: none, pairs: [pairs, keys] })
    }
    return { strings: [0, keys], values: [value, 1], arrays: [arrays, count] }
  },
  'dimension names': () => one({ names: entries(16, text, single) }),
  truths: () => attribute(13, 1),
  binaries: () => attribute(25, 16, (at) => vec(at, 0, 0)),
  ...Object.fromEntries(
    Object.entries(BOUNDLESS).map(([table, count]) => [`boundless ${table}`, () => ({ [table]: [0, count] })]),
  ),
}

const lists = (isVersion6 ? KINDS_6 : KINDS)[kind]()
view.setUint32(root, Number(version), true)
const TABLES = isVersion6
  ? [
      [8, 'blocks', 56],
      [24, 'strings', 16],
      [40, 'values', 24],
      [56, 'arrays', ARRAY_BYTES],
    ]
  : [
      [8, 'blocks', 56],
      [24, 'arrays', ARRAY_BYTES],
      [40, 'keys', 16],
      [56, 'values', 24],
    ]
let last = 0
for (const [place, name, bytes] of TABLES) {
  const [target, count] = lists[name] ?? [Math.ceil(last / 8) * 8, 0]
  vec(root + place, target, count)
  last = Math.min(root, target + Number(count) * bytes)
}
if (!isVersion6) text(root + 80)

const store = new MemoryStore()
const trailer = new Uint8Array(12)
new DataView(trailer.buffer).setBigUint64(0, BigInt(payload.length), true)
trailer.set(new TextEncoder().encode('ARRF'), 8)
// Blocks of version 6 are never empty, and do not overlap.
const data = Buffer.alloc(isVersion6 && !kind.startsWith('boundless') ? (lists.blocks?.[1] ?? 0) : 0)
await store.put('x.af', Buffer.concat([data, payload, trailer]))

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
