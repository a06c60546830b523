import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { generate } from '../../src/array/combine.ts'
import { withMembers } from '../../src/core/overlay.ts'
import { concatDatasets, Dataset, openDataset, openDatasets } from '../../src/runtime/dataset.ts'
import { create } from '../../src/runtime/index.ts'
import { FileStore } from '../../src/store/fs/file.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import type { Store } from '../../src/store/store.ts'
import { writeNetcdf } from '../support/netcdf-writer.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hyperslab-open-dataset-'))
})
afterAll(() => rm(folder, { recursive: true }))

test.each([
  ['GRIB\0\0\0\x02', /GRIB.*cfgrib/],
  ['\x93NUMPY', /NumPy.*zarr\.save/],
  ['\x1f\x8b\x08', /compressed by gzip.*gunzip/],
  ['PAR1', /Parquet.*tables/],
  ['BUFR\0\x01\x02\x04', /BUFR.*ecCodes/],
  ['SIMPLE  =                    T', /FITS.*astropy/],
  ['\x0e\x03\x13\x01\0\0', /HDF4.*h4toh5/],
  ['\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', /Excel.*CSV/],
  ['PK\x03\x04\x14\0\x06\0\x08\0\0\0\x21\0\0\0\0\0\0\0\0\0\0\0\0\0\x13\0\0\0[Content_Types].xml', /Excel.*CSV/],
  ['BZh91AY&SY', /bzip2.*bunzip2/],
  ['\xfd7zXZ\0\0\x04', /compressed by xz.*unxz/],
  ['\x28\xb5\x2f\xfd\x24', /zstd.*unzstd/],
  ['\x89PNG\r\n\x1a\n\0\0\0\rIHDR', /a PNG picture/],
  ['\xff\xd8\xff\xe0\0\x10JFIF', /a JPEG picture/],
  ['%PDF-1.7\n', /PDF.*document/],
  ['Dataset {\n  Float32 tas[time = 2];\n} tas;\nData:\n', /DODS.*ask the server for NetCDF/],
  ['\x80\x02]q\x01(K\x01K\x02e.', /pickle.*zarr\.save/],
  ['\x80\x04\x95\x0b\0\0\0\0\0\0\0', /pickle.*zarr\.save/],
  ['<!DOCTYPE html>\n<html>', /a page \(HTML or XML\).*missing file/],
  ['\n <html><body>404</body>', /a page \(HTML or XML\)/],
  ['<?xml version="1.0"?><Error><Code>NoSuchKey</Code>', /a page \(HTML or XML\)/],
  ['time,tas\n1,280.5\n2,281\n', /text table.*new Dataset/],
  ['lat;lon;t\r\n1;2;3\r\n', /text table.*new Dataset/],
])('a file that begins with %j is refused with what to do', async (start, message) => {
  const path = join(folder, 'file')
  await writeFile(path, Buffer.from(start.padEnd(100, '\0'), 'latin1'))
  await expect(openDataset(path)).rejects.toMatchObject({ tag: 'UnsupportedError', message: expect.stringMatching(message) })
})

test('an archive of other files is refused with what to do', async () => {
  const path = join(folder, 'data')
  // One stored file, `a.txt` of one byte.
  const name = 'a.txt'
  const sizes = '\x9b\xfb\x0b\xe8\x01\0\0\0\x01\0\0\0\x05\0\0\0'
  const local = `PK\x03\x04\x0a\0\0\0\0\0\0\0\x21\0${sizes}${name}x`
  const entry = `PK\x01\x02\x0a\0\x0a\0\0\0\0\0\0\0\x21\0${sizes}${'\0'.repeat(14)}${name}`
  const end = `PK\x05\x06\0\0\0\0\x01\0\x01\0${String.fromCharCode(entry.length)}\0\0\0${String.fromCharCode(local.length)}\0\0\0\0\0`
  await writeFile(path, Buffer.from(local + entry + end, 'latin1'))
  await expect(openDataset(path)).rejects.toMatchObject({
    tag: 'NotFoundError',
    message: expect.stringMatching(/in this zip archive; unpack it/),
  })
})

test('a page that a server shows for a folder is no reason to refuse it; for a file it is', async () => {
  const page = new TextEncoder().encode('<!DOCTYPE html><html></html>')
  const store = new MemoryStore()
  for (const path of ['tas.nc', 'folder']) await store.put(path, page)
  await expect(openDataset({ store, path: 'tas.nc' })).rejects.toThrow(/a page \(HTML or XML\)/)
  await expect(openDataset({ store, path: 'folder' })).rejects.not.toThrow(/a page/)
})

