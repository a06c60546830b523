import { execFile } from 'node:child_process'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { openDataset } from '../../src/runtime/dataset.ts'
import { openZarr } from '../../src/runtime/zarr.ts'
import { zarrPython } from '../support/python.ts'
import { hyperslab, NETCDF, smallContainer, startServer, temporaryFolder } from './support.ts'

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
    [['out.h5'], 2, /the name of the output ends in .zarr, .af, .nc or .csv, 'out.h5' does not/],
    [['out.zarr', '--chunks', 'level=2'], 1, /chunks: there is no dimension 'level'/],
    [['out.zarr', '--variables', 'u'], 1, /u/],
    [['out.zarr', '--codec', 'lzma'], 1, /lzma/],
    [['out.nc', '--level', '3'], 2, /--level is for Zarr stores and containers, and out.nc is a NetCDF file/],
    [['out.zarr', '--kind', '5'], 2, /--kind is for NetCDF files, and out.zarr is a Zarr store/],
    [['out.csv', '--codec', 'zstd'], 2, /--codec is for arrays, and out.csv is a table/],
    [['out.csv', '--memory', '1GiB'], 2, /--memory is for Zarr and NetCDF, and out.csv is another format/],
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
  const objects = await readdir(join(folder, 'out.zarr'), { recursive: true })
  expect(objects.filter((name) => name.includes('.hyperslab'))).toEqual([])
})

test('attr prints the fill values of an export as numbers', async () => {
  const folder = await temporaryFolder()
  expect((await hyperslab(folder, ['export', NETCDF, 'demo.zarr'])).exitCode).toBe(0)
  const stored = JSON.parse(await readFile(join(folder, 'demo.zarr/tas/zarr.json'), 'utf8')).attributes
  expect(stored._FillValue).toEqual(expect.stringMatching(/=$/))
  const { stdout } = await hyperslab(folder, ['attr', 'demo.zarr', 'tas', '_FillValue'])
  expect(Number(stdout)).toBe(Math.fround(1e20))
  const all = JSON.parse((await hyperslab(folder, ['attr', 'demo.zarr', 'tas', '--json'])).stdout)
  expect(all._FillValue).toBe(Math.fround(1e20))
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

test('export and view take the names of a store that cannot be listed, a level of a pyramid, and statuses', {
  timeout: 30_000,
}, async () => {
  const folder = await smallContainer()
  const exported = await hyperslab(folder, ['export', 'small.af', 'levels.zarr', '--variables', 't', '--levels', '2'])
  expect([exported.exitCode, exported.stderr]).toEqual([0, ''])
  const half = await hyperslab(folder, ['export', 'levels.zarr', 'half.af', '--pyramid-level', '1'])
  expect([half.exitCode, half.stdout]).toEqual([0, expect.stringMatching(/^half.af: /)])
  await using level = await openDataset(join(folder, 'levels.zarr'), { level: 1 })
  await using written = await openDataset(join(folder, 'half.af'))
  expect([await written.get('t').values(), written.dims]).toEqual([await level.get('t').values(), level.dims])

  // A server that lists nothing, and answers 403 for missing objects.
  expect((await hyperslab(folder, ['export', 'small.af', 'bare.zarr'])).exitCode).toBe(0)
  const metadata = join(folder, 'bare.zarr/zarr.json')
  const { consolidated_metadata: _, ...rest } = JSON.parse(await readFile(metadata, 'utf8'))
  await writeFile(metadata, JSON.stringify(rest))
  const server = createServer(async (request, answer) => {
    const bytes = await readFile(join(folder, request.url!)).catch(() => undefined)
    answer.writeHead(bytes === undefined ? 403 : 200, bytes && { etag: '"1"', 'content-length': bytes.length }).end(bytes)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/bare.zarr`
    const names = ['--names', 't,time,lat,lon']
    const untold = await hyperslab(folder, ['export', url, 'no.af', '--not-found', '403'])
    expect([untold.exitCode, untold.stderr]).toEqual([1, expect.stringMatching(/cannot be listed.*--names gives the paths/)])
    const told = await hyperslab(folder, ['export', url, 'told.af', '--not-found', '403,404', ...names])
    expect([told.exitCode, told.stderr, told.stdout]).toEqual([0, '', expect.stringMatching(/^told.af: 4 arrays/)])
    const refused = await hyperslab(folder, ['view', url, '--not-found', '403', '--no-open'])
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringMatching(/--names gives the paths/)])
    const args = ['view', url, '--not-found', '403', '--no-open', '--pyramid-level', '0', ...names]
    const wrong = await hyperslab(folder, args)
    expect([wrong.exitCode, wrong.stderr]).toEqual([1, expect.stringMatching(/the group has no levels/)])
    const { lines, end } = await startServer(folder, ['view', url, '--not-found', '403', '--no-open', ...names])
    expect(lines[0]).toMatch(/url=%2Fdata%2Fbare.zarr&names=t%2Ctime%2Clat%2Clon$/)
    await end()
  } finally {
    server.close()
  }
})
