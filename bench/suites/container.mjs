// The container against the Rust crate array-format: the same jobs on the same files, in the page cache, one
// thread each, in turn.
// Jobs are timed inside each process, once it is warm; their results are compared. `JOB=write` runs one of
// them alone, `ROUNDS` sets the number of rounds, `VERSION=0.15.0`
// selects the jobs against that version of the crate.
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { create, DiskArray, MemoryStore, open, writeImmutable } from '../../dist/index.js'
import { startCrate } from '../crate.mjs'
import { climate, inFolder, MiB, median, random, report, sized, time } from '../measure.mjs'

const ROUNDS = Number(process.env.ROUNDS ?? sized(9, 1))
const CHUNK = MiB / 4
const CHUNKS = sized(256, 8)
const SHAPE = [CHUNKS, CHUNK]
const SMALL_CHUNKS = sized(200_000, 2000)
const SMALL = 64
const ELEMENT = SMALL * sized(123_456, 1234) + 7

/** Arrays of a file of footer version 6 without elements, attributes of each, small arrays with elements. */
const NAMED = sized(100_000, 100)
const ATTRIBUTES = 20
const SMALL_ARRAYS = sized(25_000, 100)

/** Footers of version 5 have a pair of attributes apart from its value, and so more bytes. */
const LARGE = { limits: { footerBytes: 2 ** 30 } }

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
      const array = file.createArray('t', { dtype: 'float32', shape: SHAPE, chunks: [1, CHUNK] })
      await array.set(null, values)
      await file.flush()
    })
    await file.close()
    return result
  },
  async writeImmutable({ folder, values, codec }) {
    const readBlock = ([rows], out) => void out.data.set(values.subarray(rows.start * CHUNK, rows.stop * CHUNK))
    const array = new DiskArray({ dtype: 'float32', shape: SHAPE, chunks: [1, CHUNK], readBlock })
    return check(async () => {
      await writeImmutable({ t: array }, path(folder), { codec })
    })
  },
  async openImmutable({ folder }) {
    let file
    const result = await check(async () => {
      file = await open(path(folder))
      return file.arrays().length
    })
    await file.close()
    return result
  },
  async index({ folder, key }) {
    const file = await open(path(folder))
    const result = await check(() => {
      let found = 0
      for (const [, value] of file.attributeIndex(key)) if (value !== undefined) found++
      return found
    })
    await file.close()
    return result
  },
  async arrays({ folder }) {
    const file = await open(path(folder))
    const names = file.arrays()
    const result = await check(async () => {
      let sum = 0
      for (const name of names) sum += (await file.array(name, 'float32').get()).data[0]
      return sum
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
 * Writes files of footer version 6: an array with and without compression, many arrays with attributes, and
 * many small ones.
 */
async function writeImmutableFiles(root, values) {
  const folders = Object.fromEntries(['lz4', 'none', 'named', 'arrays'].map((name) => [name, join(root, `immutable-${name}`)]))
  for (const folder of Object.values(folders)) mkdirSync(folder)
  for (const codec of ['lz4', 'none']) await ours.writeImmutable({ folder: folders[codec], values, codec })
  const file = await create({ store: new MemoryStore(), path: 'named.af' }, LARGE)
  for (let i = 0; i < NAMED; i++) {
    const { attrs } = file.createArray(`a${i}`, { dtype: 'float32', shape: [8] })
    for (let k = 0; k < ATTRIBUTES; k++) attrs.set(`key${k}`, k % 2 === 0 ? `value ${i % 97}` : i % 89)
  }
  await file.flush()
  await writeImmutable(file, path(folders.named))
  await file.close()
  const small = await create({ store: new MemoryStore(), path: 'small.af' })
  for (let i = 0; i < SMALL_ARRAYS; i++)
    await small.createArray(`a${i}`, { dtype: 'float32', shape: [SMALL] }).set(null, values.subarray(i, i + SMALL))
  await small.flush()
  await writeImmutable(small, path(folders.arrays))
  await small.close()
  return folders
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
  const array = small.createArray('t', { dtype: 'float32', shape: [SMALL_CHUNKS * SMALL], chunks: [SMALL] })
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
  const { lz4, none, named, arrays } = await writeImmutableFiles(root, values)
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
  const now = { version: '0.15.0' }
  const write = { do: 'write', folder: scratch, data, chunk: CHUNK }
  jobs.push(
    { ...now, name: `open ${NAMED} arrays`, goal: 1, ask: { do: 'open', folder: named }, here: 'openImmutable' },
    { ...now, name: `attributeIndex of ${NAMED} arrays`, goal: 1.5, ask: { do: 'index', folder: named, key: 'key7' } },
    { ...now, name: `${SMALL_ARRAYS} small arrays`, goal: 1.5, ask: { do: 'arrays', folder: arrays } },
  )
  for (const [codec, folder] of Object.entries({ lz4, none }))
    jobs.push(
      { ...now, name: `full read, ${codec}`, goal: 0.8, ask: { do: 'read', folder } },
      {
        ...now,
        name: `${ROWS.length} random chunks, ${codec}`,
        goal: 0.8,
        ask: { do: 'chunks', folder, rows: ROWS },
        rounds: sized(3, 1),
      },
      { ...now, name: `write, ${codec}`, goal: 0.8, ask: { ...write, codec }, here: 'writeImmutable', before: () => fresh() },
    )
  const { JOB: only, VERSION: chosen } = process.env
  const crates = new Map()
  for (const version of chosen === undefined ? ['0.12.0', '0.15.0'] : [chosen])
    crates.set(version, await startCrate('bench', version))
  for (const { version = '0.12.0', name: job, goal, ask, here = ask.do, before, repeats = 1, rounds = ROUNDS } of jobs) {
    const crate = crates.get(version)
    if (crate === undefined || (only ?? ask.do) !== ask.do || (chosen ?? version) !== version) continue
    const name = version === '0.12.0' ? job : `version 6: ${job}`
    const sides = { ours: () => ours[here]({ ...ask, values }), crate: () => crate.run(ask) }
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
    report({
      suite: 'container',
      name,
      peer: `array-format ${version}`,
      ratio,
      goal: `<= ${goal.toFixed(1)}`,
      met: ratio <= goal,
    })
  }
  for (const crate of crates.values()) crate?.stop()
})
