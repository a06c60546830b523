/**
 * Opens all containers of a folder, one after another, reads their arrays, and prints what that took at most:
 * `node --expose-gc costly-folder.mjs folder idle.af`. The file `idle.af` is opened first, so that code and
 * kernels are loaded before. A process of its own, so that memory can be told from that of others.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { open } from '../../dist/index.js'
import { peakResident } from './peak-resident.mjs'

const [folder, idle] = process.argv.slice(2)
/** Opens and reads a file; returns `read`, or the tag of the error. */
async function outcomeOf(path) {
  let file
  try {
    file = await open(path, { cacheBytes: 0 })
    for (const name of file.arrays()) await file.array(name).get()
    return 'read'
  } catch (error) {
    return error.tag ?? `${error}`
  } finally {
    await file?.close()
  }
}
await outcomeOf(idle)
globalThis.gc()
const before = peakResident()
const outcomes = {}
for (const name of readdirSync(folder).filter((each) => each.endsWith('.af'))) {
  const outcome = await outcomeOf(join(folder, name))
  outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
}
console.log(JSON.stringify({ outcomes, peak: peakResident() - before }))
