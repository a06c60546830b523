// A 2 GiB array is written chunk by chunk, flushed, opened and reduced within 300 MB of resident memory.
import { join } from 'node:path'
import { create, open } from '../../dist/index.js'
import { climate, inFolder, MiB, report, sized } from '../measure.mjs'

const CHUNKS = sized(2048, 64)
const LENGTH = MiB / 4
const LIMIT = 300e6

let peak = 0
const watch = setInterval(() => sample(), 5)
function sample() {
  peak = Math.max(peak, process.memoryUsage.rss())
}

await inFolder(async (folder) => {
  const path = join(folder, 'large.af')
  const started = performance.now()
  const file = await create(path)
  const array = file.createArray('x', { dtype: 'float32', shape: [CHUNKS, LENGTH], chunks: [1, LENGTH] })
  const field = climate(LENGTH + CHUNKS, 1)
  let expected = 0
  for (let i = 0; i < CHUNKS; i++) {
    const chunk = field.subarray(i, i + LENGTH)
    await array.set([i], chunk)
    sample()
    if (i % 256 === 0) expected += chunk.reduce((a, b) => a + b, 0)
  }
  await file.flush()
  await file.close()
  const written = performance.now()
  const reader = await open(path)
  const sums = await reader.array('x', 'float32').sum({ axis: 1, ignoreStats: true, skipMissing: false })
  const total = await reader.array('x', 'float32').sum({ ignoreStats: true, skipMissing: false })
  const reduced = performance.now()
  let actual = 0
  for (let i = 0; i < CHUNKS; i += 256) actual += sums.data[i]
  if (Math.abs(actual / expected - 1) > 1e-9) throw new Error(`sums are ${actual}, expected ${expected}`)
  if (Math.abs(sums.data.reduce((a, b) => a + b, 0) / total - 1) > 1e-9)
    throw new Error('the sums of rows do not add up to the whole')
  const { bytes } = reader.layers()[0]
  await reader.close()
  const speed = (ms) => `${(((4 * CHUNKS * LENGTH) / ms) * 1e-6).toFixed(2)} GB/s`
  console.log(
    `${CHUNKS / 1024} GiB in a file of ${(bytes / MiB).toFixed(0)} MiB; written and flushed at ${speed(written - started)}, reduced twice at ${speed((reduced - written) / 2)}`,
  )
})
clearInterval(watch)
sample()
console.log(`peak resident memory ${(peak / 1e6).toFixed(0)} MB`)
report({
  suite: 'memory',
  name: '2 GiB written, flushed and reduced',
  peer: '300 MB of resident memory',
  speed: false,
  ratio: peak / LIMIT,
  goal: 'at most 1',
  met: peak <= LIMIT,
})
