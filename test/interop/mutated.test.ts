import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encodeFooter, encodeFooterFile, withTrailer } from '../../src/af/format/encode.ts'
import { checkFooter, decodeFooter, FOOTER_MAGIC, hasKnownVersion } from '../../src/af/format/footer.ts'
import { STATS_MAGIC } from '../../src/af/format/footer-trailer.ts'
import { refuseVersion } from '../../src/af/format/other-versions.ts'
import { decodeStats, encodeStats } from '../../src/af/format/stats-file.ts'
import { isHyperslabError } from '../../src/core/errors.ts'
import { random } from '../af/rkyv/support.ts'
import { byBudget, seedOf } from '../support/budget.ts'
import { footerOf } from '../support/containers.ts'
import { everything, mutated, payloadsIn } from './mutations.ts'
import { havePeer, Peer } from './peer.ts'
import { Shared } from './shared.ts'
import { histories } from './steps.ts'

/** Number of damaged payloads of each kind. Statistics have a tenth of it. */
const COUNT = byBudget({ quick: 20_000, full: 40_000, soak: 1_000_000 })
const BATCH = 5000
const SEED = seedOf('mutations', 20261121)
/** Memory that damaged footers of some kilobytes may cost at most, all together. */
const MAX_GROWTH_KB = 600 * 1024

/**
 * Messages of this package for footers that it refuses and the crate accepts. The crate fails later, when it
 * reads, or returns wrong values.
 */
