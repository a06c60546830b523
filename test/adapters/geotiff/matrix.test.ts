import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Python, startScript } from '../../../scripts/python.mjs'
import type { DiskArray } from '../../../src/array/disk-array.ts'
import { type FixedDType, fromBytes } from '../../../src/core/dtype.ts'
import { openGeotiff } from '../../../src/runtime/geotiff.ts'
import { random } from '../../af/rkyv/support.ts'
import { byBudget, seedOf } from '../../support/budget.ts'
import type { Plain } from '../../support/oracle.ts'
import { pythonWith } from '../../support/python.ts'
import { expectSameReads } from '../../support/same-reads.ts'
import { RASTERIO } from './support.ts'

const COUNT = byBudget({ quick: 60, full: 240, soak: 5000 })
const SEED = seedOf('TIFF matrix', 20_261_127)

const env = pythonWith(RASTERIO)

/** Types with their bits; those of fewer bits than their type are written by GDAL. */
const TYPES = [
  ['uint8', 8],
  ['uint8', 1],
  ['uint8', 3],
  ['uint8', 7],
  ['uint16', 16],
  ['uint16', 9],
  ['uint16', 12],
  ['uint32', 32],
  ['uint32', 17],
  ['uint32', 24],
  ['uint32', 31],
  ['uint64', 64],
  ['int8', 8],
  ['int16', 16],
  ['int32', 32],
  ['int64', 64],
  ['float16', 16],
  ['float32', 32],
  ['float64', 64],
  ['complex64', 64],
  ['complex128', 128],
] as const
const COMPRESSIONS = [null, 'lzw', 'deflate', 'packbits', 'zstd'] as const

let folder: string
let python: Python | undefined
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hyperslab-geotiff-'))
  python = env && startScript(fileURLToPath(new URL('matrix.py', import.meta.url)), env)
})
afterAll(async () => {
  python?.close()
  await rm(folder, { recursive: true })
})

type Next = (limit: number) => number

function draw(
  next: Next,
  i: number,
): Record<string, unknown> & { bands: number; bits: number; shape: [number, number]; dtype: string } {
  const [dtype, bits] = TYPES[next(TYPES.length)]!
  const pick = <T>(...values: T[]): T => values[next(values.length)]!
  const isFloat = dtype.startsWith('float')
  const compression = COMPRESSIONS[next(COMPRESSIONS.length)]!
  const isWhole = bits === 8 || bits === 16 || bits === 32 || bits === 64
  const isPredicted = compression !== null && compression !== 'packbits' && isWhole && !dtype.startsWith('complex')
  const isPartial = !isWhole && bits < 64
  const writer = isPartial ? 'gdal' : dtype === 'float16' ? 'tifffile' : pick('gdal', 'tifffile')
  return {
    path: join(folder, `${i}.tif`),
    dtype,
    bits,
    bands: pick(1, 1, 2, 3, 5),
    shape: [1 + next(90), 1 + next(90)],
    tile: pick(null, [16, 16], [32, 48], [128, 64]),
    rows: pick(1, 7, 16, 1000),
    compression,
    predictor: isPredicted ? pick(1, 2, ...(isFloat ? [3] : [])) : 1,
    planar: next(2) === 1,
    big_endian: next(2) === 1,
    bigtiff: next(3) === 0,
    sparse: writer === 'gdal' && next(4) === 0,
    writer,
    seed: next(2 ** 31),
  }
}

test.skipIf(env === undefined)(
  `reads ${COUNT} files of GDAL and tifffile, and selections of them`,
  { timeout: 600_000 },
  async () => {
    const next = random(SEED)
    const errors: string[] = []
    let selections = 0
    let refused = 0
    for (let i = 0; i < COUNT; i++) {
      const request = draw(next, i)
      const what = JSON.stringify(request)
      const answer = (await python!.ask(request)) as { data?: string; error?: string }
      if (answer.error !== undefined) {
        errors.push(`${answer.error} ${what}`)
        continue
      }
      await using file = await openGeotiff(request['path'] as string)
      if (request.bits === 24 && request['big_endian'] === true) {
        expect(file.image(0).error, what).toMatchObject({ tag: 'UnsupportedError' })
        refused++
        continue
      }
      const { array } = file.image(0)
      const { bands, shape } = request
      const isComplex = request.dtype.startsWith('complex')
      expect(array.shape, what).toEqual([...(bands > 1 ? [bands] : []), ...shape, ...(isComplex ? [2] : [])])
      const expected = new Uint8Array(Buffer.from(answer.data!, 'base64'))
      const data = fromBytes(array.dtype as FixedDType, expected)
      const plain: Plain = { dtype: array.dtype, shape: array.shape, data: data as Plain['data'] }
      selections += await expectSameReads(array as unknown as DiskArray, plain, { count: 2, seed: SEED + i, name: what })
      await rm(request['path'] as string)
    }
    console.log(
      `TIFF matrix: ${COUNT} files, ${selections} selections, ${refused} refused here, ${errors.length} that the writers refuse`,
    )
    // The writers refuse few combinations.
    expect(errors.length, errors.slice(0, 5).join('\n')).toBeLessThan(COUNT / 8)
  },
)
