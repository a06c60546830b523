import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openNetcdf } from '../../../src/runtime/netcdf.ts'
import { byBudget, seedOf } from '../../support/budget.ts'
import { collectTags, readDamagedFiles } from '../../support/damaged.ts'
import { FORMATS } from '../hdf5/support.ts'
import { CountingFile } from './support.ts'

/** Damaged files; further ones are made until the time is over. */
const COUNT = byBudget({ quick: 500, full: 2000, soak: 1_000_000 })
const MUTATION_MS = byBudget({ quick: 1000, full: 20_000, soak: 0 })
const SEED = seedOf('classic mutations', 20_261_127)
const FILES = [
  'CRM032_test1.nc',
  'made_cdf5.nc',
  'made_classic.nc',
  'made_no_records.nc',
  'made_offset64.nc',
  'made_one_record_variable_i1.nc',
  'ref_nctest_classic.nc',
]
/** Bytes of each file that are taken, so that most damage meets the header. */
const MOST_BYTES = 16_384
/** Elements up to which an array of a damaged file is read as a whole. */
const MOST_ELEMENTS = 100_000
/** Limits of one damaged file: requests for each variable, bytes as multiples of the file, and time. */
const MOST_REQUESTS = 8
const MOST_FETCHED = 4
const MOST_MS = 5000

const TAGS = ['FormatError', 'UnsupportedError', 'TooLargeError'] as const
/** Words that counts, lengths, types, offsets and sizes overflow or lie with. */
const WORDS = [0, 1, 2, 3, 7, 10, 11, 12, 13, 0xffff, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff]

type Next = (limit: number) => number

/** Damages a file: flipped bits, other bytes, words of four or eight bytes, copied ranges, a cut end. */
function damage(file: Uint8Array, next: Next): Uint8Array {
  let bytes = file.slice()
  for (let times = 1 + next(3); times > 0 && bytes.length > 16; times--) {
    const at = next(bytes.length - 8)
    const aligned = at & ~3
    const view = new DataView(bytes.buffer)
    const kind = next(7)
    if (kind === 0) bytes[at]! ^= 1 << next(8)
    else if (kind === 1) bytes[at] = next(256)
    else if (kind === 2) view.setUint32(aligned, WORDS[next(WORDS.length)]!)
    else if (kind === 3) view.setUint32(aligned, next(bytes.length))
    else if (kind === 4) view.setBigUint64(aligned, BigInt.asUintN(64, BigInt(WORDS[next(WORDS.length)]!) << BigInt(next(33))))
    else if (kind === 5) bytes.copyWithin(at, next(bytes.length), next(bytes.length))
    else bytes = bytes.slice(0, at)
  }
  return bytes
}

test('damaged classic files end in values or in an error with a tag, within bounds', { timeout: 86_400_000 }, async () => {
  const seeds = FILES.map((name) => ({
    name,
    bytes: new Uint8Array(readFileSync(join(FORMATS, 'netcdf3', name))).slice(0, MOST_BYTES),
  }))
  const options = { seed: SEED, count: COUNT, ms: MUTATION_MS, mostMs: MOST_MS }
  const counts = await readDamagedFiles('classic NetCDF', options, async (next) => {
    const { name, bytes } = seeds[next(seeds.length)]!
    const stored = new CountingFile(damage(bytes, next))
    let variables = 0
    const read = (): Promise<string> =>
      collectTags(TAGS, async (note) => {
        await using file = await openNetcdf(stored, { name: 'x.nc' })
        for (const { name, length } of file.dimensions)
          expect([typeof name, Number.isSafeInteger(length)]).toEqual(['string', true])
        variables = file.variables.length
        for (const array of file.variables) {
          if (array.size <= MOST_ELEMENTS) await array.toTensor().then(({ data }) => expect(data.length).toBe(array.size), note)
          else await array.get(array.shape.map((length) => length - 1) as never).then((each) => expect(each).toBeDefined(), note)
        }
      })
    const check = (what: string): void => {
      expect(stored.slices.length, what).toBeLessThanOrEqual(2 + MOST_REQUESTS * variables)
      expect(stored.bytesRead, what).toBeLessThanOrEqual(MOST_FETCHED * (1 + variables) * stored.byteLength)
    }
    return { name, read, check }
  })
  expect(counts['FormatError']).toBeGreaterThan(0)
})
