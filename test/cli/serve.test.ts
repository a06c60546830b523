import { execFile } from 'node:child_process'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { openNetcdf } from '../../src/runtime/netcdf.ts'
import { openZarr } from '../../src/runtime/zarr.ts'
import { zarrPython } from '../support/python.ts'
import { hyperslab, NETCDF, rawAnswer, smallContainer, startServer } from './support.ts'

const STORES = fileURLToPath(new URL('../fixtures/zarr/', import.meta.url))

/** Starts the command; gives the URLs that it prints, what ends it, and all that it has told by then. */
async function serve(folder: string, ...args: string[]) {
  const { lines, end } = await startServer(folder, ['serve', ...args, '--port', '0'])
  return { urls: lines, end }
}

test('containers, NetCDF and Zarr are served under their names, and read as they are', { timeout: 30_000 }, async () => {
  const folder = await smallContainer()
  await cp(join(STORES, 'era5.zarr'), join(folder, 'era5.zarr'), { recursive: true })
  const { urls, end } = await serve(folder, 'small.af', NETCDF, 'era5.zarr')
  expect(urls.map((url) => new URL(url).pathname)).toEqual(['/small.zarr', '/tas_rectilinear_grid_2D.zarr', '/era5.zarr'])
  await using small = await openZarr(urls[0]!, { kind: 'group' })
  expect(await small.arrays()).toEqual(['id', 'lat', 'lon', 'name', 't', 'time'])
  expect(small.attrs.get('title')).toBe('a small container')
  const t = await small.array('t', 'float32', 3)
  expect([...(await t.toTensor()).data]).toEqual([...Array(12).keys(), -999, ...Array.from({ length: 11 }, (_, i) => 13 + i)])
  expect(await t.sum()).toBe(66 + 13 * 11 + 55)
  expect([...(await (await small.array('name')).toTensor()).data]).toEqual(['one', 'two "2"'])
  expect([...(await (await small.array('id')).toTensor()).data]).toEqual([2n ** 53n + 1n, -1n])
  await using netcdf = await openNetcdf(NETCDF)
  await using served = await openZarr(urls[1]!, { kind: 'group' })
  for (const variable of netcdf.variables)
    expect(await (await served.array(variable.name)).equals(variable), variable.name).toBe(true)
  await using era5 = await openZarr(urls[2]!, { kind: 'group' })
  await using stored = await openZarr(join(STORES, 'era5.zarr'), { kind: 'group' })
  for (const name of await stored.arrays()) {
    const [own, theirs] = [await era5.array(name), await stored.array(name)]
    expect((await own.toTensor()).data, name).toEqual((await theirs.toTensor()).data)
    expect(own.missing).toEqual(theirs.missing)
    expect(own.dimensionNames).toEqual(theirs.dimensionNames)
  }
  expect(await end()).toEqual({ exitCode: 0, stderr: '' })
})

test('ranges, HEAD and pages of other origins get what HTTP says', { timeout: 30_000 }, async () => {
  const { urls } = await serve(await smallContainer(), 'small.af', '--cors', 'https://maps.example.org')
  const [url] = urls as [string]
  const chunk = `${url}/t/c/0/0/0`
  const whole = await fetch(chunk)
  expect(whole.headers.get('access-control-allow-origin')).toBe('https://maps.example.org')
  expect(whole.headers.get('cache-control')).toBe('no-cache')
  const bytes = new Uint8Array(await whole.arrayBuffer())
  expect([...new Float32Array(bytes.buffer)]).toEqual([...Array(12).keys()])
  const ranges: [string, number, number[]?][] = [
    ['bytes=4-7', 206, [4, 8]],
    ['bytes=40-', 206, [40, 48]],
    ['bytes=-4', 206, [44, 48]],
    ['bytes=0-1000', 206, [0, 48]],
    ['bytes=48-', 416],
    ['bytes=-0', 416],
    ['bytes=7-4', 200, [0, 48]],
    ['bytes=0-1,4-5', 200, [0, 48]],
    ['rows=1-2', 200, [0, 48]],
  ]
  for (const [range, status, part] of ranges) {
    const answer = await fetch(chunk, { headers: { range } })
    expect(answer.status, range).toBe(status)
    if (part === undefined) expect(answer.headers.get('content-range')).toBe('bytes */48')
    else expect(new Uint8Array(await answer.arrayBuffer())).toEqual(bytes.subarray(...part))
    if (status === 206) expect(answer.headers.get('content-range')).toBe(`bytes ${part![0]}-${part![1]! - 1}/48`)
  }
  const head = await fetch(chunk, { method: 'HEAD' })
  expect([head.status, head.headers.get('content-length'), (await head.arrayBuffer()).byteLength]).toEqual([200, '48', 0])
  const asked = {
    method: 'OPTIONS',
    headers: { 'access-control-request-headers': 'range', 'access-control-request-method': 'GET' },
  }
  const preflight = await fetch(chunk, asked)
  expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([204, 'range'])
  const put = await fetch(chunk, { method: 'PUT', body: 'x' })
  expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
  for (const path of ['', '/t/c/9/9/9', '/t', '/../package.json', '/%2e%2e/package.json'])
    expect((await fetch(url + path)).status, path).toBe(404)
  expect((await fetch(`${url}/%ff`)).status).toBe(400)
  expect(await (await fetch(new URL('/', url))).json()).toEqual(['small.zarr'])
  expect(await rawAnswer(url, 'GET /small.zarr/zarr.json HTTP/1.1\r\nhost: evil.example.org')).toMatch(/^HTTP\/1.1 421 /)
  expect(await rawAnswer(url, 'GET /small.zarr/zarr.json HTTP/1.1\r\nhost: localhost:1')).toMatch(/^HTTP\/1.1 200 /)
})

