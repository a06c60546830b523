import { execFileSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pythonEnvironment } from '../../scripts/python.mjs'
import { local, planJob } from '../../src/runtime/cluster.ts'
import { type Dataset, openDataset } from '../../src/runtime/dataset.ts'
import { folderInMemory } from '../support/folder.ts'
import { HDF5_PACKAGES } from '../support/hdf5-filters.ts'
import { zarrPython } from '../support/python.ts'

const NETCDF = `
import sys, netCDF4
with netCDF4.Dataset(sys.argv[1], "w") as f:
    f.createDimension("x", 3)
    f.createVariable("r", "f4", ("x",))[:] = [1, 2, 3]
    f.createGroup("g").createVariable("q", "f4", ("x",))[:] = [4, 5, 6]
    f.createGroup("empty")
with netCDF4.Dataset(sys.argv[2], "w") as f:
    f.createDimension("x", 3)
    f.createVariable("r", "f4", ("x",))[:] = [1, 2, 3]
`
const ZARR = `
import sys, xarray as xr
root = xr.Dataset({"r": ("x", [1., 2., 3.])})
tree = xr.DataTree.from_dict({"/": root, "/g": xr.Dataset({"q": ("x", [4., 5., 6.])}), "/empty": xr.Dataset()})
tree.to_zarr(sys.argv[1], zarr_format=3, consolidated=True)
root.to_zarr(sys.argv[2], zarr_format=3)
`
const hdf5 = pythonEnvironment(HDF5_PACKAGES)
const zarr = zarrPython()
if (hdf5.failure !== undefined) console.warn(`SKIPPED: copies of NetCDF-4 with groups need netCDF4: ${hdf5.failure}`)

let folder: string
beforeAll(async () => {
  folder = await folderInMemory('groups-left')
  const at = (...names: string[]): string[] => names.map((name) => join(folder, name))
  if (hdf5.failure === undefined)
    execFileSync('python3', ['-c', NETCDF, ...at('groups.nc', 'plain.nc')], { env: hdf5.env, stdio: 'ignore' })
  if (zarr !== undefined)
    execFileSync('python3', ['-c', ZARR, ...at('groups.zarr', 'plain.zarr')], { env: zarr, stdio: 'ignore' })
}, 120_000)
afterAll(() => rmSync(folder, { recursive: true }))

const SOURCES = [...(hdf5.failure === undefined ? ['nc'] : []), ...(zarr === undefined ? [] : ['zarr'])]
const PAIRS = SOURCES.flatMap((from) => ['nc', 'zarr', 'af'].map((to) => [from, to] as const))

let targets = 0
const newTarget = (ending: string): string => join(folder, `out-${++targets}.${ending}`)
const names = async (place: string): Promise<string[]> => {
  await using ds = await openDataset(place)
  return Object.keys(ds.variables)
}

test.each(SOURCES)('a place with groups, as .%s, is a table only of a chosen group or of selected positions', async (from) => {
  const place = join(folder, `groups.${from}`)
  const toText = async (ds: Dataset): Promise<string> => {
    let text = ''
    for await (const piece of ds.toCSV()) text += piece
    return text
  }
  await using ds = await openDataset(place)
  const refusal = { tag: 'UnsupportedError', text: expect.stringContaining("would leave out: '") }
  await expect(toText(ds)).rejects.toMatchObject(refusal)
  await expect(ds.toTable().next()).rejects.toMatchObject(refusal)
  await using root = await openDataset(place, { group: '/' })
  expect(await toText(root)).toBe('x,r\n0,1\n1,2\n2,3\n')
  expect(await toText(ds.isel({ x: [0] }))).toBe('x,r\n0,1\n')
})

describe.each(PAIRS)('a place with groups, as .%s, copied to .%s', (from, to) => {
  const refusal = {
    tag: 'UnsupportedError',
    text: expect.stringContaining("would leave out: '"),
    details: { file: expect.stringContaining('groups.') },
  }

  test('is refused whole, with the names of its groups', async () => {
    const target = newTarget(to)
    await using ds = await openDataset(join(folder, `groups.${from}`))
    const failure = await ds.write(target).catch((error: unknown) => error)
    expect(failure).toMatchObject(refusal)
    expect([...(failure as { details: { actual: string[] } }).details.actual].sort()).toEqual(['empty', 'g'])
    expect(existsSync(target)).toBe(false)
  })

  test('is refused as a job', async () => {
    const target = newTarget(to)
    const job = planJob({ method: 'copy', source: { dataset: join(folder, `groups.${from}`) }, target })
    // NetCDF is not written by tasks at all.
    await expect(job).rejects.toMatchObject(
      to === 'nc' ? { tag: 'UnsupportedError', message: expect.stringContaining('written whole') } : refusal,
    )
    expect(existsSync(target)).toBe(false)
  })

  test.each([
    ['/', 'r'],
    ['g', 'q'],
  ])('is copied in part, if group %s is chosen', async (group, name) => {
    const target = newTarget(to)
    await using ds = await openDataset(join(folder, `groups.${from}`), { group })
    await ds.write(target)
    expect(await names(target)).toEqual([name])
    if (to === 'nc') return
    const other = newTarget(to)
    await local().run(
      await planJob({ method: 'copy', source: { dataset: join(folder, `groups.${from}`), group }, target: other }),
    )
    expect(await names(other)).toEqual([name])
  })

  test('is copied without groups after a selection, and whole if it has none', async () => {
    await using ds = await openDataset(join(folder, `groups.${from}`))
    await ds.isel({ x: [0, 1] }).write(newTarget(to))
    await using plain = await openDataset(join(folder, `plain.${from}`))
    const target = newTarget(to)
    await plain.write(target)
    expect(await names(target)).toEqual(['r'])
  })
})
