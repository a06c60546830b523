import { openAsBlob } from 'node:fs'
import { cp, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { DiskArray } from '../../src/array/disk-array.ts'
import { HttpStore, MemoryStore, open } from '../../src/runtime/index.ts'
import { type ImportNetcdfOptions, importNetcdf, openNetcdf } from '../../src/runtime/netcdf.ts'
import { contents, hyperslab, hyperslabAlone, NETCDF, temporaryFolder } from '../cli/support.ts'
import { writeNetcdf } from '../support/netcdf-writer.ts'

/** A server of one file, with ranges; notes what was asked. */
async function served(bytes: Uint8Array): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = []
  const server = createServer(({ url, headers, method }, response) => {
    asked.push(`${method} ${url} ${headers.range ?? ''}`.trim())
    const [, from, to] = /bytes=(\d+)-(\d+)/.exec(headers.range ?? '') ?? []
    const etag = { etag: '"1"', 'accept-ranges': 'bytes' }
    if (!url!.startsWith('/tas.nc')) return response.writeHead(404).end()
    if (from === undefined) return response.writeHead(200, { ...etag, 'content-length': bytes.length }).end(bytes)
    const end = Math.min(Number(to), bytes.length - 1)
    const range = `bytes ${from}-${end}/${bytes.length}`
    const part = bytes.subarray(Number(from), end + 1)
    return response.writeHead(206, { ...etag, 'content-range': range, 'content-length': part.length }).end(part)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/tas.nc`, asked }
}

/** An object of a store whose key does not end in `.af`. */
async function inMemory(bytes: Uint8Array): Promise<{ store: MemoryStore; path: string }> {
  const store = new MemoryStore()
  await store.put('data/tas.nc', bytes)
  return { store, path: 'data/tas.nc' }
}

describe('openNetcdf takes', () => {
  test.each<[string, () => Promise<Parameters<typeof openNetcdf>[0]>, string]>([
    ['a path', async () => NETCDF, NETCDF],
    ['a file: URL', async () => pathToFileURL(NETCDF), NETCDF],
    ['the text of one', async () => pathToFileURL(NETCDF).href, NETCDF],
    ['an http: URL', async () => `${(await served(await readFile(NETCDF))).url}?token=1`, '/tas.nc'],
    ['a Blob', () => openAsBlob(NETCDF), 'blob'],
    ['a File', async () => new File([await readFile(NETCDF)], 'tas.nc'), 'tas.nc'],
    ['bytes', () => readFile(NETCDF), 'NetCDF file'],
    ['{ store, path }', async () => inMemory(await readFile(NETCDF)), 'data/tas.nc'],
    ['a file handle', async () => ({ kind: 'file', name: 'tas.nc', getFile: () => openAsBlob(NETCDF) }) as never, 'tas.nc'],
  ])('%s', async (_, locate, name) => {
    await using file = await openNetcdf(await locate())
    expect(file.variables.map((each) => each.name)).toContain('tas')
    expect(file.attrs.get('institute_id')).toBe('MPI-M')
    const tas = file.variable('tas') as DiskArray as DiskArray<'float32'>
    const bytes = await readFile(NETCDF)
    expect(await tas.get([1, 0, 0])).toBe(bytes.readFloatBE(14552 + 73752 + 24))
    await expect(tas.plan([99])).rejects.toThrow(`${name}: array 'tas': `)
  })

  test('no other thing', async () => {
    await expect(openNetcdf(5 as never)).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
    await expect(openNetcdf('ftp://example.org/a.nc')).rejects.toMatchObject({ tag: 'UnsupportedError' })
    const missing = join(await temporaryFolder(), 'none.nc')
    await expect(openNetcdf(missing)).rejects.toMatchObject({ message: `${missing}: there is no such file` })
  })
})

test('over HTTP what is selected is fetched, and little more', async () => {
  const { url, asked } = await served(await readFile(NETCDF))
  await using file = await openNetcdf({ store: new HttpStore(), path: url })
  asked.length = 0
  await file.variable('tas').get([3])
  expect(asked).toEqual([expect.stringMatching(/^GET \/tas\.nc bytes=\d+-\d+$/)])
  const [from, to] = /(\d+)-(\d+)/.exec(asked[0]!)!.slice(1).map(Number)
  expect(to! - from!).toBeLessThan(2 * 96 * 192 * 4)
})

test('a file that is replaced is not mixed with the one that was opened', async () => {
  const place = await inMemory(await readFile(NETCDF))
  await using file = await openNetcdf(place)
  await place.store.put(place.path, new Uint8Array(await readFile(NETCDF)).fill(1, 20_000))
  await expect(file.variable('tas').get([0])).rejects.toMatchObject({ tag: 'ConflictError' })
})

test('a closed file is not read', async () => {
  const file = await openNetcdf(NETCDF)
  await file.close()
  await expect(file.variable('tas').get([0])).rejects.toMatchObject({ tag: 'ClosedError' })
})

test('a variable that is not there is named with those that are', async () => {
  await using file = await openNetcdf(NETCDF)
  expect(() => file.variable('tos')).toThrow(/tas_rectilinear_grid_2D\.nc: array 'tos': .*there are .*tas/)
  expect(() => file.attrs.get(1 as never)).toThrow('the name of an attribute is text')
})

describe('importNetcdf', () => {
  const imported = async (options: ImportNetcdfOptions = {}) => {
    const store = new MemoryStore()
    const done = await importNetcdf(NETCDF, { store, path: 'c.af' }, options)
    return { store, done, file: await open({ store, path: 'c.af' }) }
  }

  test('copies from a place to a place', async () => {
    const { url } = await served(await readFile(NETCDF))
    const store = new MemoryStore()
    await importNetcdf(url, { store, path: 'c.af' })
    expect((await store.list('')).sort()).toEqual(['c.af', 'c.stats'])
    await using file = await open({ store, path: 'c.af' })
    await using source = await openNetcdf(NETCDF)
    expect(file.array('tas').attrs.get('units')).toBe('K')
    for (const variable of source.variables) expect(await file.array(variable.name).equals(variable)).toBe(true)
  })

  test('makes chunks by dimension name', async () => {
    const { file } = await imported({ chunks: { time: 4, lat: 1000 }, chunkBytes: 4 * 4 * 96 * 10 })
    expect(file.array('tas').chunks.chunkShape).toEqual([4, 96, 10])
    // Labels are one chunk.
    expect(file.array('time').chunks.chunkShape).toEqual([12])
    expect(file.array('lon').chunks.chunkShape).toEqual([192])
  })

  test('copies the variables that are named, each once', async () => {
    const { file, done } = await imported({ variables: ['tas', 'lat', 'tas'] })
    expect([done.arrays, file.array('lat').attrs.get('units')]).toEqual([['tas', 'lat'], 'degrees_north'])
    expect(() => file.array('lon')).toThrow('there is no such array')
  })

  test('takes a codec', async () => {
    const [none, zstd] = [await imported({ codec: 'none' }), await imported({ codec: 'zstd', level: 1 })]
    expect(zstd.done.bytes).toBeLessThan(none.done.bytes)
    expect(none.done.sourceBytes).toBe((await readFile(NETCDF)).length)
  })

  test.each<[ImportNetcdfOptions, string, RegExp]>([
    [{ variables: ['tas', 'tos'] }, 'UnknownArrayError', /'tos': there is no such variable; there are .*lat/],
    [{ chunks: { level: 1 } }, 'InvalidArgumentError', /chunks: there is no dimension 'level'; there are lon, nb2, lat, time/],
    [{ chunks: { time: 0 } }, 'InvalidArgumentError', /the length of chunks along time must be an integer from 1, got 0/],
    [{ chunkBytes: 1.5 }, 'InvalidArgumentError', /chunkBytes must be an integer from 1, got 1.5/],
    [{ codec: 'zip' }, 'CodecError', /zip/],
  ])('refuses %j and leaves nothing behind', async (options, tag, message) => {
    const store = new MemoryStore()
    const error = await importNetcdf(NETCDF, { store, path: 'c.af' }, options).catch((error: unknown) => error)
    expect(error).toMatchObject({ tag, message: expect.stringMatching(message) })
    expect(await store.list('')).toEqual([])
  })

  test('a dimension may be called chunkBytes', async () => {
    const bytes = writeNetcdf({
      dimensions: [['chunkBytes', 6]],
      variables: [{ name: 'v', type: 'int', dimensions: ['chunkBytes'], values: [1, 2, 3, 4, 5, 6] }],
    })
    const store = new MemoryStore()
    await importNetcdf(bytes, { store, path: 'c.af' }, { chunks: { chunkBytes: 2 } })
    await using file = await open({ store, path: 'c.af' })
    expect(file.array('v').chunks.chunkShape).toEqual([2])
  })

  test('writes nowhere but to stores', async () => {
    await expect(importNetcdf(NETCDF, new Blob(['x']))).rejects.toMatchObject({
      tag: expect.stringMatching(/ReadOnly|AlreadyExists/),
    })
    await expect(importNetcdf(NETCDF, 'c.nc')).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
  })
})

describe('the command', () => {
  test('imports where no other package can be found', async () => {
    const folder = await temporaryFolder()
    const root = new URL('../../', import.meta.url)
    await cp(new URL('dist', root), join(folder, 'node_modules/hyperslab/dist'), { recursive: true })
    await cp(new URL('package.json', root), join(folder, 'node_modules/hyperslab/package.json'))
    const command = join(folder, 'node_modules/hyperslab/dist/cli.js')
    const { stderr, exitCode } = await hyperslabAlone(folder, ['import', NETCDF, 'climate.af'], { command })
    expect([stderr, exitCode]).toEqual(['', 0])
    await using file = await open(join(folder, 'climate.af'))
    expect(file.array('tas').shape).toEqual([12, 96, 192])
  })

  test('imports over HTTP, some variables in chunks that are named', async () => {
    const folder = await temporaryFolder()
    const { url } = await served(await readFile(NETCDF))
    const args = ['import', url, 'c.af', '--variables', 'tas, lat', '--chunks', 'time=12,lat=8']
    const { stdout, stderr, exitCode } = await hyperslab(folder, args)
    expect([stderr, exitCode]).toEqual(['', 0])
    expect(stdout).toMatch(/^c\.af: 2 arrays, /)
    await using file = await open(join(folder, 'c.af'))
    expect(file.array('tas').chunks.chunkShape.slice(0, 2)).toEqual([12, 8])
  })

  test.each([
    [['--chunks', 'time'], /must be like time=12,lat=48/],
    [['--chunks', 'time=1,time=2'], /has time twice/],
    [['--variables', 'tas,'], /has an empty name/],
  ])('refuses %j', async (args, message) => {
    const folder = await temporaryFolder()
    const run = await hyperslab(folder, ['import', NETCDF, 'c.af', ...args])
    expect(run).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(message) })
    expect(await contents(folder)).toEqual(new Map())
  })
})