test('without --cors no page of another origin reads', { timeout: 30_000 }, async () => {
  const { urls } = await serve(await smallContainer(), 'small.af')
  const answer = await fetch(`${urls[0]}/zarr.json`)
  expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, null])
})

test('what cannot be read is an answer that says why, and a line', { timeout: 30_000 }, async () => {
  const folder = await smallContainer()
  await cp(join(STORES, 'era5.zarr'), join(folder, 'x.zarr'), { recursive: true })
  const { urls, end } = await serve(folder, 'x.zarr')
  await cp(join(folder, 'small.af'), join(folder, 'x.zarr', 'latitude', '0'))
  const answer = await fetch(`${urls[0]}/latitude/c/0`)
  expect(answer.status).toBe(500)
  expect(await answer.text()).toBe('this cannot be read; the server tells why where it runs\n')
  const { stderr } = await end()
  expect(stderr).toMatch(/^hyperslab: \/x\.zarr\/latitude\/c\/0: .*x\.zarr/)
})

test('names that meet, and ports that are taken, are refused', { timeout: 30_000 }, async () => {
  const folder = await smallContainer()
  const { urls } = await serve(folder, 'small.af')
  const { port } = new URL(urls[0]!)
  const taken = await hyperslab(folder, ['serve', 'small.af', '--port', port])
  expect([taken.exitCode, taken.stderr]).toEqual([
    1,
    `hyperslab: cannot listen at 127.0.0.1:${port}: another program listens there; --port 0 takes any port that is free\n`,
  ])
  const twice = await hyperslab(folder, ['serve', 'small.af', './small.af'])
  expect([twice.exitCode, twice.stderr]).toEqual([2, 'hyperslab: two of the files would be served as small.zarr\n'])
})

const env = zarrPython()

test.skipIf(env === undefined)('xarray opens what is served', { timeout: 60_000 }, async () => {
  const { urls } = await serve(await smallContainer(), 'small.af', NETCDF)
  const program = `
import json, sys, warnings
import xarray
warnings.simplefilter("ignore")
small = xarray.open_zarr(sys.argv[1])
served = xarray.open_zarr(sys.argv[2])
stored = xarray.open_dataset(sys.argv[3], engine="scipy")
xarray.testing.assert_allclose(served.load(), stored.load())
print(json.dumps({
    "title": small.attrs["title"],
    "sum": float(small.t.sum()),
    "missing": int(small.t.isnull().sum()),
    "times": [str(t)[:10] for t in small.time.values],
    "names": [str(n) for n in small.name.values],
    "dims": list(small.t.dims),
    "mean": float(served.tas.mean()) - float(stored.tas.mean()),
}))`
  const { stdout } = await promisify(execFile)('python3', ['-c', program, ...urls, NETCDF], { env })
  expect(JSON.parse(stdout)).toEqual({
    title: 'a small container',
    sum: 66 + 13 * 11 + 55,
    missing: 1,
    times: ['2000-01-01', '2000-02-01'],
    names: ['one', 'two "2"'],
    dims: ['time', 'lat', 'lon'],
    mean: 0,
  })
})
