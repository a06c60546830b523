import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { withTrailer } from '../../src/af/format/encode.ts'
import { encodeFooter6 } from '../../src/af/format/encode-v6.ts'
import { FOOTER_MAGIC, type Footer } from '../../src/af/format/footer.ts'
import { readFooter } from '../../src/af/format/read-footer.ts'
import { splitFile } from '../../src/af/format/stats-file.ts'
import { isHyperslabError } from '../../src/core/errors.ts'
import { local, planJob } from '../../src/runtime/cluster.ts'
import { create, open, verify } from '../../src/runtime/index.ts'
import { random } from '../af/rkyv/support.ts'
import { byBudget, seedOf } from '../support/budget.ts'
import { type Description, describeFile, description } from './judge.ts'
import { mutated } from './mutations.ts'
import { type Answer, Peer, type PeerArray } from './peer.ts'
import { type Arrays, writeHere, writeInCrate, writeSteps } from './programs.ts'
import { programs } from './steps.ts'

const havePeer = inject('immutablePort') !== undefined
const RUNS = byBudget({ quick: 60, full: 300, soak: 3000 })
/** Least number of damaged footers to compare. Batches continue until the time is over. */
const COUNT = byBudget({ quick: 2000, full: 10_000, soak: 1_000_000 })
const MUTATION_MS = 20_000
const SEED = seedOf('immutable', 20_261_126)
const BATCH = 2000
/** In front of every payload, so that blocks of the originals lie in the file. */
const DATA_BYTES = 60_000
const MAX_SEED_BYTES = 12_000
const MOST_FILES = 200

/**
 * Messages of this package for files that it refuses to open. The crate refuses them later, when it reads, or
 * never.
 */
