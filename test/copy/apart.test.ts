import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDataset } from '../../src/runtime/dataset.ts'
import { hyperslab, NETCDF, temporaryFolder } from '../cli/support.ts'

test.each([
  ['rechunk', 's.zarr', 's.zarr/in.zarr', '--chunks', 'time=1'],
  ['export', 's.zarr', 's.zarr/in.zarr'],
  ['import', 's.zarr', 's.zarr/in.af'],
])('%s writes to no place in its source, whether or not something is there', { timeout: 60_000 }, async (...args) => {
  const folder = await temporaryFolder()
  expect((await hyperslab(folder, ['export', NETCDF, 's.zarr'])).exitCode).toBe(0)
  const objects = (): string[] => readdirSync(join(folder, 's.zarr'), { recursive: true, encoding: 'utf8' }).sort()
  const before = objects()
  const { exitCode, stderr } = await hyperslab(folder, args)
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining('same place, or one lies in the other')])
  expect(objects()).toEqual(before)
  await using ds = await openDataset(join(folder, 's.zarr'))
  await expect(ds.write(join(folder, 's.zarr/in.zarr'))).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
  expect(objects()).toEqual(before)
})

test('a copy to its source by way of a missing folder is refused, and creates no folder', { timeout: 60_000 }, async () => {
  const folder = await temporaryFolder()
  expect((await hyperslab(folder, ['export', NETCDF, 's.zarr'])).exitCode).toBe(0)
  for (const target of ['./none/../s.zarr', 'none/./inner/../../s.zarr', `${folder}/none/../s.zarr`]) {
    const { exitCode, stderr } = await hyperslab(folder, ['cp', 's.zarr', target])
    expect([exitCode, stderr], target).toEqual([1, expect.stringContaining('same place, or one lies in the other')])
  }
  expect(readdirSync(folder)).toEqual(['s.zarr'])
})
