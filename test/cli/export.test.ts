import { execFile } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { openDataset } from '../../src/runtime/dataset.ts'
import { openZarr } from '../../src/runtime/zarr.ts'
import { zarrPython } from '../support/python.ts'
import { hyperslab, NETCDF, smallContainer, temporaryFolder } from './support.ts'

const env = zarrPython()

test('a container becomes Zarr, sharded, and a table', { timeout: 30_000 }, async () => {
  const folder = await smallContainer()
  const run = (...args: string[]) => hyperslab(folder, ['export', 'small.af', ...args])
  const { exitCode, stdout, stderr } = await run(
    'out.zarr',
    '--chunks',
    'time=1,lat=2',
    '--shards',
    'time=2,lat=4',
    '--codec',
    'gzip',
    '--level',
    '9',
  )
  expect([exitCode, stdout, stderr]).toEqual([0, 'out.zarr: 6 arrays\n', ''])
  await using before = await openDataset(join(folder, 'small.af'))
  await using after = await openDataset(join(folder, 'out.zarr'))
  for (const name of ['t', 'id', 'name', 'time', 'lat', 'lon'])
    expect(await after.get(name).values(), name).toEqual(await before.get(name).values())
  expect(after.attrs).toEqual({ title: 'a small container' })
  await using group = await openZarr(join(folder, 'out.zarr'), { kind: 'group' })
  const t = await group.array('t')
  expect([t.metadata.chunks, t.chunks.chunkShape]).toEqual([[2, 4, 4], [1, 2, 4]]) // biome-ignore format: one line
  expect((await run('t.csv', '--variables', 't')).stdout).toMatch(/^t.csv: \d+ B\n$/)
  const rows = (await readFile(join(folder, 't.csv'), 'utf8')).trimEnd().split('\n')
  expect([rows.length, rows[0], rows[1], rows[13], rows[24]]).toEqual([
    25,
    'time,lat,lon,t',
    '2000-01-01T00:00,-10,0,0',
    '2000-02-01T00:00,-10,0,',
    '2000-02-01T00:00,10,270,23',
  ])
})

test('what does not fit is refused, and leaves nothing', { timeout: 30_000 }, async () => {
  const folder = await smallContainer()
  const cases: [string[], number, RegExp][] = [
    [['out.h5'], 2, /the name of the output ends in .zarr, .af or .csv, 'out.h5' does not/],
    [['out.zarr', '--chunks', 'level=2'], 1, /chunks: there is no dimension 'level'/],
    [['out.zarr', '--variables', 'u'], 1, /u/],
    [['out.zarr', '--codec', 'lzma'], 1, /lzma/],
    [['out.csv', '--codec', 'zstd'], 2, /--codec is for arrays, and out.csv is a table/],
    [['out.csv', '--memory', '1GiB'], 2, /--memory is for Zarr, and out.csv is another format/],
    [['out.zarr', '--memory', '1MiB'], 1, /the least is 256 MiB/],
    [['small.af'], 1, /exist/],
  ]
  for (const [args, code, text] of cases) {
    const { exitCode, stderr } = await hyperslab(folder, ['export', 'small.af', ...args])
    expect([exitCode, stderr], args.join(' ')).toEqual([code, expect.stringMatching(text)])
    for (const name of ['out.zarr', 'out.csv', 'out.h5']) await expect(stat(join(folder, name))).rejects.toThrow('ENOENT')
  }
  for (const [name, ...other] of [['out.csv'], ['out.zarr', '--codec', 'gzip']] as const) {
    expect((await hyperslab(folder, ['export', 'small.af', name])).exitCode).toBe(0)
    const again = await hyperslab(folder, ['export', 'small.af', name, ...other])
    expect([again.exitCode, again.stderr]).toEqual([1, expect.stringMatching(/exists|already/)])
    expect((await hyperslab(folder, ['export', 'small.af', name, '--overwrite'])).exitCode).toBe(0)
  }
  expect(await hyperslab(folder, ['export', 'small.af', 'out.zarr', '--memory', '300MB'])).toMatchObject({
    exitCode: 0,
    stdout: 'out.zarr: 6 arrays, complete already\n',
  })
})

test.skipIf(env === undefined)('Python finds the means of the demo in its export', { timeout: 60_000 }, async () => {
  const folder = await temporaryFolder()
  expect((await hyperslab(folder, ['import', NETCDF, 'demo.af'])).exitCode).toBe(0)
  expect((await hyperslab(folder, ['export', 'demo.af', 'demo.zarr', '--chunks', 'time=1'])).exitCode).toBe(0)
  const program = `
import json, sys, xarray
stored, exported = xarray.open_dataset(sys.argv[1], engine="scipy"), xarray.open_zarr(sys.argv[2])
xarray.testing.assert_identical(stored.tas.mean(), exported.tas.mean())
print(json.dumps(sorted(str(name) for name in exported.variables) == sorted(str(name) for name in stored.variables)))`
  const { stdout } = await promisify(execFile)('python3', ['-W', 'ignore', '-c', program, NETCDF, join(folder, 'demo.zarr')], {
    env,
  })
  expect(stdout).toBe('true\n')
})
