import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Python, startScript } from '../../../scripts/python.mjs'
import type { GroupNode } from '../../../src/array/nodes.ts'
import type { Dataset } from '../../../src/dataset/dataset.ts'
import { openDataset } from '../../../src/runtime/dataset.ts'
import { openTree } from '../../../src/runtime/index.ts'
import { LabelledTree } from '../../../src/runtime/tree.ts'
import { pythonWith } from '../../support/python.ts'
import { FORMATS } from '../hdf5/support.ts'
import { RASTERIO, REFUSED } from './support.ts'

interface Band {
  readonly places: readonly number[]
  /** Decoded elements as text; null for missing ones. */
  readonly values: readonly (string | null)[]
  readonly missing: number
  readonly description: string | null
  readonly units: string | null
  readonly scale: number
  readonly offset: number
}

interface Level {
  readonly shape: readonly [number, number]
  readonly epsg: number | null
  readonly coordinates: Readonly<Record<string, readonly number[]>> | null
  readonly bands: readonly Band[]
}

const FOLDER = join(FORMATS, 'tiff')
const env = pythonWith(RASTERIO)
let python: Python | undefined
beforeAll(() => {
  python = env && startScript(fileURLToPath(new URL('datasets.py', import.meta.url)), env)
})
afterAll(() => python?.close())

/** Compares numbers, of which packed ones may be decoded as float32. */
function expectClose(actual: number, expected: number, message: string): void {
  const most = 1e-6 * Math.max(1, Math.abs(expected))
  if (!(Object.is(actual, expected) || Math.abs(actual - expected) <= most)) expect(actual, message).toBe(expected)
}

async function compareLevel(ds: Dataset, level: Level): Promise<void> {
  const isSplit = 'band_1' in ds.variables
  for (const [i, band] of level.bands.entries()) {
    const variable = ds.get(isSplit ? `band_${i + 1}` : 'image')
    const one = isSplit || level.bands.length === 1 ? variable : variable.isel({ band: i })
    expect([one.dims, one.shape]).toEqual([['y', 'x'], level.shape])
    const values = Array.from((await one.values()) as ArrayLike<number | bigint>, Number)
    for (const [at, place] of band.places.entries())
      expectClose(values[place]!, Number(band.values[at] ?? Number.NaN), `band ${i + 1}, element ${place}`)
    expect(values.filter(Number.isNaN).length).toBe(band.missing)
    if (band.description !== null) expect(variable.attrs['long_name']).toBe(band.description)
    if (band.units) expect(variable.attrs['units']).toBe(band.units)
  }
  for (const [name, expected] of Object.entries(level.coordinates ?? {})) {
    const actual = Array.from((await ds.get(name).values()) as ArrayLike<number>)
    for (const [i, value] of expected.entries())
      if (!(Math.abs(actual[i]! - value) <= 1e-9 * Math.max(1, Math.abs(value))))
        expect(actual[i], `${name}, element ${i}`).toBe(value)
  }
  if (level.epsg !== null && 'spatial_ref' in ds.coords)
    expect(ds.get('spatial_ref').attrs['epsg_code'] ?? `EPSG:${level.epsg}`).toBe(`EPSG:${level.epsg}`)
}

/** Files that GDAL and datasets cannot be compared on, with the reason. */
const ELSEWHERE: Record<string, string> = {
  'made_complex64.tif': 'complex samples have an axis of their own, which the oracle of elements compares',
  'sample-get-lzw-stuck.tiff': 'both refuse its samples',
}
const names = readdirSync(FOLDER)
  .sort()
  .filter((name) => !(name in REFUSED || name in ELSEWHERE))

test.runIf(env).each(names)('%s has the decoded values, coordinates and levels of GDAL', async (name) => {
  const path = join(FOLDER, name)
  const { levels, error } = (await python!.ask({ path })) as { levels?: Level[]; error?: string }
  expect(error).toBe(undefined)
  for (const [i, level] of levels!.entries()) {
    await using ds = await openDataset(path, i === 0 ? {} : { level: i })
    await compareLevel(ds, level)
  }
})

test.each(Object.keys(REFUSED))('%s, which is refused, has no variable with wrong values', async (name) => {
  await using tree = await openTree(join(FOLDER, name))
  const root = tree.root as GroupNode
  expect([...(await root.unreadable()).keys()]).toContain('image')
  expect(await root.arrays()).not.toContain('image')
})

test('an array of a tree has the attributes by which its samples are decoded', async () => {
  await using tree = new LabelledTree(await openTree(join(FOLDER, 'made_scaled.tif')))
  const image = await tree.dataArray(await tree.array('image'))
  const raw = await tree.dataArray(await tree.array('image'), { raw: true })
  const [mean, stored] = [Number(await image.mean().get()), Number(await raw.mean({ skipMissing: true }).get())]
  expect(image.attrs['units']).toBe('K')
  expectClose(mean, stored * 0.01 - 273.15, 'the mean')
})
