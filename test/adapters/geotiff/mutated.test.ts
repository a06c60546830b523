import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openGeotiff } from '../../../src/runtime/geotiff.ts'
import { byBudget, seedOf } from '../../support/budget.ts'
import { collectTags, readDamagedFiles } from '../../support/damaged.ts'
import { FORMATS } from '../hdf5/support.ts'

/** Damaged files; further ones are made until the time is over. */
const COUNT = byBudget({ quick: 300, full: 1500, soak: 1_000_000 })
const MUTATION_MS = byBudget({ quick: 1000, full: 20_000, soak: 0 })
const SEED = seedOf('TIFF mutations', 20_261_127)
const FILES = [
  'BigTIFFMotorola.tif',
  'cog_gcps_ovr.tif',
  'float_raster_with_nodata.tif',
  'geogtowgs_subset_USGS_13_s14w171.tif',
  'hpredict-1c-12b.tiff',
  'int16_zstd.tif',
  'issue_69_lzw.tiff',
  'miniswhite-1c-1b.tiff',
  'model_transformation.tif',
  'random-fp16-pred3.tiff',
  'rotated.tif',
  'sample-get-lzw-stuck.tiff',
]
/** Elements up to which an array of a damaged file is read as a whole. */
const MOST_ELEMENTS = 2_000_000
const MOST_MS = 5000
const TAGS = ['FormatError', 'UnsupportedError', 'TooLargeError', 'CodecError', 'OutOfMemoryError'] as const
const WORDS = [0, 1, 2, 3, 8, 16, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff]

type Next = (limit: number) => number

/** Damages a file: flips bits, replaces bytes and words, copies ranges, cuts the end. Prefers directories. */
function damage(file: Uint8Array, next: Next): Uint8Array {
  let bytes = file.slice()
  const view = new DataView(bytes.buffer)
  const little = bytes[0] === 0x49
  const directory = Math.min(view.getUint32(bytes[2] === 43 || bytes[3] === 43 ? 12 : 4, little) || 8, bytes.length - 32)
  for (let times = 1 + next(3); times > 0 && bytes.length > 40; times--) {
    const isInDirectory = next(2) === 0 && directory < bytes.length - 32
    const at = isInDirectory ? directory + next(Math.min(240, bytes.length - 16 - directory)) : next(bytes.length - 16)
    const words = new DataView(bytes.buffer)
    const kind = next(7)
    if (kind === 0) bytes[at]! ^= 1 << next(8)
    else if (kind === 1) bytes[at] = next(256)
    else if (kind === 2) words.setUint32(at, WORDS[next(WORDS.length)]!, little)
    else if (kind === 3) words.setUint32(at, next(bytes.length), little)
    else if (kind === 4) words.setUint16(at, WORDS[next(WORDS.length)]! & 0xffff, little)
    else if (kind === 5) bytes.copyWithin(at, next(bytes.length), next(bytes.length))
    else bytes = bytes.slice(0, Math.max(40, at))
  }
  return bytes
}

test('damaged TIFF files end in values or in an error with a tag, within bounds', { timeout: 86_400_000 }, async () => {
  const seeds = FILES.map((name) => ({ name, bytes: new Uint8Array(readFileSync(join(FORMATS, 'tiff', name))) }))
  const options = { seed: SEED, count: COUNT, ms: MUTATION_MS, mostMs: MOST_MS }
  const counts = await readDamagedFiles('TIFF', options, async (next) => {
    const { name, bytes } = seeds[next(seeds.length)]!
    const blob = new Blob([damage(bytes, next) as never])
    const read = (): Promise<string> =>
      collectTags(TAGS, async (note) => {
        await using file = await openGeotiff(blob, { limits: { blockBytes: 2 ** 26 } })
        for (const image of file.images.slice(0, 8)) {
          const parts = [...image.levels(), ...(image.mask === undefined ? [] : [image.mask])]
          for (const part of parts.slice(0, 8)) {
            if (part.error !== undefined) {
              note(part.error)
              continue
            }
            const { array } = part
            if (array.size <= MOST_ELEMENTS) await array.toTensor().then(({ data }) => expect(data.length).toBe(array.size), note)
            else
              await array.get(array.shape.map((length) => length - 1) as never).then((each) => expect(each).toBeDefined(), note)
          }
        }
      })
    return { name, read, check: () => undefined }
  })
  expect(counts['FormatError']).toBeGreaterThan(0)
})