const STRICTER = [
  /beyond the \d+ bytes of data in the file$/,
  /beyond the \d+ bytes of block \d+$/,
  /which does not exist$/,
  /has a coordinate of \d+ axes, but the array has \d+$/,
  /coordinates of \d+ axes need \d+ bytes, but \d+ are left/,
  /, but chunk shape \[/,
  /axes, but \d+ dimension names$/,
  /but chunks of length 0$/,
  /has chunks of length 0, expected 1 or more$/,
  /has more than 2\^53 elements$/,
  /is more than 2\^53 - 1$/,
  /but the ids of blocks are their positions$/,
  /block \d+ is empty: it has 0 bytes$/,
  /block \d+ is stored as it is, with \d+ bytes, but claims \d+$/,
  /blocks \d+ and \d+ overlap/,
  /lies outside the grid of/,
  /is listed twice$/,
  /its chunks are not sorted/,
  /bytes, but its \d+ elements take \d+$/,
  /fewer than the offsets of its \d+ elements take$/,
  /its statistics (are those of|count|have a bound of kind)/,
  /attribute '.*' has two values$/s,
  /nested more than \d+ deep/,
]

const FIXTURES = fileURLToPath(new URL('../fixtures/af6/', import.meta.url))

/** The payloads of the first files of a folder. */
const payloadsAt = (folder: string): Uint8Array[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.af'))
    .slice(0, MOST_FILES)
    .map((name) => splitFile(new Uint8Array(readFileSync(join(folder, name))), FOOTER_MAGIC).payload)

type PeerFile = readonly (Omit<PeerArray, 'attributes'> & { readonly attributes: readonly [string, unknown][] })[]

/**
 * Converts the crate's description of an array into the words of the model. Attributes come in the order of
 * all keys of the file.
 */
function describedByCrate({ values, attributes, ...rest }: PeerFile[number]): Description {
  const { chunks: _, ...own } = rest as typeof rest & { chunks: unknown }
  return { ...own, values: (values as Answer).ok ?? values, attributes: Object.fromEntries(attributes) }
}

/**
 * Reads the footer in a payload here. Damage can make a payload one of an older version, which this package
 * reads and crate 0.15 refuses.
 */
async function verdict(payload: Uint8Array): Promise<{ readonly refusal?: string; readonly version?: number }> {
  try {
    const footer: Footer = await readFooter(payload, DATA_BYTES, 64)
    if (footer.version === 6) expect(encodeFooter6(footer).length).toBeGreaterThan(0)
    return { version: footer.version }
  } catch (error) {
    if (!isHyperslabError(error, 'FormatError', 'UnsupportedError')) throw error
    return { refusal: error.message }
  }
}

describe.skipIf(!havePeer)('the Rust crate array-format 0.15 and this package', () => {
  let peer: Peer
  let folder: string
  beforeAll(async () => {
    console.log(`HYPERSLAB_SEED=${SEED}`)
    peer = await Peer.start(inject('immutablePort'))
    folder = await mkdtemp(join(tmpdir(), 'hyperslab-immutable-'))
  }, 900_000)
  afterAll(async () => {
    await peer?.stop()
    await rm(folder, { recursive: true })
  })

  const dumped = async (): Promise<Description[]> => ((await peer.do('dump')) as PeerFile).map(describedByCrate)

  /** Compares what both sides read of a file with what was written. */
  async function judge(file: string, arrays: Arrays): Promise<void> {
    const expected = [...arrays.values()].map(description)
    await using own = await open(join(folder, file))
    expect(await describeFile(own, arrays), 'this package').toEqual(expected)
    await peer.do('open', { folder, file })
    expect(await dumped(), 'the crate').toEqual(expected)
  }

  test('read the same of what this package writes, and the crate copies it', { timeout: 1_800_000 }, async () => {
    let number = 0
    await fc.assert(
      fc.asyncProperty(programs, async (program) => {
        const file = `ours-${number++}.af`
        const arrays = await writeHere(program, join(folder, file))
        await judge(file, arrays)
        // Blocks that only this package reads are passed over.
        await peer.do('create', { codec: 'lz4' })
        await peer.do('copy')
        await peer.do('finish', { folder, file: 'copy.af' })
        await judge('copy.af', arrays)
      }),
      { numRuns: RUNS, seed: SEED },
    )
  })

  test('read the same of what jobs write in parts', { timeout: 1_800_000 }, async () => {
    let number = 0
    await fc.assert(
      fc.asyncProperty(programs, fc.integer({ min: 1, max: 300 }), async (program, taskBytes) => {
        const [file, location] = [`parts-${number++}.af`, join(folder, 'source.af')]
        const { codec, blockBytes } = program
        await using source = await create(location, { overwrite: true })
        const arrays = await writeSteps(program, source)
        await source.flush()
        // A scalar of this name is no array.
        fc.pre(arrays.size > 0 && source.arrays().length === arrays.size)
        const recipes = Object.fromEntries([...arrays.keys()].map((array) => [array, { location, array }]))
        const options = { codec, blockBytes, immutable: true }
        const operation = { method: 'copy', source: { arrays: recipes }, target: join(folder, file), options } as const
        await local().run(await planJob(operation, { taskBytes }))
        await peer.do('open', { folder, file })
        const [read, expected] = [await dumped(), [...arrays.values()].map(description)]
        // Jobs write elements that the source lacks, which therefore count in their statistics.
        expect(read).toEqual(expected.map((each, i) => ({ ...each, stats: read[i]!.stats })))
        await using own = await open(join(folder, file))
        expect(await describeFile(own, arrays)).toEqual(read)
        // The crate computes statistics anew.
        await peer.do('create', { codec: 'lz4' })
        await peer.do('copy')
        await peer.do('finish', { folder, file: 'copy.af' })
        expect(await dumped()).toEqual(read)
      }),
      { numRuns: Math.ceil(RUNS / 4), seed: SEED },
    )
  })

  test('read the same of what the crate writes', { timeout: 1_800_000 }, async () => {
    let number = 0
    await fc.assert(
      fc.asyncProperty(programs, async (program) => {
        const file = `theirs-${number++}.af`
        const arrays = await writeInCrate(program, peer, { folder, file })
        await judge(file, arrays)
        expect((await verify(join(folder, file), { deep: true })).findings).toEqual([])
      }),
      { numRuns: RUNS, seed: SEED },
    )
  })

  test('refuse the same damaged footers, but for errors that are found later or never', { timeout: 1_800_000 }, async () => {
    const seeds = [...payloadsAt(FIXTURES), ...payloadsAt(folder)].filter(({ length }) => length <= MAX_SEED_BYTES)
    const next = random(SEED)
    const counts: Record<string, number> = {}
    const end = Date.now() + MUTATION_MS
    for (let done = 0; done < COUNT || Date.now() < end; done += BATCH) {
      const batch = Array.from({ length: BATCH }, () => mutated(seeds[next(seeds.length)]!, seeds, next))
      const path = join(folder, 'batch')
      const files = batch.map((payload) => Buffer.concat([new Uint8Array(DATA_BYTES), withTrailer(payload, FOOTER_MAGIC)]))
      await writeFile(path, Buffer.concat(files.flatMap((file) => [new Uint8Array(Uint32Array.of(file.length).buffer), file])))
      const verdicts = (await peer.do('verdicts', { path })) as string
      for (const [i, payload] of batch.entries()) {
        const { refusal, version } = await verdict(payload)
        const read = version === 6 ? 'read' : 'read as an older version'
        const kind = `${verdicts[i]} ${refusal === undefined ? read : (STRICTER.find((each) => each.test(refusal)) ?? 'refused')}`
        counts[kind] = (counts[kind] ?? 0) + 1
        const agree = ['a read', 'r refused', 'r read as an older version'].includes(kind) || /^[ar] \//.test(kind)
        expect(agree, `${kind}: ${refusal}: ${Buffer.from(payload).toString('base64')}`).toBe(true)
      }
    }
    expect(counts['a read']).toBeGreaterThan(0)
    expect(counts['r refused']).toBeGreaterThan(0)
  })
})
