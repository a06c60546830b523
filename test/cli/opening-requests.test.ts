import { readFile, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { Dataset, openDataset } from '../../src/runtime/dataset.ts'
import { createZarr } from '../../src/runtime/zarr.ts'
import { writeNetcdf } from '../support/netcdf-writer.ts'
import { hyperslab, temporaryFolder } from './support.ts'

const DAYS = 1096

/** Serves a folder over HTTP, and notes each request with its status. */
async function serve(folder: string): Promise<{ readonly origin: string; readonly seen: string[] }> {
  const seen: string[] = []
  const server = createServer(async (request, answer) => {
    const bytes = await readFile(join(folder, request.url!)).catch(() => undefined)
    seen.push(`${bytes === undefined ? 404 : 200} ${request.url}`)
    answer.writeHead(bytes === undefined ? 404 : 200, bytes && { etag: '"1"', 'content-length': bytes.length }).end(bytes)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

/** Writes daily fields as a classic NetCDF file. */
async function writeDaily(path: string): Promise<void> {
  const time = Array.from({ length: DAYS }, (_, day) => day)
  const variables = [
    {
      name: 'time',
      type: 'double' as const,
      dimensions: ['time'],
      values: time,
      attributes: [{ name: 'units', type: 'char' as const, value: 'days since 2000-01-01' }],
    },
    { name: 'lat', type: 'double' as const, dimensions: ['lat'], values: [10, 20] },
    { name: 'tas', type: 'float' as const, dimensions: ['time', 'lat'], values: time.flatMap((day) => [day, -day]) },
  ]
  await writeFile(
    path,
    writeNetcdf({
      dimensions: [
        ['time', DAYS],
        ['lat', 2],
      ],
      variables,
    } as never),
  )
}

test('1096 daily steps written by the command of the README open in at most 6 requests', { timeout: 60_000 }, async () => {
  const folder = await temporaryFolder()
  await writeDaily(join(folder, 'tas.nc'))
  const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8')
  const [, command = ''] = /^npx hyperslab (export \S+ tas\.zarr --chunks time=1)$/m.exec(readme) ?? []
  const { exitCode, stderr } = await hyperslab(folder, command.replace(/ \S+\.nc /, ' tas.nc ').split(' '))
  expect([exitCode, stderr]).toEqual([0, ''])
  const { origin, seen } = await serve(folder)
  await using ds = await openDataset(`${origin}/tas.zarr`)
  expect(ds.dims).toEqual({ time: DAYS, lat: 2 })
  expect(seen.length).toBeLessThanOrEqual(6)
  expect(await ds.get('tas').sel({ time: '2000-01-03', lat: 20 }).get()).toBe(-2)
  const { stderr: warned } = await hyperslab(folder, ['info', 'tas.zarr'])
  expect(warned).toBe('')
})

test('opening over HTTP asks for no absent object of Zarr 3, and for one of consolidated Zarr 2', async () => {
  const folder = await temporaryFolder()
  await new Dataset({ t: { dims: ['x'], data: [1, 2] } }, { coords: { x: [1, 2] } }).write(join(folder, 'three.zarr'))
  await symlink(fileURLToPath(new URL('../fixtures/zarr/era5.zarr', import.meta.url)), join(folder, 'era5.zarr'))
  const { origin, seen } = await serve(folder)
  await using three = await openDataset(`${origin}/three.zarr`)
  expect([three.dims, seen]).toEqual([{ x: 2 }, ['200 /three.zarr/zarr.json', '200 /three.zarr/x/c/0']])
  seen.length = 0
  await using era5 = await openDataset(`${origin}/era5.zarr`)
  const absent = seen.filter((each) => each.startsWith('404'))
  expect([Object.keys(era5.coords).length, seen.length, absent]).toEqual([4, 6, ['404 /era5.zarr/zarr.json']])
})

test('info warns of labels in small chunks, and the command that it names mends this', { timeout: 60_000 }, async () => {
  const folder = await temporaryFolder()
  const group = await createZarr(join(folder, 'slow.zarr'))
  const labels = await group.createArray('time', { dtype: 'int32', shape: [40], chunks: [1], dimensionNames: ['time'] })
  await labels.set(
    null,
    Int32Array.from({ length: 40 }, (_, i) => 2 * i),
  )
  await group.createArray('tas', { dtype: 'float32', shape: [40, 2], chunks: [1, 2], dimensionNames: ['time', 'y'] })
  await group.close()
  const { stderr, exitCode } = await hyperslab(folder, ['info', 'slow.zarr'])
  const [, place, command = ''] =
    /^hyperslab: warning: (\S+): opening takes 40 requests, .* labels of time .*: hyperslab (.*)\n$/.exec(stderr) ?? []
  expect([exitCode, place, command]).toEqual([0, 'slow.zarr', 'export slow.zarr new.zarr'])
  expect(await hyperslab(folder, command.split(' '))).toMatchObject({ exitCode: 0, stderr: '' })
  expect(await hyperslab(folder, ['info', 'new.zarr'])).toMatchObject({ exitCode: 0, stderr: '' })
  const { origin, seen } = await serve(folder)
  await using ds = await openDataset(`${origin}/new.zarr`)
  expect([await ds.get('time').sel({ time: 78 }).get(), seen.length]).toEqual([78, 2])
})