test.each(['a.csv', 'https://example.org/b.TSV'])('%s is refused by its name, without being asked for', async (place) => {
  await expect(openDataset(place)).rejects.toMatchObject({
    tag: 'UnsupportedError',
    message: expect.stringMatching(/text table.*new Dataset/),
  })
})

test('a container is a dataset, with the labels of its dimensions; groups are of Zarr alone', async () => {
  const path = join(folder, 'x.af')
  const file = await create(path)
  await file.createArray('lat', { dtype: 'float32', shape: [3], dimensionNames: ['lat'] }).set(null, [10, 20.1, 30])
  const tas = file.createArray('tas', { dtype: 'int16', shape: [3], dimensionNames: ['lat'], fillValue: -1 })
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
  await expect(openDataset(path, { group: 'a' })).rejects.toThrow(/only Zarr stores, HDF5 and TIFF files have groups/)
  await expect(openDataset(join(folder, 'none'))).rejects.toMatchObject({ tag: 'NotFoundError' })
})

test('what a local file is and its header are read together, of one version', async () => {
  const path = join(folder, 'y.nc')
  const values = [1, 2, 3]
  const variables = [
    { name: 'lat', type: 'double' as const, dimensions: ['lat'], values },
    { name: 't', type: 'double' as const, dimensions: ['lat'], values },
  ]
  await writeFile(path, writeNetcdf({ dimensions: [['lat', 3]], variables }))
  const store = new FileStore()
  const asked: string[] = []
  const counted: Store = {
    describe: (key) => store.describe(key),
    files: withMembers(store.files, { quickReads: undefined }),
    stat: (key) => {
      asked.push('stat')
      return store.stat(key)
    },
    getRange: (key, offset, length, options) => {
      asked.push(`${offset} ${options?.ifMatch === undefined}`)
      return store.getRange(key, offset, length, options)
    },
  }
  await using ds = await openDataset({ store: counted, path })
  const size = (await store.stat(path))!.size
  expect(asked).toEqual(['stat', '0 false', `${size - 48} false`])
  expect(await ds.get('t').values()).toEqual(Float64Array.from(values))
  expect(asked.slice(3)).toEqual([`${size - 24} false`])
})

describe('levels of pyramids', () => {
  test('have to be told where they are arrays of one group', async () => {
    for (const name of ['ome04', 'ome05'])
      await expect(openDataset(new URL(`../fixtures/zarr/${name}.zarr`, import.meta.url).pathname)).rejects.toMatchObject({
        tag: 'InvalidArgumentError',
        message: expect.stringMatching(/pyramid of \d levels: open one of them, `level: 0`/),
      })
  })

  test('that are arrays have coordinates by scale and translation, in the units of the axes', async () => {
    const path = new URL('../fixtures/zarr/ome05.zarr', import.meta.url).pathname
    await using ds = await openDataset(path, { level: 1 })
    const cells = ds.get('cells')
    expect(cells.dims).toEqual(['c', 'y', 'x'])
    expect(Object.keys(ds.coords)).toEqual(['y', 'x'])
    const y = ds.get('y')
    expect(Array.from((await y.values()) as ArrayLike<number>)).toEqual(
      Array.from({ length: cells.shape[1]! }, (_, i) => i + 0.25),
    )
    expect(y.attrs).toEqual({ units: 'micrometer' })
    await using finest = await openDataset(path, { level: 0 })
    expect(finest.get('cells').shape[1]).toBeGreaterThan(cells.shape[1]!)
    // The same place at both levels.
    expect(finest.get('cells').sel({ x: 2, y: 1.5 }).dims).toEqual(['c'])
    // Channels are no places.
    expect(() => cells.sel({ c: 0 })).toThrow(/the dimension c has no coordinate/)
  })

  test('that are groups have what these have; those that are not there are refused', async () => {
    const path = join(folder, 'pyramid.zarr')
    const group = (attributes: object) => JSON.stringify({ zarr_format: 3, node_type: 'group', attributes })
    const array = (length: number) =>
      JSON.stringify({
        ...{ zarr_format: 3, node_type: 'array', shape: [length], data_type: 'float32', fill_value: 0, dimension_names: ['y'] },
        chunk_grid: { name: 'regular', configuration: { chunk_shape: [length] } },
        chunk_key_encoding: { name: 'default', configuration: { separator: '/' } },
        codecs: [{ name: 'bytes', configuration: { endian: 'little' } }],
      })
    const layout = [{ asset: 'fine' }, { asset: 'coarse', derived_from: 'fine', transform: { scale: [2] } }]
    for (const [name, values] of [
      ['fine', [1, 2, 3, 4]],
      ['coarse', [1.5, 3.5]],
    ] as const) {
      // biome-ignore format: one line
      for (const part of ['t', 'y']) {
        await mkdir(join(path, name, part, 'c'), { recursive: true })
        await writeFile(join(path, name, part, 'zarr.json'), array(values.length))
        await writeFile(join(path, name, part, 'c', '0'), new Uint8Array(Float32Array.from(values).buffer))
      }
      await writeFile(join(path, name, 'zarr.json'), group({ level: name }))
    }
    await writeFile(join(path, 'zarr.json'), group({ multiscales: { layout } }))
    await using ds = await openDataset(path, { level: 1 })
    expect(ds.attrs).toEqual({ level: 'coarse' })
    expect(await ds.get('t').sel({ y: 3.5 }).get()).toBe(3.5)
    await expect(openDataset(path, { level: 2 })).rejects.toThrow(/pyramid.zarr: there is no level 2: there are 2, from 0/)
    await expect(openDataset(path, { level: 0, group: 'fine' })).rejects.toThrow(/has no levels/)
    await expect(openDataset(join(folder, 'x.af'), { level: 0 })).rejects.toThrow(/only Zarr stores and TIFF files have levels/)
  })
})

