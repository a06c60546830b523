import { chmod, cp, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { openDataset } from '../../src/runtime/dataset.ts'
import { hyperslab, NETCDF, rawAnswer, smallContainer, startServer, temporaryFolder } from './support.ts'

const DIST = fileURLToPath(new URL('../../dist/', import.meta.url))
const ERA5 = fileURLToPath(new URL('../fixtures/zarr/era5.zarr', import.meta.url))

/** Starts the command; gives the address that it prints, and what ends it. */
async function view(folder: string, args: readonly string[], env: Record<string, string> = {}) {
  const { lines, end } = await startServer(folder, ['view', ...args], env)
  const address = lines.join('\n')
  return { address, origin: new URL(address).origin, end }
}

/** Returns the status of a request whose headers and path are sent without changes. */
const rawStatus = async (origin: string, head: string): Promise<string> =>
  (await rawAnswer(origin, head)).split('\r\n')[0]!.split(' ')[1]!

const statusOf = async (url: string, init: RequestInit = {}): Promise<number> =>
  (await fetch(url, { redirect: 'manual', ...init })).status

test('the page and a container with its sidecars are served, in ranges, and nothing beside them', {
  timeout: 30_000,
}, async () => {
  const folder = await smallContainer()
  await writeFile(join(folder, 'secret.af'), 'secret')
  await writeFile(join(folder, 'small.txt'), 'secret')
  const { address, origin, end } = await view(folder, ['small.af', '--no-open'])
  expect(address).toBe(`${origin}/viewer/?url=%2Fdata%2Fsmall.af`)
  expect(new URL(origin).hostname).toBe('127.0.0.1')

  const page = await fetch(address)
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  expect(page.headers.get('content-security-policy')).toContain("script-src 'self' 'wasm-unsafe-eval'")
  expect(page.headers.get('access-control-allow-origin')).toBeNull()
  expect(await page.text()).toBe(await readFile(join(DIST, 'viewer/index.html'), 'utf8'))
  for (const path of ['viewer/viewer.js', 'viewer/viewer.css', 'viewer/coastlines.bin', 'index.js', 'dataset.js', 'zarr.js'])
    expect(await statusOf(`${origin}/${path}`), path).toBe(200)

  const bytes = await readFile(join(folder, 'small.af'))
  const whole = await fetch(`${origin}/data/small.af`)
  expect(Buffer.from(await whole.arrayBuffer()).equals(bytes)).toBe(true)
  const part = await fetch(`${origin}/data/small.af`, { headers: { range: 'bytes=-16' } })
  expect([part.status, part.headers.get('content-range')]).toEqual([
    206,
    `bytes ${bytes.length - 16}-${bytes.length - 1}/${bytes.length}`,
  ])
  expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(-16))).toBe(true)
  await using dataset = await openDataset(`${origin}/data/small.af`)
  // The second time step is in the sidecar.
  expect(await dataset.get('t').isel({ time: 1, lat: 2, lon: 3 }).get()).toBe(23)

  for (const path of [
    'data/secret.af',
    'data/small.txt',
    'data/small.1.af.txt',
    'data/small.01.af',
    'data/',
    'data/small.af/x',
    'cli.js',
    'package.json',
    'viewer/../cli.js',
    'chunks/../cli.js',
    '',
  ])
    expect([path, await statusOf(`${origin}/${path}`)]).toEqual([path, path === '' ? 302 : 404])
  for (const path of ['/data/../small.txt', '/data/%2e%2e/small.txt', '/viewer/../../package.json', '/../package.json'])
    expect([path, await rawStatus(origin, `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1`)]).toEqual([path, '404'])
  expect(await rawStatus(origin, 'GET /data/small.af HTTP/1.1\r\nhost: evil.example')).toBe('421')
  expect(await statusOf(`${origin}/data/small.af`, { method: 'PUT', body: 'x' })).toBe(405)
  expect(await end()).toEqual({ exitCode: 0, stderr: '' })
})

test('of a Zarr store what is in it is served, and nothing above it', { timeout: 30_000 }, async () => {
  const folder = await temporaryFolder()
  await cp(ERA5, join(folder, 'era5.zarr'), { recursive: true })
  await writeFile(join(folder, 'secret'), 'secret')
  await mkdir(join(folder, 'era5.zarr.backup'))
  await writeFile(join(folder, 'era5.zarr.backup/zarr.json'), '{}')
  const { origin } = await view(folder, ['era5.zarr', '--no-open'])
  await using served = await openDataset(`${origin}/data/era5.zarr`)
  await using stored = await openDataset(join(folder, 'era5.zarr'))
  const names = Object.keys(stored.variables)
  expect(Object.keys(served.variables)).toEqual(names)
  for (const name of names) expect(await served.get(name).values(), name).toEqual(await stored.get(name).values())
  for (const path of [
    '/data/era5.zarr/../secret',
    '/data/era5.zarr/%2e%2e/secret',
    '/data/era5.zarr/..%5csecret',
    '/data/era5.zarr.backup/zarr.json',
  ])
    expect([path, await rawStatus(origin, `GET ${path} HTTP/1.1\r\nhost: localhost`)]).toEqual([path, '404'])
})

