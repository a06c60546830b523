import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { create } from '../../src/runtime/index.ts'
import { openDataset } from '../../src/runtime/open-dataset.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hyperslab-open-dataset-'))
})
afterAll(() => rm(folder, { recursive: true }))

test.each([
  ['CDF\x05', /64-bit data.*nccopy/],
  ['\x89HDF\r\n\x1a\n', /HDF5.*nccopy/],
  ['GRIB\0\0\0\x02', /GRIB.*cfgrib/],
  ['II*\0\0\0\0\0', /TIFF.*rioxarray/],
])('a file that begins with %j is refused with what to do', async (start, message) => {
  const path = join(folder, 'file')
  await writeFile(path, Buffer.from(start.padEnd(100, '\0'), 'latin1'))
  await expect(openDataset(path)).rejects.toMatchObject({ tag: 'UnsupportedError', message: expect.stringMatching(message) })
})

test('a container is a dataset, with the labels of its dimensions; groups are of Zarr alone', async () => {
  const path = join(folder, 'x.af')
  const file = await create(path)
  await file.define('lat', { dtype: 'float32', shape: [3], dimensionNames: ['lat'] }).set(null, [10, 20.1, 30])
  const tas = file.define('tas', { dtype: 'int16', shape: [3], dimensionNames: ['lat'], fillValue: -1 })
  tas.attrs.set('scale_factor', { type: 'float32', value: 0.5 }).set('units', 'K')
  await tas.set(null, [4, -1, 6])
  await file.flush()
  await file.close()
  await using ds = await openDataset(path)
  expect(ds.get('tas').dtype).toBe('float32')
  expect(await ds.get('tas').values()).toEqual(Float32Array.of(2, Number.NaN, 3))
  expect(
    await ds
      .get('tas')
      .sel({ lat: [30, 20.1] })
      .values(),
  ).toEqual(Float32Array.of(3, Number.NaN))
  await expect(openDataset(path, { group: 'a' })).rejects.toThrow(/only Zarr stores have groups/)
  await expect(openDataset(join(folder, 'none'))).rejects.toMatchObject({ tag: 'NotFoundError' })
})