describe('the version of a dataset', () => {
  const at = (store: Store, path: string) => ({ store, path })
  const small = (first: number) =>
    new Dataset({ t: { dims: ['x'], data: Float32Array.from([first, 2]) } }, { coords: { x: [first, first + 1] } })

  test.each(['a.af', 'a.zarr'])('of %s changes when the file does, and not before', async (path) => {
    const store = new MemoryStore()
    await small(1).write(at(store, path))
    const ds = await openDataset(at(store, path))
    const before = await ds.version()
    expect([await ds.version(), await ds.sel({ x: 1 }).version()]).toEqual([before, before])
    expect(await (await openDataset(at(store, path))).version()).toBe(before)
    await small(1).write(at(store, path), { overwrite: true, chunks: { x: 1 } })
    expect(await ds.version()).not.toBe(before)
  })

  test('of joined files changes when one of them does', async () => {
    const store = new MemoryStore()
    for (const [path, first] of [['a.af', 1], ['b.af', 3]] as const) await small(first).write(at(store, path)) // biome-ignore format: one line
    const ds = await openDatasets([at(store, 'a.af'), at(store, 'b.af')])
    const before = await ds.version()
    expect(await ds.version()).toBe(before)
    await small(3).write(at(store, 'b.af'), { overwrite: true, chunks: { x: 1 } })
    expect(await ds.version()).not.toBe(before)
  })

  test('of a group and of a level includes its own metadata, and not those of others', async () => {
    const store = new MemoryStore()
    const data = generate((i) => i, { dtype: 'float32', shape: [4, 4] })
    const ds = new Dataset({ t: { dims: ['y', 'x'], data } }, { coords: { y: [0, 1, 2, 3], x: [0, 1, 2, 3] } })
    await ds.write(at(store, 'a.zarr'), { levels: 2 })
    const [fine, coarse] = await Promise.all([0, 1].map((level) => openDataset(at(store, 'a.zarr'), { level })))
    const group = await openDataset(at(store, 'a.zarr'), { group: '1' })
    const all = () => Promise.all([fine!, coarse!, group].map((ds) => ds.version()))
    const before = await all()
    expect(before[1]).toBe(before[2])
    const { bytes } = (await store.get('a.zarr/1/t/zarr.json'))!
    await store.put('a.zarr/1/t/zarr.json', Uint8Array.of(...bytes, 10))
    expect((await all()).map((version, i) => version === before[i])).toEqual([true, false, false])
  })

  test('does not exist for data in memory, whose changes nothing would show', async () => {
    await expect(small(1).version()).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
    const store = new MemoryStore()
    await small(1).write(at(store, 'a.af'))
    const joined = await concatDatasets([await openDataset(at(store, 'a.af')), small(3)], 'x')
    await expect(joined.version()).rejects.toThrow('the dataset was not opened from files')
  })
})
