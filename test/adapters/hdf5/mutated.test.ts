import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isHyperslabError } from '../../../src/core/errors.ts'
import { openHdf5 } from '../../../src/runtime/hdf5.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { random } from '../../af/rkyv/support.ts'
import { byBudget, seedOf } from '../../support/budget.ts'
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

/** Reads all of a file; returns the tag of the first error. */
async function readAll(store: MemoryStore): Promise<string> {
  const tags = new Set<string>()
  const note = (error: unknown): void => {
    if (!isHyperslabError(error, ...TAGS)) throw error
    tags.add(error.tag)
  }
  try {
    await using root = await openHdf5({ store, path: 'x.h5' })
    const { arrays, unreadable } = await walkFile(root)
    for (const error of unreadable.values()) note(error)
    for (const array of arrays.values())
      if (array.size <= MOST_ELEMENTS) await array.toTensor().then(({ data }) => expect(data.length).toBe(array.size), note)
  } catch (error) {
    note(error)
  }
  return [...tags].sort().join(' ') || 'read'
}

test('damaged files end in values or in an error with a tag, within bounds', { timeout: 86_400_000 }, async () => {
  const seeds = [...readOracle().keys()]
    .map((name) => ({ name, bytes: new Uint8Array(readFileSync(join(FORMATS, name))) }))
    .filter(({ bytes }) => bytes.length <= MAX_SEED_BYTES)
  const next = random(SEED)
  const counts: Record<string, number> = {}
  let slowest = { ms: 0, name: '' }
  const end = Date.now() + MUTATION_MS
  for (let done = 0; done < COUNT || Date.now() < end; done++) {
    const { name, bytes } = seeds[next(seeds.length)]!
    const damaged = damage(bytes, next)
    const store = new CountingStore()
    await store.put('x.h5', damaged)
    const start = performance.now()
    const what = `${name}, case ${done} of seed ${SEED}`
    const tags = await readAll(store).catch((error: unknown) => {
      throw new Error(what, { cause: error })
    })
    const ms = performance.now() - start
    if (ms > slowest.ms) slowest = { ms, name: what }
    expect(ms, what).toBeLessThan(MOST_MS)
    expect(store.requests, what).toBeLessThan(MOST_REQUESTS)
    expect(store.bytes, what).toBeLessThan(MOST_FETCHED * Math.max(4096, damaged.length))
    counts[tags] = (counts[tags] ?? 0) + 1
  }
  console.log(`HDF5: ${JSON.stringify(counts)}; slowest ${slowest.ms.toFixed(0)} ms: ${slowest.name}`)
  expect(counts['read']).toBeGreaterThan(0)
  expect(Object.keys(counts).some((tags) => tags.includes('FormatError'))).toBe(true)
})
