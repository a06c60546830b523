import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openHdf5 } from '../../../src/runtime/hdf5.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { byBudget, seedOf } from '../../support/budget.ts'
import { collectTags, readDamagedFiles } from '../../support/damaged.ts'
import { FORMATS, readOracle, walkFile } from './support.ts'

/** Damaged files of each version of the superblock; further ones are made until the time is over. */
const COUNT = byBudget({ quick: 100, full: 300, soak: 1_000_000 })
const MUTATION_MS = byBudget({ quick: 500, full: 5000, soak: 0 })
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

/** Start of superblock 0, and positions in it if addresses have 8 bytes. Superblock 1 has 4 bytes more. */
const OLD_START = [0x89, 0x48, 0x44, 0x46, 0x0d, 0x0a, 0x1a, 0x0a, 0]
const [OLD_BYTES, END_AT, ROOT_AT, HEADER_BYTES] = [96, 40, 64, 16]

/** Returns the version of the superblock of a file, undefined for a file without one. */
function versionOf(bytes: Uint8Array): number | undefined {
  for (let at = 0; at + 9 <= bytes.length; at = at === 0 ? 512 : 2 * at)
    if (OLD_START.slice(0, 8).every((byte, i) => bytes[at + i] === byte)) return bytes[at + 8]
  return undefined
}

/**
 * Returns a file of superblock 0 with superblock 1, which the files of other projects do not have. It
 * overlaps the header of the root group, which moves to the end of the file.
 */
function withVersion1(file: Uint8Array): Uint8Array | undefined {
  const view = new DataView(file.buffer, file.byteOffset)
  const isMovable = OLD_START.every((byte, i) => file[i] === byte) && file[13] === 8 && file[14] === 8
  if (!isMovable || view.getBigUint64(ROOT_AT, true) !== BigInt(OLD_BYTES) || file[OLD_BYTES] !== 1) return undefined
  const header = file.subarray(OLD_BYTES, OLD_BYTES + HEADER_BYTES + view.getUint32(OLD_BYTES + 8, true))
  const end = (file.length + 7) & ~7
  const bytes = new Uint8Array(end + header.length)
  bytes.set(file)
  bytes.set(header, end)
  bytes.set([32, 0, 0, 0], 24)
  bytes.set(file.subarray(24, OLD_BYTES), 28)
  bytes[8] = 1
  const written = new DataView(bytes.buffer)
  written.setBigUint64(END_AT + 4, BigInt(bytes.length), true)
  written.setBigUint64(ROOT_AT + 4, BigInt(end), true)
  return bytes
}

const SEEDS = [...readOracle().keys()]
  .map((name) => ({ name, bytes: new Uint8Array(readFileSync(join(FORMATS, name))) }))
  .filter(({ bytes }) => bytes.length <= MAX_SEED_BYTES)
  .flatMap(({ name, bytes }) => {
    const old = withVersion1(bytes)
    return old === undefined
      ? [{ name, bytes }]
      : [
          { name, bytes },
          { name: `${name} with superblock 1`, bytes: old },
        ]
  })

test.each([0, 1, 2, 3])(
  'damaged files of superblock %d end in values or in an error with a tag, within bounds',
  { timeout: 86_400_000 },
  async (version) => {
    const seeds = SEEDS.filter(({ bytes }) => versionOf(bytes) === version)
    const options = { seed: SEED + version, count: COUNT, ms: MUTATION_MS, mostMs: MOST_MS }
    const counts = await readDamagedFiles(`HDF5, superblock ${version}`, options, async (next) => {
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
  },
)

test('files of superblock 1 made from superblock 0 have the same objects', async () => {
  const list = async (bytes: Uint8Array): Promise<unknown> => {
    const store = new MemoryStore()
    await store.put('x.h5', bytes)
    await using root = await openHdf5({ store, path: 'x.h5' })
    const { arrays, unreadable } = await walkFile(root)
    return [[...arrays.keys()], [...unreadable.keys()]]
  }
  const made = SEEDS.filter(({ bytes }) => versionOf(bytes) === 1)
  expect(made.length).toBeGreaterThan(10)
  for (const { name, bytes } of made) {
    const source = SEEDS.find((each) => each.name === name.replace(/ with superblock 1$/, ''))!
    const listed = await list(source.bytes).catch((error: Error) => error.message.replace(/^.*?: /, ''))
    expect(await list(bytes).catch((error: Error) => error.message.replace(/^.*?: /, '')), name).toEqual(listed)
  }
})