const STRICTER = [
  /is more than 2\^53 - 1$/,
  /beyond the \d+ bytes of data in the file$/,
  /beyond the \d+ bytes of block \d+$/,
  /which does not exist$/,
  /has a coordinate of \d+ axes, but the array has \d+$/,
  /coordinates of \d+ axes need \d+ bytes, but \d+ are left/,
  /, but chunk shape \[/,
  /axes, but \d+ dimension names$/,
  /but chunks of length 0$/,
  /has more than 2\^53 elements$/,
  /unknown in footer version 4$/,
]

interface Verdict {
  /** Reason of a refusal; undefined if the bytes are accepted. */
  readonly refusal?: string
  /** Bytes as the crate would read them: it knows one version only. */
  readonly version?: number
}

function verdict<T extends { version: number }>(
  payload: Uint8Array,
  decode: (payload: Uint8Array) => T,
  encode: (value: T) => Uint8Array,
): Verdict {
  try {
    const value = decode(payload)
    // Bytes belong to one object at most, so what was read cannot be larger than what it was read from.
    expect(encode(value).length).toBeLessThanOrEqual(payload.length)
    return { version: value.version }
  } catch (error) {
    if (!isHyperslabError(error, 'FormatError', 'UnsupportedError')) throw error
    return { refusal: error.message }
  }
}

const footerVerdict = (payload: Uint8Array, dataBytes: number): Verdict =>
  verdict(
    payload,
    (bytes) => {
      if (!hasKnownVersion(bytes)) refuseVersion(bytes)
      const footer = decodeFooter(bytes)
      checkFooter(footer, dataBytes)
      return footer
    },
    encodeFooter,
  )

const statsVerdict = (payload: Uint8Array): Verdict =>
  verdict(payload, decodeStats, ({ version, arrays }) => encodeStats(arrays, version))

/** The same bytes with the only version that the crate opens. */
function asVersion5(payload: Uint8Array): Uint8Array {
  const copy = payload.slice()
  if (copy.length >= 96 && copy[copy.length - 96] === 4) copy[copy.length - 96] = 5
  return copy
}

/** Larger ones take longer and show no more. */
const MAX_SEED_BYTES = 6000
/** In front of every payload, so that most blocks of the originals lie in the file. */
const DATA_BYTES = 60_000
const FIXTURES = fileURLToPath(new URL('../fixtures/af/', import.meta.url))

const footerSeeds = (folder: string): Uint8Array[] => payloadsIn(folder, '.af').filter(({ length }) => length <= MAX_SEED_BYTES)
const FOOTERS = [...footerSeeds(FIXTURES), everything(4), everything(5), everything(5)]
const STATISTICS = payloadsIn(FIXTURES, '.stats')

function* damaged(seeds: readonly Uint8Array[], count: number): Generator<Uint8Array> {
  const next = random(SEED)
  for (let i = 0; i < count; i++) yield mutated(seeds[next(seeds.length)]!, seeds, next)
}

const EMPTY_BASE = encodeFooterFile(footerOf([]))

function framed(...files: readonly Uint8Array[]): Uint8Array[] {
  return files.flatMap((file) => [new Uint8Array(Uint32Array.of(file.length).buffer), file])
}

function* batches<T>(items: Iterable<T>): Generator<T[]> {
  let batch: T[] = []
  for (const item of items) {
    batch.push(item)
    if (batch.length < BATCH) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

test('no damaged footer costs more than memory for its own size', () => {
  const before = process.resourceUsage().maxRSS
  let [read, refused] = [0, 0]
  for (const payload of damaged(FOOTERS, COUNT / 4)) {
    if (footerVerdict(payload, DATA_BYTES).refusal === undefined) read++
    else refused++
  }
  for (const payload of damaged(STATISTICS, COUNT / 10)) statsVerdict(payload)
  expect(Math.min(read, refused)).toBeGreaterThan(COUNT / 200)
  expect(process.resourceUsage().maxRSS - before).toBeLessThan(MAX_GROWTH_KB)
})

describe.skipIf(!havePeer)('the Rust crate array-format 0.12 and this package', () => {
  let peer: Peer
  let folder: string
  /** Payloads that both sides have just written. */
  const live: { footers: Uint8Array[]; statistics: Uint8Array[] } = { footers: [], statistics: [] }
  beforeAll(async () => {
    peer = await Peer.start()
    folder = await mkdtemp(join(tmpdir(), 'hyperslab-interop-'))
    for (const sessions of fc.sample(histories, { seed: SEED, numRuns: 12 })) {
      const shared = await Shared.create(peer, 'crate')
      for (const session of sessions) await shared.run(session)
      live.footers.push(...footerSeeds(shared.folder))
      live.statistics.push(...payloadsIn(shared.folder, '.stats'))
      await shared.remove()
    }
  }, 1_800_000)
  afterAll(async () => {
    await peer?.stop()
    await rm(folder, { recursive: true })
  })

  const ask = async (files: readonly Uint8Array[]): Promise<string> => {
    const path = join(folder, 'batch')
    await writeFile(path, Buffer.concat(files))
    return (await peer.do('verdicts', { path })) as string
  }

  test('refuse the same footers, but for what is worse refused later', { timeout: 1_800_000 }, async () => {
    const counts: Record<string, number> = {}
    for (const batch of batches(damaged([...FOOTERS, ...live.footers], COUNT))) {
      const verdicts = await ask(
        batch.flatMap((payload) => framed(withTrailer(asVersion5(payload), FOOTER_MAGIC), new Uint8Array())),
      )
      for (const [i, payload] of batch.entries()) {
        const { refusal } = footerVerdict(payload, DATA_BYTES)
        const kind = `${verdicts[i]} ${refusal === undefined ? 'read' : (STRICTER.find((each) => each.test(refusal)) ?? 'refused')}`
        counts[kind] = (counts[kind] ?? 0) + 1
        const agree =
          kind === 'a read' || kind === 'r refused' || (kind.startsWith('a ') && kind !== 'a refused') || /^r \//.test(kind)
        expect(agree, `${kind}: ${refusal}: ${Buffer.from(payload).toString('base64')}`).toBe(true)
      }
    }
    expect(counts['a read']).toBeGreaterThan(COUNT / 50)
    expect(counts['r refused']).toBeGreaterThan(COUNT / 10)
  })

  test('refuse the same statistics, those without a version apart, which only this package reads', {
    timeout: 1_800_000,
  }, async () => {
    for (const batch of batches(damaged([...STATISTICS, ...live.statistics], COUNT / 10))) {
      const verdicts = await ask(batch.flatMap((payload) => framed(EMPTY_BASE, withTrailer(payload, STATS_MAGIC))))
      for (const [i, payload] of batch.entries()) {
        const { refusal, version } = statsVerdict(payload)
        const expected = refusal === undefined && version === 1 ? 'a' : 'r'
        expect(verdicts[i], `${refusal ?? version}: ${Buffer.from(payload).toString('base64')}`).toBe(expected)
      }
    }
  })
})
