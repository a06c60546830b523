import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openHdf5 } from '../../../src/runtime/hdf5.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { byBudget, seedOf } from '../../support/budget.ts'
import { collectTags, readDamagedFiles } from '../../support/damaged.ts'
import { FORMATS, readOracle, walkFile } from './support.ts'

/** Damaged files; further ones are made until the time is over. */
const COUNT = byBudget({ quick: 300, full: 1000, soak: 1_000_000 })
const MUTATION_MS = byBudget({ quick: 2000, full: 20_000, soak: 0 })
const SEED = seedOf('hdf5 mutations', 20_261_127)
const MAX_SEED_BYTES = 64 * 1024
/** Elements up to which an array of a damaged file is read. */
const MOST_ELEMENTS = 100_000
/** Limits of one damaged file: bytes that are fetched, as multiples of the file, requests, and time. */
const MOST_FETCHED = 400
const MOST_REQUESTS = 3000
const MOST_MS = 10_000

/** Tags of errors of damaged files. */
const TAGS = ['FormatError', 'UnsupportedError', 'IntegrityError', 'CodecError', 'TooLargeError'] as const

type Next = (limit: number) => number

/** Damages a file: flipped bits, other bytes, copied ranges, a cut end, or lengths of all ones. */
function damage(file: Uint8Array, next: Next): Uint8Array {
  let bytes = file.slice()
  for (let times = 1 + next(3); times > 0; times--) {
    const at = next(bytes.length)
    const kind = next(6)
    if (kind === 0) bytes[at]! ^= 1 << next(8)
    else if (kind === 1) bytes[at] = next(256)
    else if (kind === 2) bytes = bytes.slice(0, Math.max(16, at))
    else if (kind === 3) bytes.fill(next(2) * 255, at, Math.min(bytes.length, at + 8))
    else if (kind === 4) bytes.copyWithin(at, next(bytes.length), next(bytes.length))
    else bytes.set(new Uint8Array(BigUint64Array.of(BigInt(next(bytes.length))).buffer).subarray(0, bytes.length - at), at)
  }
  return bytes
}

/** A store of one file that counts what is fetched. */
class CountingStore extends MemoryStore {
  requests = 0
  bytes = 0

  override async getRange(...args: Parameters<MemoryStore['getRange']>): ReturnType<MemoryStore['getRange']> {
    const found = await super.getRange(...args)
    this.requests++
    this.bytes += found?.length ?? 0
    return found
  }
}

/** Reads all of a file; returns the tags of its errors. */
const readAll = (store: MemoryStore): Promise<string> =>
  collectTags(TAGS, async (note) => {
    await using root = await openHdf5({ store, path: 'x.h5' })
    const { arrays, unreadable } = await walkFile(root)
    for (const error of unreadable.values()) note(error)
    for (const array of arrays.values())
      if (array.size <= MOST_ELEMENTS) await array.toTensor().then(({ data }) => expect(data.length).toBe(array.size), note)
  })

test('damaged files end in values or in an error with a tag, within bounds', { timeout: 86_400_000 }, async () => {
  const seeds = [...readOracle().keys()]
    .map((name) => ({ name, bytes: new Uint8Array(readFileSync(join(FORMATS, name))) }))
    .filter(({ bytes }) => bytes.length <= MAX_SEED_BYTES)
  const options = { seed: SEED, count: COUNT, ms: MUTATION_MS, mostMs: MOST_MS }
  const counts = await readDamagedFiles('HDF5', options, async (next) => {
    const { name, bytes } = seeds[next(seeds.length)]!
    const damaged = damage(bytes, next)
    const store = new CountingStore()
    await store.put('x.h5', damaged)
    return {
      name,
      read: () => readAll(store),
      check: (what) => {
        expect(store.requests, what).toBeLessThan(MOST_REQUESTS)
        expect(store.bytes, what).toBeLessThan(MOST_FETCHED * Math.max(4096, damaged.length))
      },
    }
  })
  expect(Object.keys(counts).some((tags) => tags.includes('FormatError'))).toBe(true)
})
