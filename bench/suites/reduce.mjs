// Reductions of a whole array of lz4 data, against reading it, which decodes and copies it, and against plain
// loops over data in memory.
import { create, MemoryStore, open } from '../../dist/index.js'
import { climate, MiB, median, report, sized, time } from '../measure.mjs'

const LENGTH = sized(32, 4) * MiB
const CHUNK = MiB
const ROUNDS = sized(9, 1)

const store = new MemoryStore()
const file = await create({ store, path: 'a.af' }, { codec: 'lz4' })
const data = climate(LENGTH, 1)
await file.createArray('t', { dtype: 'float32', shape: [LENGTH], chunks: [CHUNK] }).set(null, data)
await file.flush()
await file.close()

const loops = {
  sum: () => {
    let sum = 0
    for (let i = 0; i < data.length; i++) sum += data[i]
    return sum
  },
  mean: () => loops.sum() / data.length,
  min: () => {
    let least = Number.POSITIVE_INFINITY
    for (let i = 0; i < data.length; i++) if (data[i] < least) least = data[i]
    return least
  },
  variance: () => {
    const mean = loops.mean()
    let squares = 0
    for (let i = 0; i < data.length; i++) squares += (data[i] - mean) ** 2
    return squares / data.length
  },
}

// Opens the file anew each time, so that no block is decoded already.
const fresh = async (work) => {
  const opened = await open({ store, path: 'a.af' })
  try {
    return await work(opened.array('t', 'float32'))
  } finally {
    await opened.close()
  }
}

const out = { data: new Float32Array(LENGTH), shape: [LENGTH], stride: [1], offset: 0 }
const decode = () => fresh((array) => array.get(null, { out }))
for (const kind of Object.keys(loops)) {
  const reduce = () => fresh((array) => array[kind]({ skipMissing: false }))
  const [found, expected] = [await reduce(), loops[kind]()]
  if (Math.abs(found - expected) > 1e-6 * Math.abs(expected)) throw new Error(`${kind} is ${found}, not ${expected}`)
  const [toDecode, toLoop] = [[], []]
  for (let round = 0; round < ROUNDS; round++) {
    const read = await time(decode)
    // Garbage of reading must not be collected in the time of the reduction.
    globalThis.gc?.()
    const [reduced, loop] = [await time(reduce), await time(async () => loops[kind]())]
    toDecode.push(reduced / read)
    toLoop.push(reduced / loop)
  }
  console.log(`${kind} takes ${median(toLoop).toFixed(2)} of a plain loop over elements in memory, decoding included`)
  const goal = kind === 'variance' ? 2.5 : 1.25
  const ratio = median(toDecode)
  report({
    suite: 'reduce',
    name: `${kind} of ${(4 * LENGTH) / MiB} MiB of lz4 float32`,
    peer: 'reading it into memory that is there',
    ratio,
    goal: `at most ${goal}`,
    met: ratio <= goal,
  })
}
