// The container against the Rust crate array-format: the same jobs on the same files, in the page cache, one
// thread each, in turn.
// Jobs are timed inside each process, once it is warm; their results are compared. `JOB=write` runs one of
// them alone, `ROUNDS` sets the number of rounds.
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { create, open } from '../../dist/index.js'
import { startCrate } from '../crate.mjs'
import { climate, inFolder, MiB, median, random, report, sized, time } from '../measure.mjs'

const ROUNDS = Number(process.env.ROUNDS ?? sized(9, 1))
const CHUNK = MiB / 4
const CHUNKS = sized(256, 8)
const SHAPE = [CHUNKS, CHUNK]
const SMALL_CHUNKS = sized(200_000, 2000)
const SMALL = 64
const ELEMENT = SMALL * sized(123_456, 1234) + 7

const next = random(7)
const ROWS = Array.from({ length: sized(1000, 50) }, () => Math.floor(next() * CHUNKS))
const path = (folder) => join(folder, 'a.af')

/** Runs `work` with the array of a file; only the function it returns is timed. */
async function timed(folder, options, work) {
  const file = await open(path(folder), options)
  const result = await check(() => work(file.array('t', 'float32'), file))
  await file.close()
  return result
}

async function check(work) {
  const result = {}
  result.ms = await time(async () => {
    result.check = (await work()) ?? null
  })
  return result
}

/** Jobs of this package: each returns `{ ms, check }`, as the program around the crate does. */
const ours = {
  async open({ folder }) {
    let file
    const result = await check(async () => {
      file = await open(path(folder))
      return file.layers().length
    })
    await file.close()
    return result
  },
  read: ({ folder }) => timed(folder, {}, async (array) => (await array.get()).data[(CHUNKS - 1) * CHUNK]),
  chunks: ({ folder, rows }) =>
    timed(folder, { cacheBytes: 0 }, async (array) => {
      let sum = 0
      for (const row of rows) sum += (await array.get([row])).data[CHUNK - 1]
      return sum
    }),
  async write({ folder, values }) {
    const file = await create(path(folder))
    const result = await check(async () => {
      const array = file.define('t', { dtype: 'float32', shape: SHAPE, chunkShape: [1, CHUNK] })
      await array.set(null, values)
      await file.flush()
    })
    await file.close()
    return result
  },
  compact: ({ folder }) =>
    timed(folder, {}, async (_, file) => {
      await file.compact()
      return file.layers().length
    }),
  async element({ folder, index }) {
    let file
    const result = await check(async () => {
      file = await open(path(folder))
      return file.array('t', 'float32').get([index])
    })
    await file.close()
    return result
  },
}

/**
 * Writes an array as one layer, the same with a second layer that rewrites a chunk of each block, and one of
 * many chunks.
 */
async function writeFiles(root, values) {
  const folders = Object.fromEntries(['whole', 'layers', 'small'].map((name) => [name, join(root, name)]))
  for (const folder of Object.values(folders)) mkdirSync(folder)
  await ours.write({ folder: folders.whole, values })
  cpSync(folders.whole, folders.layers, { recursive: true })
  const layers = await open(path(folders.layers))
  for (let row = 0; row < CHUNKS; row += 8) await layers.array('t').set([row], values.subarray(0, CHUNK))
  await layers.flush()
  await layers.close()
  const small = await create(path(folders.small))
  const array = small.define('t', { dtype: 'float32', shape: [SMALL_CHUNKS * SMALL], chunkShape: [SMALL] })
  await array.set(null, values.subarray(0, SMALL_CHUNKS * SMALL))
  await small.flush()
  await small.close()
  return folders
}

await inFolder(async (root) => {
  const values = climate(CHUNKS * CHUNK, 1)
  const data = join(root, 'values')
  writeFileSync(data, values)
  const { whole, layers, small } = await writeFiles(root, values)
  const scratch = join(root, 'scratch')
  const fresh = (from) => {
    rmSync(scratch, { recursive: true, force: true })
    if (from === undefined) mkdirSync(scratch)
    else cpSync(from, scratch, { recursive: true })
  }
  const jobs = [
    { name: 'open', goal: 1, ask: { do: 'open', folder: whole }, repeats: sized(100, 1) },
    { name: 'full read', goal: 1, ask: { do: 'read', folder: whole } },
    {
      name: `${ROWS.length} random chunks, cold`,
      goal: 0.5,
      ask: { do: 'chunks', folder: whole, rows: ROWS },
      rounds: sized(3, 1),
    },
    { name: 'write and flush', goal: 1, ask: { do: 'write', folder: scratch, data, chunk: CHUNK }, before: () => fresh() },
    { name: 'compact', goal: 1, ask: { do: 'compact', folder: scratch }, before: () => fresh(whole) },
    { name: 'compact, every block changed', goal: 1, ask: { do: 'compact', folder: scratch }, before: () => fresh(layers) },
    {
      name: 'open and one element of 200 000 chunks',
      goal: 0.5,
      ask: { do: 'element', folder: small, index: ELEMENT },
      repeats: sized(10, 1),
    },
  ]
  const only = process.env.JOB
  const crate = await startCrate()
  if (crate === undefined) return
  for (const { name, goal, ask, before, repeats = 1, rounds = ROUNDS } of jobs) {
    if (only !== undefined && ask.do !== only) continue
    const sides = { ours: () => ours[ask.do]({ ...ask, values }), crate: () => crate.run(ask) }
    const times = { ours: [], crate: [] }
    for (let round = -1; round < rounds; round++) {
      const checks = []
      for (const side of round % 2 === 0 ? ['ours', 'crate'] : ['crate', 'ours']) {
        let spent = 0
        globalThis.gc?.()
        for (let i = 0; i < repeats; i++) {
          before?.()
          const { ms, check } = await sides[side]()
          spent += ms / repeats
          checks.push(check)
        }
        if (round >= 0) times[side].push(spent)
      }
      if (checks.some((check) => check !== checks[0])) throw new Error(`${name}: the crate and we differ: ${checks}`)
    }
    const range = (list) => `${median(list).toFixed(1)} ms (${Math.min(...list).toFixed(1)} to ${Math.max(...list).toFixed(1)})`
    console.log(`${name}: here ${range(times.ours)}, the crate ${range(times.crate)}`)
    const ratio = median(times.ours.map((ms, i) => ms / times.crate[i]))
    report({ suite: 'container', name, peer: 'array-format 0.12.0', ratio, goal: `<= ${goal.toFixed(1)}`, met: ratio <= goal })
  }
  await crate.stop()
})