test('of references the arrays are served that they describe, and none of the files themselves', {
  timeout: 30_000,
}, async () => {
  const folder = await temporaryFolder()
  await cp(NETCDF, join(folder, 'tas.nc'))
  await hyperslab(folder, ['references', 'tas.json', 'tas.nc'])
  const { address, origin, end } = await view(folder, ['tas.json', '--no-open'])
  expect(address).toBe(`${origin}/viewer/?url=%2Fdata%2Ftas.zarr`)
  await using served = await openDataset(`${origin}/data/tas.zarr`)
  await using stored = await openDataset(NETCDF)
  for (const name of ['tas', 'lat', 'time_bnds']) expect(await served.get(name).values()).toEqual(await stored.get(name).values())
  for (const path of ['data/tas.nc', 'data/tas.json', 'data/tas.zarr/../tas.nc', 'data/tas.zarr/none'])
    expect([path, await rawStatus(origin, `GET /${path} HTTP/1.1\r\nhost: 127.0.0.1`)]).toEqual([path, '404'])
  expect(await end()).toEqual({ exitCode: 0, stderr: '' })
})

test('references to files elsewhere are refused, by links, too', { timeout: 30_000 }, async () => {
  const folder = await temporaryFolder()
  await mkdir(join(folder, 'inside'))
  await writeFile(join(folder, 'secret'), 'secret')
  await symlink(join(folder, 'secret'), join(folder, 'inside/link'))
  const array = {
    zarr_format: 2,
    shape: [6],
    chunks: [6],
    dtype: '|u1',
    compressor: null,
    fill_value: 0,
    order: 'C',
    filters: null,
  }
  const refusalOf = async (target: string): Promise<[unknown, string]> => {
    const refs = { '.zgroup': '{"zarr_format":2}', 'a/.zarray': JSON.stringify(array), 'a/0': [target, 0, 6] }
    await writeFile(join(folder, 'inside/x.json'), JSON.stringify({ version: 1, refs }))
    const { exitCode, stderr } = await hyperslab(folder, ['view', 'inside/x.json', '--no-open'])
    return [exitCode, stderr]
  }
  // `..` behind a link is the folder above the link's target.
  await mkdir(join(folder, 'far/away'), { recursive: true })
  await writeFile(join(folder, 'far/x.txt'), 'secret')
  await writeFile(join(folder, 'inside/x.txt'), 'decoys')
  await symlink('../far/away', join(folder, 'inside/sub'))
  const behind = ['sub/../x.txt', `${folder}/inside/sub/../x.txt`, '/proc/self/cwd/inside/sub/../x.txt']
  for (const target of ['../secret', join(folder, 'secret'), `file://${join(folder, 'secret')}`, 'link', ...behind])
    expect(await refusalOf(target)).toEqual([
      1,
      expect.stringMatching(/x\.json.*files of their own folder, and this one is elsewhere/s),
    ])
  for (const target of ['https://example.org/a.nc', 's3://bucket/a.nc'])
    expect(await refusalOf(target)).toEqual([1, expect.stringMatching(/x\.json.*references to other places are not served/s)])
})

test('what lies at a URL goes through the server, and a browser is opened', { timeout: 30_000 }, async () => {
  const folder = await temporaryFolder()
  // Program that takes the place of the browser on Linux: it records the address.
  const opened = join(folder, 'opened')
  await writeFile(join(folder, 'xdg-open'), `#!/bin/sh\nprintf %s "$1" > ${opened}.part && mv ${opened}.part ${opened}\n`)
  await chmod(join(folder, 'xdg-open'), 0o755)
  const first = await view(folder, [NETCDF, '--no-open'])
  const remote = `${first.origin}/data/tas_rectilinear_grid_2D.nc`
  const { address, origin } = await view(folder, [remote], { PATH: `${folder}:${process.env['PATH']}` })
  await using dataset = await openDataset(`${origin}/data/tas_rectilinear_grid_2D.nc`)
  await using own = await openDataset(NETCDF)
  expect(await dataset.get('tas').isel({ time: 3 }).values()).toEqual(await own.get('tas').isel({ time: 3 }).values())
  if (process.platform !== 'linux') return
  await expect
    .poll(
      () =>
        stat(opened).then(
          () => readFile(opened, 'utf8'),
          () => '',
        ),
      { timeout: 5000 },
    )
    .toBe(address)
})

test('what cannot be looked at is told in the terminal', { timeout: 30_000 }, async () => {
  const folder = await temporaryFolder()
  await writeFile(join(folder, 'x.nc'), '\x89HDF\r\n\x1a\n and so on')
  const missing = await hyperslab(folder, ['view', 'missing.af', '--no-open'])
  expect([missing.exitCode, missing.stderr]).toEqual([1, expect.stringContaining('missing.af')])
  const unreadable = await hyperslab(folder, ['view', 'x.nc', '--no-open'])
  expect([unreadable.exitCode, unreadable.stderr]).toEqual([1, expect.stringContaining('x.nc')])
})
