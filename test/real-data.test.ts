import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { importNetcdf } from '../src/dataset/import/import-netcdf.ts'
import { type ArrayFile, open } from '../src/runtime/index.ts'

/** Means of each month, as computed with other software. */
const MONTHS = [
  276.7182, 276.9498, 276.7604, 278.1721, 279.7429, 280.9356, 281.2117, 281.1328, 280.1656, 278.6419, 277.2665, 276.9787,
]

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hyperslab-real-'))
})
afterAll(() => rm(folder, { recursive: true }))

async function imported(file: string): Promise<ArrayFile> {
  const path = join(folder, `${file.split('/').at(-1)}.af`)
  await importNetcdf(new URL(file, import.meta.url).pathname, path)
  return open(path)
}

test('near-surface air temperature', async () => {
  await using file = await imported('../demo/data/tas_rectilinear_grid_2D.nc')
  const tas = file.array('tas', 'float32')
  expect([tas.shape, tas.dimensionNames]).toEqual([
    [12, 96, 192],
    ['time', 'lat', 'lon'],
  ])
  expect([await tas.min(), await tas.max()]).toEqual([203.96768188476562, 317.2264709472656])
  expect(Math.abs((await tas.sum()) / 61649070.50531006 - 1)).toBeLessThan(1e-12)
  const { data } = await tas.mean({ axis: ['lat', 'lon'] })
  expect([...data].map((mean) => Number(mean.toFixed(4)))).toEqual(MONTHS)
  expect(tas.attrs.get('units')).toBe('K')
  expect(await file.stats('tas')).toMatchObject({
    min: 203.96768188476562,
    max: 317.2264709472656,
    nullCount: 0,
    rowCount: 221184,
  })
})

test('sea surface temperature, land missing', async () => {
  await using file = await imported('fixtures/nc/tos_ocean_bipolar_grid.nc')
  const tos = file.array('tos', 'float32')
  expect(tos.size).toBe(56320)
  const { nullCount } = await file.stats('tos')
  expect(tos.size - nullCount).toBe(36791)
  const mean = await tos.mean()
  expect(Math.abs(mean / 283.27957323862404 - 1)).toBeLessThan(1e-12)
  expect(await tos.max()).toBeLessThan(310)
  expect(await tos.max({ skipMissing: false })).toBeGreaterThan(9e19)
})
