// Gain by workers: 256 MiB of float32 in lz4 blocks on disk, read into a given array and averaged, on this
// thread and in pools of one and two workers.
import { join } from 'node:path'
import { create, createPool, open } from '../../dist/index.js'
import { climate, inFolder, MiB, median, report, sized, time } from '../measure.mjs'

const ROUNDS = Number(process.env.ROUNDS ?? sized(9, 1))
const CHUNK = MiB / 4
const CHUNKS = sized(256, 16)

async function write(path) {
  const file = await create(path, { codec: 'lz4' })
  const array = file.createArray('t', { dtype: 'float32', shape: [CHUNKS, CHUNK], chunks: [1, CHUNK] })
  for (let i = 0; i < CHUNKS; i++) await array.set([i], climate(CHUNK, i))
  await file.flush()
  await file.close()
}

async function withFile(path, pool, work) {
  const file = await open(path, pool === undefined ? {} : { pool })
  await work(file.array('t'))
  await file.close()
}

const out = { data: new Float32Array(CHUNKS * CHUNK), shape: [CHUNKS, CHUNK], stride: [CHUNK, 1], offset: 0 }
const JOBS = {
  'read and mean': (array) => array.mean({ ignoreStats: true, skipMissing: false }),
  'get into out': (array) => array.get(null, { out }),
  'mean along axis 0': (array) => array.mean({ axis: 0, ignoreStats: true, skipMissing: false }),
}

await inFolder(async (folder) => {
  const path = join(folder, 'a.af')
  await write(path)
  const one = createPool({ size: 1 })
  const two = createPool({ size: 2 })
  const ways = { inline: undefined, 'a pool of 1': one, 'a pool of 2': two }
  for (const [job, work] of Object.entries(JOBS)) {
    const times = Object.fromEntries(Object.keys(ways).map((way) => [way, []]))
    for (let round = -1; round < ROUNDS; round++) {
      for (const [way, pool] of Object.entries(ways)) {
        const taken = await time(() => withFile(path, pool, work))
        if (round >= 0) times[way].push(taken)
      }
    }
    const speed = (way) => `${way} ${((CHUNKS * MiB) / 1e6 / median(times[way])).toFixed(2)} GB/s`
    const spread = (way) => `${((100 * (Math.max(...times[way]) - Math.min(...times[way]))) / median(times[way])).toFixed(0)} %`
    console.log(
      `${job}: ${Object.keys(ways)
        .map((way) => `${speed(way)} (spread ${spread(way)})`)
        .join(', ')}`,
    )
    for (const peer of ['a pool of 1', 'inline']) {
      const ratio = median(times[peer].map((taken, i) => taken / times['a pool of 2'][i]))
      const goal = job === 'read and mean' ? 1.8 : 1
      report({ suite: 'pool', name: `${job}, a pool of 2`, peer, ratio, goal: `>= ${goal}`, met: ratio >= goal })
    }
  }
  await Promise.all([one.close(), two.close()])
})
