/**
 * Opens a container and reads one element of its array `x`, or its statistics, and prints what that took:
 * `node --expose-gc costly-read.mjs path element|stats`. A process of its own, so that memory can be told
 * from that of others.
 */
import { open } from '../../dist/index.js'
import { peakResident } from './peak-resident.mjs'

const [path, what] = process.argv.slice(2)
/** Bytes that are in use, of objects and of buffers. */
const used = () => {
  for (let left = 3; left > 0; left--) globalThis.gc()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
const file = await open(path, { cacheBytes: 0 })
const before = used()
const peakBefore = peakResident()
const read = what === 'stats' ? file.stats('x') : file.array('x').get([0])
const outcome = await read.then(
  () => 'read',
  (error) => error.tag ?? `${error}`,
)
const peak = peakResident() - peakBefore
console.log(JSON.stringify({ outcome, kept: used() - before, peak, blocks: file.readCost.blocks }))
