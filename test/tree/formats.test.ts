import { readdirSync, readFileSync } from 'node:fs'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openDataset } from '../../src/dataset/open/open-dataset.ts'
import { create, MemoryStore } from '../../src/runtime/index.ts'
import { openZarr } from '../../src/runtime/zarr.ts'
import { FileStore } from '../../src/store/fs/file.ts'
import type { Store } from '../../src/store/store.ts'
import { recognise } from '../../src/tree/formats.ts'
import { openTree } from '../../src/tree/open-tree.ts'
import { haveZip, zipped } from '../support/archives.ts'
import { RudeServer } from '../support/rude-server.ts'

const ERA5 = fileURLToPath(new URL('../fixtures/zarr/era5.zarr', import.meta.url))
const NETCDF = fileURLToPath(new URL('../../demo/data/tas_rectilinear_grid_2D.nc', import.meta.url))
const LATITUDES = Float32Array.of(90, 60, 30, 0, -30, -60, -90)

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'hyperslab-place-format-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

/** The objects of the fixture, by their names in it. */
const objects = (): Record<string, Uint8Array> =>
  Object.fromEntries(
    readdirSync(ERA5, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
      .map((path) => [path.slice(ERA5.length + 1), new Uint8Array(readFileSync(path))]),
  )

/** A store with these objects that is asked over a network, as far as it tells, and what it was asked. */
function remote(texts: Readonly<Record<string, string>>): { readonly store: Store; readonly asked: string[] } {
  const asked: string[] = []
  const store: Store = {
    describe: (key) => key,
    stat: async (key) => {
      asked.push(`stat ${key}`)
      return undefined
    },
    getRange: async (key, offset, length) => {
      asked.push(`${key} ${offset} ${length}`)
      const text = texts[key]
      return text === undefined ? undefined : new Uint8Array(Buffer.from(text.padEnd(length, '\0').slice(0, length), 'latin1'))
    },
  }
  return { store, asked }
}

describe('a place that is asked over a network', () => {
  test.each([
    ['a/x.af', 'container'],
    ['a/x.zarr', 'zarr'],
    ['a/x.ZIP', 'zip'],
    ['a/x.json', 'references'],
    ['a/x.nc/', 'zarr'],
    ['a/zarr.json', 'zarr'],
    ['.zarray', 'zarr'],
  ])('%s is %s by its name', async (path, format) => {
    const { store, asked } = remote({})
    expect([(await recognise({ store, path })).format.name, asked]).toEqual([format, []])
  })

  test.each([
    ['CDF\x01', 'netcdf'],
    ['CDF\x02', 'netcdf'],
    ['PK\x03\x04', 'zip'],
    ['{"version": 1', 'references'],
    ['\n{\n "refs"', 'references'],
    ['{         "', 'references'],
    ['<!DOCTYPE html>', 'zarr'],
    ['{\x01', 'zarr'],
    ['CDF\x04', 'zarr'],
  ])('that begins with %j is %s, which one request tells', async (start, format) => {
    const { store, asked } = remote({ x: start })
    expect([(await recognise({ store, path: 'x' })).format.name, asked]).toEqual([format, ['x 0 8']])
  })
})

test('nothing is a folder; files are told by how they begin, containers by their names, too', async () => {
  const folder = await temporaryFolder()
  const formatOf = async (name: string) => (await recognise({ store: new FileStore(), path: join(folder, name) })).format.name
  await writeFile(join(folder, 'x.af'), 'CDF\x01 is how this block begins')
  await writeFile(join(folder, 'tiny.af'), '')
  await writeFile(join(folder, 'x.json'), 'PK\x03\x04, whatever its name')
  await cp(ERA5, join(folder, 'folder.af'), { recursive: true })
  const names = ['x.af', 'tiny.af', 'none.af', 'folder.af', 'x.json', 'none', 'none.json']
  expect(await Promise.all(names.map(formatOf))).toEqual([
    ...['container', 'container', 'container', 'zarr'],
    ...['zip', 'zarr', 'zarr'],
  ])
})

describe('openDataset finds what there is', () => {
  const latitudes = async (location: Parameters<typeof openDataset>[0]) => {
    await using ds = await openDataset(location)
    return ds.get('latitude').values()
  }

  test('in folders of any name, and by the path of their metadata', async () => {
    const folder = await temporaryFolder()
    await cp(ERA5, join(folder, 'era5'), { recursive: true })
    await cp(ERA5, join(folder, 'era5.af'), { recursive: true })
    for (const name of ['era5', 'era5/', 'era5/.zgroup', 'era5/.zmetadata', 'era5.af'])
      expect(await latitudes(join(folder, name)), name).toEqual(LATITUDES)
  })

  test('where a server shows folders as pages', async () => {
    const rude = await RudeServer.start()
    onTestFinished(() => rude.stop())
    for (const [name, bytes] of Object.entries(objects())) rude.put(`era5/${name}`, bytes)
    rude.put('era5', new TextEncoder().encode('<html><a href=".zgroup">.zgroup</a></html>'))
    expect(await latitudes(`${rude.origin}/era5`)).toEqual(LATITUDES)
  })

  test.each(['era5.af', 'era5.zip', 'era5.json'])('in a folder that is not what its name says: %s', async (name) => {
    const rude = await RudeServer.start()
    onTestFinished(() => rude.stop())
    const store = new MemoryStore()
    for (const [key, bytes] of Object.entries(objects())) {
      rude.put(`bare/${name}/${key}`, bytes)
      rude.put(`paged/${name}/${key}`, bytes)
      await store.put(`${name}/${key}`, bytes)
    }
    rude.put(`paged/${name}`, new TextEncoder().encode('<html><a href=".zgroup">.zgroup</a></html>'))
    for (const place of [`${rude.origin}/bare/${name}`, `${rude.origin}/paged/${name}`, { store, path: name }]) {
      expect(await latitudes(place)).toEqual(LATITUDES)
      await using tree = await openTree(place, { names: ['latitude'] })
      expect(tree.format).toBe('zarr')
      await using group = await openZarr(place, { kind: 'group', names: ['latitude'] })
      expect([...(await (await group.array('latitude')).toTensor()).data]).toEqual([...LATITUDES])
    }
  })

  test('or says that there is neither a container nor Zarr under a name of containers', async () => {
    const rude = await RudeServer.start()
    onTestFinished(() => rude.stop())
    for (const place of [`${rude.origin}/gone.af`, { store: new MemoryStore(), path: 'gone.af' }])
      for (const open of [openTree, openDataset])
        await expect(open(place)).rejects.toMatchObject({
          tag: 'NotFoundError',
          message: expect.stringMatching(/there is no such file.*; nor is there Zarr metadata in a folder of this name/),
        })
  })

  test.runIf(haveZip())('in archives of any name, whichever folder was archived', async () => {
    const folder = await temporaryFolder()
    const within = Object.fromEntries(Object.entries(objects()).map(([name, bytes]) => [`era5.zarr/${name}`, bytes]))
    await writeFile(join(folder, 'a.zip'), zipped(within))
    await writeFile(join(folder, 'b.dat'), zipped(objects()))
    for (const name of ['a.zip', 'b.dat']) expect(await latitudes(join(folder, name)), name).toEqual(LATITUDES)
    expect(await latitudes(new File([zipped(within) as never], 'a.zip'))).toEqual(LATITUDES)
  })

  test('in references of any name', async () => {
    const folder = await temporaryFolder()
    const refs = Object.fromEntries(
      Object.entries(objects()).map(([name, bytes]) => [
        name,
        /\.z\w+$/.test(name) ? new TextDecoder().decode(bytes) : [join(ERA5, name), 0, bytes.length],
      ]),
    )
    for (const name of ['refs.json', 'refs']) {
      await writeFile(join(folder, name), JSON.stringify({ version: 1, refs }, null, name === 'refs' ? 2 : 0))
      expect(await latitudes(join(folder, name)), name).toEqual(LATITUDES)
    }
  })

  test('or says that a JSON file of another name has no references', async () => {
    const folder = await temporaryFolder()
    await writeFile(join(folder, 'json.nc'), '{"a": 1}')
    await expect(openTree(join(folder, 'json.nc'))).rejects.toMatchObject({
      tag: 'NotFoundError',
      details: { file: join(folder, 'json.nc') },
      text: expect.stringMatching(/^there is neither a Zarr array nor a group in this JSON file; references of kerchunk/),
    })
  })

  test('or says that there is nothing of the kind', async () => {
    const store = new MemoryStore()
    await store.put('x.dat', new TextEncoder().encode('time,lat,lon,tas'))
    const kinds = 'neither a container, nor a NetCDF file, nor an HDF5 file, nor a TIFF file, nor a Zarr store'
    await expect(openDataset({ store, path: 'x.dat' })).rejects.toMatchObject({
      tag: 'FormatError',
      message: `memory:x.dat: this file of 16 bytes is ${kinds}`,
    })
    await expect(openDataset({ store, path: 'nothing' })).rejects.toMatchObject({
      tag: 'NotFoundError',
      message: `memory:nothing: there is ${kinds}`,
    })
    const folder = await temporaryFolder()
    await writeFile(join(folder, 'empty.nc'), '')
    await expect(openDataset(join(folder, 'empty.nc'))).rejects.toThrow(`empty.nc: this file of 0 bytes is ${kinds}`)
    await expect(openDataset(folder)).rejects.toThrow(`there is ${kinds}`)
  })

  test('in files that users have picked', async () => {
    const store = new MemoryStore()
    const file = await create({ store, path: 'x.af' })
    await file.createArray('latitude', { dtype: 'float32', shape: [7], dimensionNames: ['latitude'] }).set(null, LATITUDES)
    await file.flush()
    const { bytes } = (await store.get('x.af'))!
    const files = [bytes as never]
    for (const location of [bytes, new Blob(files), new File(files, 'x.af'), new File(files, 'x')])
      expect(await latitudes(location)).toEqual(LATITUDES)
    const netcdf = readFileSync(NETCDF)
    await using ds = await openDataset(new File([netcdf as never], 'tas.nc'))
    expect(ds.get('tas').dims).toEqual(['time', 'lat', 'lon'])
  })
})
