/**
 * Opens a Zarr group whose metadata have the given bytes and are full of the smallest entries of one kind,
 * and prints what that took: `node --expose-gc costly-json.mjs kind bytes`. A process of its own, so that
 * memory can be told from that of others.
 */
import { MemoryStore } from '../../dist/index.js'
import { openZarr } from '../../dist/zarr.js'
import { peakResident } from '../af/peak-resident.mjs'

const [kind, size] = process.argv.slice(2)
const bytes = Number(size)
const ARRAY = '{"zarr_format":2,"shape":[],"chunks":[],"dtype":"|i1","compressor":null,"fill_value":0,"order":"C","filters":null}'
/** As many entries as there is room for, or for the values that documents of so many bytes may have. */
const filled = (make, values = 1) => {
  const entries = []
  let length = 200
  for (let i = 0; i < bytes / 8 / values - 20; i++) {
    const entry = make(i)
    length += entry.length + 1
    if (length > bytes) break
    entries.push(entry)
  }
  return entries.join()
}
const attributes = (text) => ({ '.zgroup': '{"zarr_format":2}', '.zattrs': `{"a":${text}}` })
const consolidated = (members) => ({ '.zmetadata': `{"metadata":{".zgroup":{"zarr_format":2},${members}}}` })
const KINDS = {
  objects: () => attributes(`[${filled(() => '{}', 2)}]`),
  lists: () => attributes(`[${filled(() => '[[0]]', 3)}]`),
  'names that are numbers': () => attributes(`[${filled(() => '{"300":0}', 2)}]`),
  'names of their own': () => attributes(`[${filled((i) => `{"${i.toString(36)}":0}`, 2)}]`),
  names: () => attributes(`{${filled((i) => `"a${i.toString(36)}":0`)}}`),
  'lists in lists': () => attributes(`[${filled(() => '['.repeat(150) + ']'.repeat(150), 151)}]`),
  texts: () => attributes(`[${filled((i) => `"${i.toString(36).padStart(4, 'x')}"`)}]`),
  'integers beyond 2^53': () => attributes(`[${filled((i) => `${2n ** 60n + BigInt(i)}`)}]`),
  'broken groups': () => consolidated(filled((i) => `"${i.toString(36)}/.zgroup":{}`, 2)),
  arrays: () => consolidated(filled((i) => `"${i.toString(36)}/.zarray":${ARRAY}`, 12)),
}

const store = new MemoryStore()
for (const [key, text] of Object.entries(KINDS[kind]())) await store.put(key, new TextEncoder().encode(text))

/** Bytes that are in use, of objects and of buffers. */
const used = () => {
  globalThis.gc()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
const before = used()
const peakBefore = peakResident()
let outcome = 'opened'
let group
try {
  group = await openZarr({ store, path: '' }, { kind: 'group', limits: { metadataBytes: bytes } })
  await group.arrays()
} catch (error) {
  outcome = error.tag ?? `${error}`
}
const peak = peakResident() - peakBefore
console.log(JSON.stringify({ outcome, kept: used() - before, peak, attributes: group?.attrs.size ?? 0 }))
